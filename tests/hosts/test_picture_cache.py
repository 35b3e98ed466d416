"""Tessellations kept between pictures: reused where they hold, made again where anything behind them changed."""

import ifcopenshell
import ifcopenshell.api.geometry as geometry
import ifcopenshell.api.root as root
import ifcopenshell.util.element as element
import ifcopenshell.util.placement as placement
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from hosts.ifc import picture
from hosts.ifc.picture import tessellation
from tests.hosts.picture_support import drawn, named, orange, sample, view
from tests.hosts.picture_support import kept as shared_cache

STOREY = "Level 1"


def products(model: ifcopenshell.file) -> list[ifcopenshell.entity_instance]:
    """The doors and walls of one storey: enough for every kind of dependency."""
    return [*named(model, "IfcDoor", STOREY), *named(model, "IfcWall", STOREY)]


def shapes(model: ifcopenshell.file, kept: dict) -> dict[int, tessellation.Shape]:
    return tessellation.shapes(model, products(model), kept)


def assert_as_if_fresh(model: ifcopenshell.file, kept: dict) -> None:
    ours, fresh = shapes(model, kept), shapes(model, {})
    assert set(ours) == set(fresh)
    for number, shape in fresh.items():
        assert ours[number].faces.tolist() == shape.faces.tolist()
        assert ours[number].vertices.tolist() == shape.vertices.tolist()


def move(model: ifcopenshell.file, product: ifcopenshell.entity_instance, by: float) -> None:
    """Edit the point of the product's own placement in place."""
    point = product.ObjectPlacement.RelativePlacement.Location
    point.Coordinates = (point.Coordinates[0] + by, *point.Coordinates[1:])


def remade(model: ifcopenshell.file, kept: dict, forgotten: list[int]) -> set[int]:
    before = dict(shapes(model, kept))
    tessellation.forget(kept, forgotten)
    return {number for number, shape in shapes(model, kept).items() if before.get(number) is not shape}


@pytest.fixture
def model() -> ifcopenshell.file:
    return sample()


def warm(model: ifcopenshell.file) -> dict:
    """A cache of its own that already holds the sample's shapes and rooms, which are the same in every copy."""
    everything = [*tessellation.drawable(model), *model.by_type("IfcSpace")]
    tessellation.shapes(model, everything, shared_cache("sample"))
    return {"shapes": dict(shared_cache("sample")["shapes"])}


@pytest.fixture
def kept(model) -> dict:
    return warm(model)


@pytest.mark.parametrize("kind", ["3d", "plan"])
def test_a_second_picture_from_the_cache_is_identical_to_the_first(model, kind):
    cache: dict = {}
    of = view(kind, None, 200, 150)
    first = picture.render(model, of, [], cache)
    made = dict(cache["shapes"])
    assert picture.render(model, of, [], cache) == first
    assert all(cache["shapes"][number] is shape for number, shape in made.items())
    assert len(made) >= 149


def test_after_forget_a_moved_door_is_drawn_where_it_is_now(model):
    cache = warm(model)
    door, of = named(model, "IfcDoor", "Level 2")[0], view("3d", "Level 2", 200, 150)
    before = drawn(model, of, [door.id()], cache)
    move(model, door, 3.0)
    picture.forget(cache, [door.id()])
    after = drawn(model, of, [door.id()], cache)
    assert (before != after).any()
    assert (after == drawn(model, of, [door.id()])).all()


def test_a_deleted_door_is_gone_from_the_next_picture(model):
    cache = warm(model)
    door, of = named(model, "IfcDoor", "Level 2")[0], view("3d", "Level 2", 200, 150)
    number = door.id()
    assert orange(drawn(model, of, [number], cache)) > 0
    root.remove_product(model, product=door)
    picture.forget(cache, [number])
    after = drawn(model, of, [number], cache)
    assert orange(after) == 0
    assert (after == drawn(model, of, [number])).all()


def test_forgetting_a_door_remakes_that_door_only(model, kept):
    door = named(model, "IfcDoor", STOREY)[3]
    assert remade(model, kept, [door.id()]) == {door.id()}


def test_forgetting_a_type_remakes_all_its_occurrences_and_nothing_else(model, kept):
    fire_door = next(t for t in model.by_type("IfcDoorType") if t.Name.startswith("Fire"))
    here = {door.id() for door in named(model, "IfcDoor", STOREY) if element.get_type(door) == fire_door}
    assert len(here) == 4
    assert remade(model, kept, [fire_door.id()]) == here


def test_forgetting_a_wall_remakes_the_doors_that_are_placed_in_it(model, kept):
    wall = next(w for w in products(model) if w.is_a("IfcWall") and len(w.HasOpenings) == 6)
    inside = {v.RelatedOpeningElement.HasFillings[0].RelatedBuildingElement.id() for v in wall.HasOpenings}
    assert remade(model, kept, [wall.id()]) == inside | {wall.id()}


def test_forgetting_an_opening_remakes_its_wall(model, kept):
    door = named(model, "IfcDoor", STOREY)[0]
    opening = door.FillsVoids[0].RelatingOpeningElement
    wall = opening.VoidsElements[0].RelatingBuildingElement
    assert remade(model, kept, [opening.id()]) == {door.id(), wall.id()}


@pytest.mark.parametrize("ifc_class", ["IfcBuildingStorey", "IfcBuilding", "IfcProject", "IfcMaterial"])
def test_forgetting_what_everything_stands_on_or_what_is_unknown_remakes_everything(model, kept, ifc_class):
    assert remade(model, kept, [model.by_type(ifc_class)[0].id()]) >= {p.id() for p in products(model)}


def test_forgetting_what_never_was_in_a_picture_remakes_nothing(model, kept):
    window = named(model, "IfcWindow", "Level 3")[0]
    assert remade(model, kept, [window.id(), 999_999]) == set()


def test_a_new_opening_is_noticed_though_only_its_own_id_is_named(model, kept):
    wall = next(w for w in products(model) if w.is_a("IfcWall") and len(w.HasOpenings) == 6)
    old = wall.HasOpenings[0].RelatedOpeningElement
    opening = root.copy_class(model, product=old)
    move(model, opening, 2.0)
    model.create_entity("IfcRelVoidsElement", "0000000000000000000001", None, None, None, wall, opening)
    tessellation.forget(kept, [opening.id()])
    assert_as_if_fresh(model, kept)


EDITS = (
    "move door",
    "move wall",
    "move storey",
    "move opening",
    "drop opening",
    "stretch type",
    "delete door",
    "millimetres",
)


def edit(model: ifcopenshell.file, what: str, pick: int) -> list[int]:
    """Make one change; returns the ids that a host would report for it."""
    doors = named(model, "IfcDoor", STOREY)
    door = doors[pick % len(doors)]
    fills = next(iter(door.FillsVoids), None)
    if what == "move storey":
        storey = next(s for s in model.by_type("IfcBuildingStorey") if s.Name == STOREY)
        move(model, storey, 0.5)
        return [storey.id()]
    if what == "millimetres":
        unit = next(u for u in model.by_type("IfcSIUnit") if u.UnitType == "LENGTHUNIT")
        unit.Prefix = "MILLI"
        return [model.by_type("IfcProject")[0].id()]
    if what == "stretch type":
        door_type = element.get_type(door)
        solid = door_type.RepresentationMaps[0].MappedRepresentation.Items[0]
        solid.Depth = solid.Depth * 1.5
        return [door_type.id()]
    if what in ("move door", "delete door") or fills is None:
        number = door.id()
        if what == "delete door" and len(doors) > 2:
            root.remove_product(model, product=door)
        else:
            move(model, door, 0.25)
        return [number]
    opening = fills.RelatingOpeningElement
    wall = opening.VoidsElements[0].RelatingBuildingElement
    if what == "move wall":
        matrix = placement.get_local_placement(wall.ObjectPlacement)
        matrix[0, 3] += 0.25
        geometry.edit_object_placement(model, product=wall, matrix=matrix, is_si=False, should_transform_children=True)
        return [wall.id()]
    if what == "move opening":
        move(model, opening, 0.1)
        return [opening.id()]
    number = opening.id()
    root.remove_product(model, product=opening)
    return [number, wall.id(), door.id()]


@settings(max_examples=6, deadline=None)
@given(steps=st.lists(st.tuples(st.sampled_from(EDITS), st.integers(0, 20)), min_size=1, max_size=3))
def test_after_any_edits_that_were_told_the_cache_is_as_good_as_new(steps):
    changed = sample()
    cache = warm(changed)
    for what, pick in steps:
        tessellation.forget(cache, edit(changed, what, pick))
    assert_as_if_fresh(changed, cache)


def test_coordinates_are_world_metres(model):
    shape = shapes(model, {})
    wall = next(w for w in named(model, "IfcWall", STOREY) if w.Name.startswith("External") and w.id() in shape)
    assert np.ptp(shape[wall.id()].vertices, axis=0) == pytest.approx([30.0, 0.3, 3.2])
