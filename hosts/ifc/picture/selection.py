"""Which products a picture marks and which it leaves out so that the marked ones can be seen."""

from collections.abc import Iterable
from dataclasses import replace

import ifcopenshell
import ifcopenshell.util.element
import numpy as np

from hosts.ifc.picture import tessellation
from hosts.ifc.picture.levels import Storey
from hosts.ifc.picture.tessellation import Shape

COVERS = ("IfcSlab", "IfcRoof", "IfcCovering", "IfcBeam", "IfcMember", "IfcPlate")
HEAD_HEIGHT = 1.5  # metres above a floor: a slab or beam that starts higher covers the rooms below it
FLOOR_LIFT = 0.03  # metres that a room's floor is drawn above the slab


def marked_products(model: ifcopenshell.file, highlight: Iterable[int]) -> dict[int, set[int]]:
    """Each highlighted id that still exists -> ids of the products that stand for it in a picture.

    An element stands for itself and its parts, a type for its occurrences.
    """
    marked = {}
    for number in highlight:
        try:
            entity = model.by_id(number)
        except RuntimeError:  # deleted meanwhile
            continue
        if entity.is_a("IfcTypeObject"):
            products = ifcopenshell.util.element.get_types(entity)
        elif entity.is_a("IfcElement"):
            products = _with_parts(entity)
        else:
            products = [entity]
        marked[number] = {product.id() for product in products}
    return marked


def _with_parts(whole: ifcopenshell.entity_instance) -> list[ifcopenshell.entity_instance]:
    parts = ifcopenshell.util.element.get_parts(whole)
    return [whole, *(part for direct in parts for part in _with_parts(direct))]


def top_storey(
    storeys: list[Storey], placed: dict[int, int], shapes: dict[int, Shape], marked: set[int]
) -> Storey | None:
    """The highest storey that a marked product stands on; None when that is unknown or nothing is marked."""
    found = [storey for number in marked if (storey := _storey_of(number, storeys, placed, shapes))]
    return max(found, key=lambda storey: storey.elevation, default=None)


def _storey_of(number: int, storeys: list[Storey], placed: dict[int, int], shapes: dict[int, Shape]) -> Storey | None:
    if number in placed:
        return next(storey for storey in storeys if storey.id == placed[number])
    if number not in shapes:
        return None
    below = [storey for storey in storeys if storey.elevation <= shapes[number].bottom + HEAD_HEIGHT]
    return below[-1] if below else None


def uncovered(
    model: ifcopenshell.file,
    shapes: dict[int, Shape],
    storeys: list[Storey],
    placed: dict[int, int],
    top: Storey,
    marked: set[int],
) -> dict[int, Shape]:
    """The shapes less what lies above the storey `top`: higher storeys, and the slabs and beams over its own rooms."""
    elevations = {storey.id: storey.elevation for storey in storeys}
    ceiling = min((e for e in elevations.values() if e > top.elevation + 0.01), default=np.inf)

    def hidden(number: int, shape: Shape) -> bool:
        if number in marked:
            return False
        if elevations.get(placed.get(number, 0), -np.inf) > top.elevation + 0.01 or shape.bottom > ceiling - 0.05:
            return True
        covers = model.by_id(number).is_a().startswith(COVERS)
        return covers and shape.bottom > top.elevation + HEAD_HEIGHT

    return {number: shape for number, shape in shapes.items() if not hidden(number, shape)}


def room_floors(model: ifcopenshell.file, marked: set[int], cache: dict) -> dict[int, Shape]:
    """The floors of marked rooms; a whole room would hide what stands in it."""
    rooms = [space for space in model.by_type("IfcSpace") if space.id() in marked and space.Representation]
    return {number: _floor(shape) for number, shape in tessellation.shapes(model, rooms, cache).items()}


def _floor(shape: Shape) -> Shape:
    corners = shape.vertices[shape.faces]
    low = (corners[:, :, 2] < shape.bottom + 0.05).all(axis=1)
    lift = np.array([0.0, 0.0, FLOOR_LIFT])
    return replace(shape, vertices=shape.vertices + lift, faces=shape.faces[low], items=shape.items[low])
