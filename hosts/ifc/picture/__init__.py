"""Pictures of a model as PNG: an isometric view or the plan of a storey, changed elements in orange."""

import io
from collections.abc import Iterable

import ifcopenshell
from PIL import Image

from hosts.ifc.picture import levels, plan, selection, style, tessellation, view_3d
from hosts.ifc.picture.levels import Storey

SMALLEST, LARGEST = 64, 4096  # pixels


def render(model: ifcopenshell.file, view: dict, highlight: list[int], cache: dict) -> bytes:
    """Draw a model and return the PNG.

    `view`: {"kind": "3d" or "plan", "storey": name or None, "width": pixels, "height": pixels}. A plan without a storey
    shows the one with most highlighted elements, else the lowest one with doors. `highlight`: ids of elements, rooms or
    types. `cache` is kept by the caller between pictures of the same model.
    Raises ValueError for a kind, size or storey that there is not.
    """
    width, height = _size(view)
    storeys = levels.storeys(model)
    storey = levels.find(storeys, view["storey"]) if view.get("storey") else None
    if view["kind"] == "3d":
        picture = _draw_3d(model, storeys, storey, (width, height), highlight, cache)
    elif view["kind"] == "plan":
        picture = plan.draw(model, storeys, storey, (width, height), highlight, cache)
    else:
        raise ValueError(f"A view's kind is '3d' or 'plan', not {view['kind']!r}.")
    buffer = io.BytesIO()
    picture.save(buffer, "PNG")
    return buffer.getvalue()


def forget(cache: dict, element_ids: Iterable[int]) -> None:
    """Drop what the cache holds of changed or deleted elements, and of what depends on them."""
    tessellation.forget(cache, element_ids)


def _size(view: dict) -> tuple[int, int]:
    width, height = view["width"], view["height"]
    if not (SMALLEST <= width <= LARGEST and SMALLEST <= height <= LARGEST):
        raise ValueError(f"A picture is {SMALLEST} to {LARGEST} pixels wide and high, not {width} x {height}.")
    return width, height


def _draw_3d(
    model: ifcopenshell.file,
    storeys: list[Storey],
    storey: Storey | None,
    size: tuple[int, int],
    highlight: list[int],
    cache: dict,
) -> Image.Image:
    marked = selection.marked_products(model, highlight)
    wanted = set().union(*marked.values())
    shapes = tessellation.shapes(model, tessellation.drawable(model), cache)
    shapes |= selection.room_floors(model, wanted, cache)
    placed = levels.membership(model)
    top = storey or selection.top_storey(storeys, placed, shapes, wanted)
    if top is not None:
        shapes = selection.uncovered(model, shapes, storeys, placed, top, wanted)
    where = f"up to {top.name}" if top else "whole model"
    if shapes:
        solids = [
            view_3d.Solid(shape, model.by_id(number).is_a(), number in wanted) for number, shape in shapes.items()
        ]
        picture = view_3d.draw(solids, *size)
    else:
        picture = style.message(*size, "Nothing here has geometry")
    shown = sum(1 for products in marked.values() if not products.isdisjoint(shapes))
    style.caption(picture, f"{style.title(model)}  ·  {where}{style.count(len(highlight), shown)}")
    return picture
