"""Building parts of the sample: walls, the doors and windows in them, slabs, stairs and rooms.

Every part is placed in world coordinates (metres); the placements are stored relative to storey, wall or opening.
"""

import math
from dataclasses import dataclass

import ifcopenshell
import ifcopenshell.api.aggregate as aggregate
import ifcopenshell.api.feature as feature
import ifcopenshell.api.geometry as geometry
import ifcopenshell.api.pset as pset
import ifcopenshell.api.root as root
import ifcopenshell.api.spatial as spatial
import ifcopenshell.api.type as typing_api
import numpy as np
from ifcopenshell.util.shape_builder import ShapeBuilder

from hosts.ifc.sample import layout, types

Entity = ifcopenshell.entity_instance
Box = tuple[float, float, float, float]  # west, south, east, north
CUT_OVERRUN = 0.1  # openings stick out of the wall on both sides, so that the boolean never meets coplanar faces


@dataclass(frozen=True)
class Wall:
    """A wall as built: its entity, the axis it runs along, its two faces across it, and the floor it stands on."""

    entity: Entity
    along: str
    low: float
    high: float
    floor: float


def frame(x: float, y: float, z: float, degrees: float = 0.0) -> np.ndarray:
    """4 x 4 matrix: at (x, y, z), turned by `degrees` counter-clockwise about the vertical."""
    matrix = np.eye(4)
    cosine, sine = round(math.cos(math.radians(degrees))), round(math.sin(math.radians(degrees)))
    matrix[:2, :2] = [[cosine, -sine], [sine, cosine]]
    matrix[:3, 3] = [x, y, z]
    return matrix


class Parts:
    """Adds parts to one model, each contained in the storey it is given."""

    def __init__(self, model: ifcopenshell.file, body: Entity) -> None:
        self.model = model
        self.body = body
        self.shapes = ShapeBuilder(model)
        self.door_types = types.add_door_types(model, body)
        self.window_types = types.add_window_types(model, body)
        self.wall_types = types.add_wall_types(model)
        self.floor_type = types.add_slab_type(model, "Floor slab 250", "FLOOR", layout.SLAB)
        self.roof_type = types.add_slab_type(model, "Roof slab 300", "ROOF", layout.ROOF_SLAB)
        self.tags = 0

    def wall(self, storey: Entity, kind: str, box: Box, floor: float, height: float) -> Wall:
        """A wall that fills the plan rectangle `box` (west, south, east, north); it runs along the longer side."""
        west, south, east, north = box
        along = "x" if east - west >= north - south else "y"
        length = max(east - west, north - south)
        entity = root.create_entity(self.model, ifc_class="IfcWall", name=kind)
        shape = geometry.add_wall_representation(
            self.model, context=self.body, length=length, height=height, thickness=types.thickness(kind)
        )
        place = frame(west, south, floor) if along == "x" else frame(east, south, floor, 90)
        self._place(storey, entity, shape, place, self.wall_types[kind])
        common = pset.add_pset(self.model, product=entity, name="Pset_WallCommon")
        external = kind.startswith(("External", "Parapet"))
        facts = {"IsExternal": external, "LoadBearing": types.WALLS[kind][1]}
        pset.edit_pset(self.model, pset=common, properties=facts)
        low, high = (south, north) if along == "x" else (west, east)
        return Wall(entity, along, low, high, floor)

    def door(self, storey: Entity, wall: Wall, kind: str, centre: float, swing: int) -> Entity:
        """A door in a wall. `centre` along the wall; it opens towards growing (swing 1) or falling (-1) coordinates."""
        spec = layout.DOORS[kind]
        door = root.create_entity(self.model, ifc_class="IfcDoor", name=spec.name)
        door.Tag = self._tag()
        door.OverallWidth, door.OverallHeight = spec.width, spec.height
        spatial.assign_container(self.model, products=[door], relating_structure=storey)
        typing_api.assign_type(self.model, related_objects=[door], relating_type=self.door_types[kind])
        inset = (wall.high - wall.low - types.LINING_DEPTH) / 2
        self._fill(wall, door, (spec.width, spec.height), (centre, 0.0), swing, inset)
        common = pset.add_pset(self.model, product=door, name="Pset_DoorCommon")
        external = wall.entity.Name.startswith("External")
        pset.edit_pset(self.model, pset=common, properties={"IsExternal": external})
        return door

    def window(self, storey: Entity, wall: Wall, kind: str, centre: float) -> Entity:
        """A window in an external wall, in the middle of its thickness."""
        spec = layout.WINDOWS[kind]
        window = root.create_entity(self.model, ifc_class="IfcWindow", name=spec.name)
        window.Tag = self._tag()
        window.OverallWidth, window.OverallHeight = spec.width, spec.height
        spatial.assign_container(self.model, products=[window], relating_structure=storey)
        typing_api.assign_type(self.model, related_objects=[window], relating_type=self.window_types[kind])
        inset = (wall.high - wall.low - types.GLAZING_DEPTH) / 2
        self._fill(wall, window, (spec.width, spec.height), (centre, spec.sill), 1, inset)
        return window

    def _tag(self) -> str:
        self.tags += 1
        return layout.tag(self.tags)

    def _fill(
        self,
        wall: Wall,
        filling: Entity,
        size: tuple[float, float],
        at: tuple[float, float],
        swing: int,
        inset: float,
    ) -> None:
        """Cut an opening of `size` (width, height) `at` (centre along the wall, sill) and put the filling into it."""
        width, height = size
        centre, sill = at

        def place(depth: float) -> np.ndarray:
            level = wall.floor + sill
            across = wall.low + depth if swing > 0 else wall.high - depth
            if wall.along == "x":
                return frame(centre - swing * width / 2, across, level, 0 if swing > 0 else 180)
            return frame(across, centre + swing * width / 2, level, -90 if swing > 0 else 90)

        opening = root.create_entity(self.model, ifc_class="IfcOpeningElement", predefined_type="OPENING")
        opening.Name = f"Opening for {filling.Name}"
        depth = wall.high - wall.low + 2 * CUT_OVERRUN
        shape = geometry.add_wall_representation(
            self.model, context=self.body, length=width, height=height, thickness=depth
        )
        geometry.assign_representation(self.model, product=opening, representation=shape)
        feature.add_feature(self.model, feature=opening, element=wall.entity)
        geometry.edit_object_placement(self.model, product=opening, matrix=place(-CUT_OVERRUN))
        feature.add_filling(self.model, opening=opening, element=filling)
        geometry.edit_object_placement(self.model, product=filling, matrix=place(inset))

    def slab(self, storey: Entity, box: Box, top: float) -> Entity:
        """A floor slab over the plan rectangle `box`, its upper face at `top`."""
        slab = root.create_entity(self.model, ifc_class="IfcSlab", name="Floor slab", predefined_type="FLOOR")
        shape = self._box(box, layout.SLAB)
        self._place(storey, slab, shape, frame(box[0], box[1], top - layout.SLAB), self.floor_type)
        return slab

    def void(self, slab: Entity, box: Box, top: float) -> None:
        """Cut the plan rectangle `box` out of a slab whose upper face is at `top`."""
        opening = root.create_entity(self.model, ifc_class="IfcOpeningElement", predefined_type="OPENING")
        opening.Name = "Stair void"
        shape = self._box(box, layout.SLAB + 2 * CUT_OVERRUN)
        geometry.assign_representation(self.model, product=opening, representation=shape)
        feature.add_feature(self.model, feature=opening, element=slab)
        base = frame(box[0], box[1], top - layout.SLAB - CUT_OVERRUN)
        geometry.edit_object_placement(self.model, product=opening, matrix=base)

    def roof(self, storey: Entity, base: float) -> None:
        """A flat roof over the whole plan: an IfcRoof made of one slab."""
        roof = root.create_entity(self.model, ifc_class="IfcRoof", name="Flat roof", predefined_type="FLAT_ROOF")
        spatial.assign_container(self.model, products=[roof], relating_structure=storey)
        geometry.edit_object_placement(self.model, product=roof, matrix=frame(0, 0, base))
        slab = root.create_entity(self.model, ifc_class="IfcSlab", name="Roof slab", predefined_type="ROOF")
        shape = self._box((0, 0, layout.LENGTH, layout.DEPTH), layout.ROOF_SLAB)
        self._part_of(roof, slab, shape, frame(0, 0, base))
        typing_api.assign_type(self.model, related_objects=[slab], relating_type=self.roof_type)

    def space(self, storey: Entity, number: str, room: layout.Room, floor: float, height: float) -> None:
        """A room with its net floor area and height as quantities."""
        space = root.create_entity(self.model, ifc_class="IfcSpace", name=number, predefined_type="INTERNAL")
        space.LongName = room.name
        box = (room.west, room.south, room.east, room.north)
        self._part_of(storey, space, self._box(box, height), frame(room.west, room.south, floor))
        quantities = pset.add_qto(self.model, product=space, name="Qto_SpaceBaseQuantities")
        facts = {"NetFloorArea": round(room.area, 3), "Height": round(height, 3)}
        pset.edit_qto(self.model, qto=quantities, properties=facts)

    def stair(self, storey: Entity, west: float, south: float, floor: float) -> None:
        """Two flights of nine risers up to the next storey with a landing between them; 3.0 m wide, 4.45 m long."""
        stair = root.create_entity(self.model, ifc_class="IfcStair", name="Stair", predefined_type="HALF_TURN_STAIR")
        spatial.assign_container(self.model, products=[stair], relating_structure=storey)
        geometry.edit_object_placement(self.model, product=stair, matrix=frame(west, south, floor))
        risers, going, width, gap = 9, 0.30, 1.40, 0.225
        rise = layout.STOREY_HEIGHT / (2 * risers)
        run = going * (risers - 1)
        # The flight's side is drawn in its own x-z plane and pushed sideways: x climbs, y is its width.
        outline = [(0.0, 0.0)]
        for step in range(risers):
            outline += [(min(step * going, run), (step + 1) * rise), (min((step + 1) * going, run), (step + 1) * rise)]
        outline = list(dict.fromkeys([*outline, (run, (risers - 1) * rise - 0.2), (going, 0.0)]))
        middle = floor + risers * rise
        places = (
            frame(west + width, south, floor, 90),
            frame(west + width + gap, south + run, middle, -90),
        )
        for place in places:
            flight = root.create_entity(
                self.model, ifc_class="IfcStairFlight", name="Flight", predefined_type="STRAIGHT"
            )
            flight.NumberOfRisers, flight.RiserHeight, flight.TreadLength = risers, rise, going
            profile = self.shapes.polyline(outline, closed=True)
            solid = self.shapes.extrude(profile, width, **self.shapes.extrude_kwargs("Y"))
            self._part_of(stair, flight, self.shapes.get_representation(self.body, [solid]), place)
        landing = root.create_entity(self.model, ifc_class="IfcSlab", name="Landing", predefined_type="LANDING")
        box = (west, south + run, west + 2 * width + gap, layout.INSIDE_NORTH)
        self._part_of(stair, landing, self._box(box, 0.2), frame(west, south + run, middle - 0.2))

    def _box(self, box: Box, height: float) -> Entity:
        """An extruded rectangle of the size of `box`, its south-west corner at the local origin."""
        profile = self.shapes.rectangle(size=(box[2] - box[0], box[3] - box[1]))
        return self.shapes.get_representation(self.body, [self.shapes.extrude(profile, height)])

    def _place(self, storey: Entity, product: Entity, shape: Entity, place: np.ndarray, of_type: Entity) -> None:
        geometry.assign_representation(self.model, product=product, representation=shape)
        spatial.assign_container(self.model, products=[product], relating_structure=storey)
        geometry.edit_object_placement(self.model, product=product, matrix=place)
        typing_api.assign_type(self.model, related_objects=[product], relating_type=of_type)

    def _part_of(self, whole: Entity, part: Entity, shape: Entity, place: np.ndarray) -> None:
        geometry.assign_representation(self.model, product=part, representation=shape)
        aggregate.assign_object(self.model, products=[part], relating_object=whole)
        geometry.edit_object_placement(self.model, product=part, matrix=place)
