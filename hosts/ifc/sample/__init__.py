"""The sample building: `python -m hosts.ifc.sample OUT.ifc` writes a three-storey office of 30 by 15 m as IFC4.

Two runs give identical bytes: entities are made in a fixed order, GlobalIds are derived from entity ids, sets are
sorted, and the header carries a fixed date.
"""

import uuid
from os import PathLike
from pathlib import Path

import ifcopenshell
import ifcopenshell.api.aggregate as aggregate
import ifcopenshell.api.context as context
import ifcopenshell.api.geometry as geometry
import ifcopenshell.api.project as project
import ifcopenshell.api.root as root
import ifcopenshell.api.unit as unit
import ifcopenshell.guid

from hosts.ifc.sample import layout
from hosts.ifc.sample.parts import Entity, Parts, Wall, frame

TITLE = "Drafthand sample building"
FILE_NAME = "sample.ifc"
WRITTEN = "2026-01-01T00:00:00+00:00"
STAIR_SOUTH = 10.25  # metres north; the stair stands against the west and the north facade
STAIR_VOID = (layout.INSIDE_WEST, STAIR_SOUTH, 3.325, layout.INSIDE_NORTH)
GUID_NAMESPACE = uuid.UUID("6f0c2f0e-4d1b-4b0e-9a51-0d2f5b1c7a10")


def build_sample(path: str | PathLike[str]) -> ifcopenshell.file:
    """Build the sample building, write it to `path`, and return it as the open model.

    Raises OSError when the file cannot be written.
    """
    model = project.create_file(version="IFC4")
    body, building = _start(model)
    parts = Parts(model, body)
    for index, level in enumerate(layout.LEVELS):
        _add_level(model, parts, building, level, index)
    _settle(model)
    Path(path).write_text(model.to_string(), encoding="utf-8", newline="\n")
    return model


def _start(model: ifcopenshell.file) -> tuple[Entity, Entity]:
    """Project, units in metres, the body context, site and building; returns the body context and the building."""
    scheme = root.create_entity(model, ifc_class="IfcProject", name=TITLE)
    units = [
        unit.add_si_unit(model, unit_type=kind) for kind in ("LENGTHUNIT", "AREAUNIT", "VOLUMEUNIT", "PLANEANGLEUNIT")
    ]
    unit.assign_unit(model, units=units)
    space = context.add_context(model, context_type="Model")
    body = context.add_context(
        model, context_type="Model", context_identifier="Body", target_view="MODEL_VIEW", parent=space
    )
    site = root.create_entity(model, ifc_class="IfcSite", name="Site")
    building = root.create_entity(model, ifc_class="IfcBuilding", name="Office building")
    aggregate.assign_object(model, products=[site], relating_object=scheme)
    aggregate.assign_object(model, products=[building], relating_object=site)
    for place in (site, building):
        geometry.edit_object_placement(model, product=place, matrix=frame(0, 0, 0))
    return body, building


def _add_level(model: ifcopenshell.file, parts: Parts, building: Entity, level: layout.Level, index: int) -> None:
    floor = round(index * layout.STOREY_HEIGHT, 3)
    top_level = index == len(layout.LEVELS) - 1
    storey = root.create_entity(model, ifc_class="IfcBuildingStorey", name=level.name)
    storey.Elevation = floor
    aggregate.assign_object(model, products=[storey], relating_object=building)
    geometry.edit_object_placement(model, product=storey, matrix=frame(0, 0, floor))
    clear = layout.STOREY_HEIGHT - (0 if top_level else layout.SLAB)
    north = layout.rooms(level.north, layout.NORTH_ROOMS)
    south = layout.rooms(level.south, layout.SOUTH_ROOMS)
    facades = _add_facades(parts, storey, level, floor)
    partitions = _add_rooms(parts, storey, (north, south), floor, clear)
    for link in level.links:
        parts.door(storey, partitions[link], "office", 12.2, -1)
    _add_windows(parts, storey, facades, (north, south), level)
    _add_floor(parts, storey, floor, ground=index == 0)
    if not top_level:
        parts.stair(storey, layout.INSIDE_WEST, STAIR_SOUTH, floor)
    else:
        _add_roof(parts, storey, floor + layout.STOREY_HEIGHT)
    corridor = layout.Room(
        "Corridor", layout.INSIDE_WEST, layout.INSIDE_EAST, layout.CORRIDOR_SOUTH, layout.CORRIDOR_NORTH
    )
    for number, room in enumerate([*north, *south, corridor], start=1):
        parts.space(storey, f"{index + 1}.{number:02d}", room, floor, clear)


def _add_facades(parts: Parts, storey: Entity, level: layout.Level, floor: float) -> dict[str, Wall]:
    """The four external walls, the long ones over the full length, and the doors that lead outside."""
    deep, high = layout.EXTERNAL, layout.STOREY_HEIGHT
    boxes = {
        "south": (0, 0, layout.LENGTH, deep),
        "north": (0, layout.DEPTH - deep, layout.LENGTH, layout.DEPTH),
        "west": (0, deep, deep, layout.DEPTH - deep),
        "east": (layout.LENGTH - deep, deep, layout.LENGTH, layout.DEPTH - deep),
    }
    walls = {side: parts.wall(storey, "External wall 300", box, floor, high) for side, box in boxes.items()}
    if level.front_door is not None:
        parts.door(storey, walls["south"], "double", level.front_door, -1)
    if level.east_exit:
        parts.door(storey, walls["east"], "fire", (layout.CORRIDOR_SOUTH + layout.CORRIDOR_NORTH) / 2, 1)
    return walls


def _add_rooms(
    parts: Parts, storey: Entity, sides: tuple[list[layout.Room], list[layout.Room]], floor: float, height: float
) -> list[Wall]:
    """Corridor walls with their doors, then the partitions; returns the north partitions from west to east."""
    thick = layout.CORRIDOR_WALL
    faces = (layout.CORRIDOR_NORTH, layout.CORRIDOR_SOUTH - thick)
    for rooms, face, swing in zip(sides, faces, (1, -1), strict=True):
        box = (layout.INSIDE_WEST, face, layout.INSIDE_EAST, face + thick)
        wall = parts.wall(storey, "Corridor wall 150", box, floor, height)
        for room in rooms:
            for kind, centre in zip(room.doors, layout.corridor_door_centres(room), strict=True):
                parts.door(storey, wall, kind, centre, swing)
    partitions = []
    for rooms in sides:
        for room in rooms[:-1]:
            box = (room.east, room.south, room.east + layout.PARTITION, room.north)
            partitions.append(parts.wall(storey, "Partition 120", box, floor, height))
    return partitions


def _add_windows(
    parts: Parts,
    storey: Entity,
    facades: dict[str, Wall],
    sides: tuple[list[layout.Room], list[layout.Room]],
    level: layout.Level,
) -> None:
    for side, rooms in zip(("north", "south"), sides, strict=True):
        for room in rooms:
            for centre in layout.window_centres(room):
                parts.window(storey, facades[side], room.window, centre)
    middle = (layout.CORRIDOR_SOUTH + layout.CORRIDOR_NORTH) / 2
    parts.window(storey, facades["west"], "wide", middle)
    if not level.east_exit:
        parts.window(storey, facades["east"], "wide", middle)


def _add_floor(parts: Parts, storey: Entity, floor: float, ground: bool) -> None:
    """The ground slab carries the external walls; the upper ones lie between them and leave the stair open."""
    if ground:
        parts.slab(storey, (0, 0, layout.LENGTH, layout.DEPTH), floor)
        return
    inside = (layout.INSIDE_WEST, layout.INSIDE_SOUTH, layout.INSIDE_EAST, layout.INSIDE_NORTH)
    parts.void(parts.slab(storey, inside, floor), STAIR_VOID, floor)


def _add_roof(parts: Parts, storey: Entity, base: float) -> None:
    parts.roof(storey, base)
    top, thick = base + layout.ROOF_SLAB, 0.2
    boxes = (
        (0, 0, layout.LENGTH, thick),
        (0, layout.DEPTH - thick, layout.LENGTH, layout.DEPTH),
        (0, thick, thick, layout.DEPTH - thick),
        (layout.LENGTH - thick, thick, layout.LENGTH, layout.DEPTH - thick),
    )
    for box in boxes:
        parts.wall(storey, "Parapet 200", box, top, layout.PARAPET)


def _settle(model: ifcopenshell.file) -> None:
    """Take out what differs from run to run: random GlobalIds, the order of sets, the time of writing."""
    for entity in model.by_type("IfcRoot"):
        entity.GlobalId = ifcopenshell.guid.compress(uuid.uuid5(GUID_NAMESPACE, str(entity.id())).hex)
    for holder in (*model.by_type("IfcRelationship"), *model.by_type("IfcUnitAssignment")):
        for name in ("RelatedObjects", "RelatedElements", "Units"):
            members = getattr(holder, name, None)
            if members:
                setattr(holder, name, sorted(members, key=lambda member: member.id()))
    model.header.file_name.name = FILE_NAME
    model.header.file_name.time_stamp = WRITTEN
