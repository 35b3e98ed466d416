"""The sample building: what is in it, that it is sound, and that it is the same every time."""

import json
import os
import subprocess
import sys
from collections import Counter
from pathlib import Path

import ifcopenshell
import ifcopenshell.guid
import ifcopenshell.util.element as element
import ifcopenshell.util.placement as placement
import ifcopenshell.validate
import numpy as np
import pytest

from hosts.ifc.picture import tessellation
from hosts.ifc.sample import build_sample
from tests.hosts.picture_support import named

LEVELS = ("Level 1", "Level 2", "Level 3")


@pytest.fixture(scope="module")
def model(tmp_path_factory: pytest.TempPathFactory) -> ifcopenshell.file:
    path = tmp_path_factory.mktemp("sample") / "office.ifc"
    build_sample(path)
    return ifcopenshell.open(path)


@pytest.fixture(scope="module")
def shapes(model: ifcopenshell.file) -> dict[int, tessellation.Shape]:
    return tessellation.shapes(model, tessellation.drawable(model), {})


def host(door: ifcopenshell.entity_instance) -> ifcopenshell.entity_instance:
    return door.FillsVoids[0].RelatingOpeningElement.VoidsElements[0].RelatingBuildingElement


def volume(shape: tessellation.Shape) -> float:
    a, b, c = (shape.vertices[shape.faces[:, k]] - shape.vertices[0] for k in range(3))
    return abs(float(np.einsum("ij,ij->i", a, np.cross(b, c)).sum())) / 6


def test_three_storeys_stand_3_2_m_apart(model):
    assert [(s.Name, s.Elevation) for s in model.by_type("IfcBuildingStorey")] == [
        ("Level 1", 0.0),
        ("Level 2", 3.2),
        ("Level 3", 6.4),
    ]


def test_39_doors_of_four_types_are_spread_over_the_storeys(model):
    assert [len(named(model, "IfcDoor", level)) for level in LEVELS] == [14, 13, 12]
    assert Counter(element.get_type(door).Name for door in model.by_type("IfcDoor")) == {
        "Office door 900 x 2100": 22,
        "Wet room door 800 x 2100": 6,
        "Double door 1600 x 2200": 5,
        "Fire door 1000 x 2100": 6,
    }


def test_each_door_type_carries_a_fire_rating_and_three_of_them_a_placeholder(model):
    ratings = {t.Name: element.get_pset(t, "Pset_DoorCommon", "FireRating") for t in model.by_type("IfcDoorType")}
    assert ratings == {
        "Office door 900 x 2100": "Fire Rating",
        "Wet room door 800 x 2100": "n/a",
        "Double door 1600 x 2200": "TBD",
        "Fire door 1000 x 2100": "EI 60",
    }


def test_every_door_and_window_fills_an_opening_of_a_wall_on_its_own_storey(model):
    for filling in (*model.by_type("IfcDoor"), *model.by_type("IfcWindow")):
        wall = host(filling)
        assert wall.is_a("IfcWall")
        assert element.get_container(wall) == element.get_container(filling)


def test_every_door_lies_within_its_wall(model, shapes):
    for door in model.by_type("IfcDoor"):
        inner, outer = shapes[door.id()].vertices, shapes[host(door).id()].vertices
        handle = 0.05
        assert (inner.min(axis=0) >= outer.min(axis=0) - handle).all()
        assert (inner.max(axis=0) <= outer.max(axis=0) + handle).all()
        size = np.sort(np.ptp(inner, axis=0)[:2])
        assert size[1] == pytest.approx(door.OverallWidth)
        assert np.ptp(inner[:, 2]) == pytest.approx(door.OverallHeight)


def test_openings_are_cut_out_of_the_walls(model, shapes):
    walls = [wall for wall in model.by_type("IfcWall") if wall.HasOpenings]
    assert len(walls) == 20
    for wall in walls:
        extent = np.ptp(shapes[wall.id()].vertices, axis=0)
        thickness = extent[:2].min()
        fillings = [voids.RelatedOpeningElement.HasFillings[0].RelatedBuildingElement for voids in wall.HasOpenings]
        holes = sum(f.OverallWidth * f.OverallHeight for f in fillings) * thickness
        assert volume(shapes[wall.id()]) == pytest.approx(extent.prod() - holes, rel=1e-6)


def test_everything_drawable_has_faces(model, shapes):
    assert set(shapes) == {product.id() for product in tessellation.drawable(model)}
    assert len(shapes) == 149


def test_door_and_window_tags_are_six_digits_and_unique(model):
    tags = [filling.Tag for filling in (*model.by_type("IfcDoor"), *model.by_type("IfcWindow"))]
    assert len(set(tags)) == len(tags) == 89
    assert all(len(tag) == 6 and tag.isdigit() for tag in tags)


def test_level_2_reads_left_to_right_from_the_north_in_three_rows_and_tags_do_not_follow(model):
    places = {}
    for door in named(model, "IfcDoor", "Level 2"):
        local = placement.get_local_placement(door.ObjectPlacement)
        middle = local @ [door.OverallWidth / 2, 0, 0, 1]
        places[door.Tag] = (-round(float(middle[1]), 1), round(float(middle[0]), 3))
    assert Counter(y for y, _ in places.values()) == {-12.2: 1, -8.5: 6, -6.5: 6}
    assert len(set(places.values())) == 13
    in_order = sorted(places, key=places.get)
    assert in_order not in (sorted(places), sorted(places, reverse=True))


def test_walls_say_whether_they_are_external_and_bear_load(model):
    facts = Counter()
    for wall in model.by_type("IfcWall"):
        common = element.get_pset(wall, "Pset_WallCommon")
        facts[wall.Name, common["IsExternal"], common["LoadBearing"]] += 1
    assert facts == {
        ("External wall 300", True, True): 12,
        ("Corridor wall 150", False, True): 6,
        ("Partition 120", False, False): 28,
        ("Parapet 200", True, False): 4,
    }


def test_rooms_have_names_and_the_net_area_of_their_shape(model):
    spaces = model.by_type("IfcSpace")
    rooms = tessellation.shapes(model, spaces, {})
    assert len({space.Name for space in spaces}) == len(spaces) == 37
    assert all(space.LongName for space in spaces)
    for space in spaces:
        quantities = element.get_pset(space, "Qto_SpaceBaseQuantities")
        extent = np.ptp(rooms[space.id()].vertices, axis=0)
        assert quantities["NetFloorArea"] == pytest.approx(extent[0] * extent[1], abs=0.001)
        assert quantities["Height"] == pytest.approx(extent[2])


def test_global_ids_are_unique_and_well_formed(model):
    numbers = [entity.GlobalId for entity in model.by_type("IfcRoot")]
    assert len(set(numbers)) == len(numbers)
    assert all(len(ifcopenshell.guid.expand(number)) == 32 for number in numbers)


def test_the_file_is_valid_against_its_schema(model):
    log = ifcopenshell.validate.json_logger()
    ifcopenshell.validate.validate(model, log)
    assert [json.dumps(statement, default=str) for statement in log.statements] == []


def test_another_run_in_another_process_writes_the_same_bytes(tmp_path):
    build_sample(tmp_path / "here.ifc")
    environment = {**os.environ, "PYTHONHASHSEED": "4711"}
    root = Path(__file__).parents[2]
    command = [sys.executable, "-m", "hosts.ifc.sample", str(tmp_path / "there.ifc")]
    subprocess.run(command, check=True, cwd=root, env=environment)
    assert (tmp_path / "here.ifc").read_bytes() == (tmp_path / "there.ifc").read_bytes()


def test_the_command_line_asks_for_exactly_one_file(tmp_path):
    root = Path(__file__).parents[2]
    run = subprocess.run([sys.executable, "-m", "hosts.ifc.sample"], cwd=root, capture_output=True, text=True)
    assert run.returncode == 2
    assert "OUT.ifc" in run.stderr
