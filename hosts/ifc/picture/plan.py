"""The plan of a storey: what stands below 1.2 m above its floor, seen from above, and what is cut there.

Walls are dark, windows blue, doors red with their tags, rooms named in grey, highlighted elements orange.
"""

import ifcopenshell
import numpy as np
from PIL import Image

from hosts.ifc.picture import levels, plan_drawing, selection, style, tessellation
from hosts.ifc.picture import plan_symbols as symbols
from hosts.ifc.picture.labels import Labels, Look
from hosts.ifc.picture.levels import Storey
from hosts.ifc.picture.plan_drawing import Paper, Part
from hosts.ifc.picture.tessellation import Shape

CUT_HEIGHT = 1.2  # metres above the storey's floor
MARGIN, FOOT = 0.05, 0.05  # of the picture: on each side, and more below for caption and scale
FRAMING = ("IfcWall", "IfcSlab", "IfcDoor", "IfcWindow", "IfcColumn", "IfcCurtainWall", "IfcStair", "IfcPlate")
CLIMBING = ("IfcStair", "IfcRamp", "IfcRailing")
LONGEST_LABEL = 24  # letters
MOST_OTHERS = 40  # highlighted parts other than doors; more labels than that hide the plan
DOOR_TEXT, ROOM_TEXT = (178, 20, 20), (140, 142, 147)


def draw(
    model: ifcopenshell.file,
    storeys: list[Storey],
    storey: Storey | None,
    size: tuple[int, int],
    highlight: list[int],
    cache: dict,
) -> Image.Image:
    """The plan of `storey`, or of the one that shows most: see `_busiest`. `size` in pixels, north is up."""
    marked = selection.marked_products(model, highlight)
    wanted = set().union(*marked.values())
    shapes = tessellation.shapes(model, tessellation.drawable(model), cache)
    placed = levels.membership(model)
    storey = storey or _busiest(model, storeys, placed, wanted)
    name = f"plan of {storey.name or storey.global_id}" if storey else "plan"
    floor = storey.elevation if storey else min((shape.bottom for shape in shapes.values()), default=0.0)
    rooms = _rooms(model, storey, placed, wanted, cache)
    parts = [
        Part(model.by_id(number), shape, number in wanted)
        for number, shape in shapes.items()
        if _belongs(model.by_id(number), shape, floor, storey is None or placed.get(number) == storey.id)
    ]
    if parts:
        paper = _frame(parts, size)
        picture = plan_drawing.draw(parts, rooms, paper, floor + CUT_HEIGHT)
        _write(picture, parts, rooms, paper)
        symbols.draw_north(picture, symbols.true_north(model))
        symbols.draw_scale(picture, paper.scale)
    else:
        picture = style.message(*size, "Nothing here has geometry")
    present = {part.entity.id() for part in (*parts, *rooms)}
    shown = sum(1 for products in marked.values() if not products.isdisjoint(present))
    style.caption(picture, f"{style.title(model)}  ·  {name}{style.count(len(highlight), shown)}")
    return picture


def _busiest(
    model: ifcopenshell.file, storeys: list[Storey], placed: dict[int, int], wanted: set[int]
) -> Storey | None:
    """The storey with most highlighted products; without any, the lowest with doors, else walls, else the lowest."""
    counts = {storey.id: 0 for storey in storeys}
    for number in wanted & set(placed):
        counts[placed[number]] += 1
    if any(counts.values()):
        return max(storeys, key=lambda storey: counts[storey.id])
    for ifc_class in ("IfcDoor", "IfcWall"):
        there = {placed.get(element.id()) for element in model.by_type(ifc_class)}
        for storey in storeys:
            if storey.id in there:
                return storey
    return next(iter(storeys), None)


def _rooms(
    model: ifcopenshell.file, storey: Storey | None, placed: dict[int, int], wanted: set[int], cache: dict
) -> list[Part]:
    spaces = [
        space
        for space in model.by_type("IfcSpace")
        if space.Representation and (storey is None or placed.get(space.id()) == storey.id)
    ]
    shapes = tessellation.shapes(model, spaces, cache)
    return [Part(model.by_id(number), shape, number in wanted) for number, shape in shapes.items()]


def _belongs(entity: ifcopenshell.entity_instance, shape: Shape, floor: float, own: bool) -> bool:
    """Whether a product is in the plan: its own storey's, what rises into it, and stairs that arrive at its floor."""
    if own:
        return True
    arrives = entity.is_a().startswith(CLIMBING) and shape.top > floor - 0.3
    return shape.bottom < floor + CUT_HEIGHT and (shape.top > floor + 0.02 or arrives)


def _frame(parts: list[Part], size: tuple[int, int]) -> Paper:
    """Fit the building, not the trees around it, into the picture."""
    framing = [part for part in parts if part.ifc_class.startswith(FRAMING)] or parts
    low = np.min([part.shape.vertices[:, :2].min(axis=0) for part in framing], axis=0)
    high = np.max([part.shape.vertices[:, :2].max(axis=0) for part in framing], axis=0)
    width, height = size
    extent = np.maximum(high - low, 0.1)
    scale = min(width * (1 - 2 * MARGIN) / extent[0], height * (1 - 2 * MARGIN - FOOT) / extent[1])
    middle = (low + high) / 2
    left = middle[0] - width / 2 / scale
    upper = middle[1] + height * (1 - FOOT) / 2 / scale
    return Paper(float(left), float(upper), float(scale), width, height)


def _write(picture: Image.Image, parts: list[Part], rooms: list[Part], paper: Paper) -> None:
    """Labels: doors always, other parts when a few are highlighted, then rooms where there is space left."""
    labels = Labels(picture)
    size = int(np.clip(picture.width / 100, 11, 20))
    door = Look(size, DOOR_TEXT)
    marked = Look(size + 1, style.ORANGE_TEXT, bold=True)
    doors = [part for part in parts if part.ifc_class.startswith("IfcDoor")]
    others = [part for part in parts if part.marked and not part.ifc_class.startswith("IfcDoor")]
    named = doors + (others if len(others) <= MOST_OTHERS else [])
    for part in sorted(named, key=lambda part: not part.marked):
        corners = paper.pixels(symbols.footprint(part.shape))
        direction = symbols.across(part.shape) * [1, -1]
        reach = float(np.abs((corners - corners.mean(axis=0)) @ direction).max())
        labels.beside(_label(part), corners.mean(axis=0), direction, reach, marked if part.marked else door)
    for room in rooms:
        lines = [text for text in (room.entity.Name, room.entity.LongName) if text]
        look = marked if room.marked else Look(round(size * 0.9), ROOM_TEXT)
        labels.inside(lines, plan_drawing.room_mask(room.shape, paper), look)


def _label(part: Part) -> str:
    entity = part.entity
    text = getattr(entity, "Tag", None) or entity.Name or f"#{entity.id()}"
    return text if len(text) <= LONGEST_LABEL else text[: LONGEST_LABEL - 1] + "…"
