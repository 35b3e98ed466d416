"""The plan of a storey, checked in its pixels."""

import ifcopenshell
import ifcopenshell.util.placement as placement
import ifcopenshell.util.unit
import numpy as np
import pytest
from PIL import Image

from hosts.ifc.picture import labels, levels, tessellation
from tests.hosts.picture_support import drawn, kept, named, orange, red, sample, shared_model, view

PLAN = view("plan", "Level 2", 640, 448)
ABOVE_CAPTION = slice(0, 390)


@pytest.fixture(scope="module")
def model() -> ifcopenshell.file:
    return sample()


@pytest.fixture(scope="module")
def plain(model) -> np.ndarray:
    """The plan of Level 2 with nothing highlighted."""
    return drawn(model, PLAN, [], kept("sample"))


def dark(image: np.ndarray) -> np.ndarray:
    return (image < 70).all(axis=2)


def extent(mask: np.ndarray) -> tuple[int, int, int, int]:
    """Left, top, right, bottom of a mask."""
    y, x = np.nonzero(mask)
    return x.min(), y.min(), x.max() + 1, y.max() + 1


def centre(mask: np.ndarray) -> tuple[float, float]:
    y, x = np.nonzero(mask)
    return float(x.mean()), float(y.mean())


def orange_mask(image: np.ndarray) -> np.ndarray:
    return (image[:, :, 0] > 230) & (abs(image[:, :, 1] - 138) < 12) & (image[:, :, 2] < 30)


def labels_near(
    model: ifcopenshell.file, before: np.ndarray, after: np.ndarray, storey: str, cache: dict
) -> list[float]:
    """Metres from each door of a storey to the nearest pixel in which two of its plans differ."""
    walls = tessellation.shapes(model, named(model, "IfcWall", storey), cache).values()
    low = np.min([shape.vertices[:, :2].min(axis=0) for shape in walls], axis=0)
    high = np.max([shape.vertices[:, :2].max(axis=0) for shape in walls], axis=0)
    left, top, right, _ = extent(dark(before)[ABOVE_CAPTION])
    scale = (right - left) / (high[0] - low[0])
    y, x = np.nonzero((before != after).any(axis=2))
    doors = tessellation.shapes(model, named(model, "IfcDoor", storey), cache).values()
    middles = [(shape.vertices.min(axis=0) + shape.vertices.max(axis=0)) / 2 for shape in doors]
    places = [(left + (m[0] - low[0]) * scale, top + (high[1] - m[1]) * scale) for m in middles]
    return [float(np.hypot(x - place[0], y - place[1]).min()) / scale for place in places]


def test_the_building_is_drawn_twice_as_wide_as_deep(plain):
    left, top, right, bottom = extent(dark(plain)[ABOVE_CAPTION])
    assert (right - left) / (bottom - top) == pytest.approx(2.0, rel=0.01)
    assert right - left == pytest.approx(576, abs=3)


def test_walls_are_as_thick_as_in_the_model(plain):
    left, top, right, _ = extent(dark(plain)[ABOVE_CAPTION])
    across_west_wall = dark(plain)[top + 30, left : left + 60]
    assert across_west_wall.sum() == pytest.approx(0.30 * (right - left) / 30.0, abs=1.5)


def test_north_is_up_and_east_is_right(model):
    doors = {}
    for door in named(model, "IfcDoor", "Level 2"):
        place = placement.get_local_placement(door.ObjectPlacement)[:2, 3]
        doors[float(place[0]), float(place[1])] = door.id()
    north, south = doors[max(doors, key=lambda p: p[1])], doors[min(doors, key=lambda p: p[1])]
    west, east = doors[min(doors)], doors[max(doors)]
    small = view("plan", "Level 2", 300, 210)
    at = {n: centre(orange_mask(drawn(model, small, [n], kept("sample")))) for n in {north, south, west, east}}
    assert at[north][1] < at[south][1]
    assert at[west][0] < at[east][0]


def test_every_door_of_a_storey_carries_a_label_that_changes_with_its_tag(plain):
    changed = sample()
    doors = named(changed, "IfcDoor", "Level 2")
    for door in doors:
        door.Tag = "Q"
    distances = labels_near(changed, plain, drawn(changed, PLAN, [], kept("sample")), "Level 2", kept("sample"))
    assert len(distances) == 13
    assert max(distances) < 1.0


def test_the_eight_doors_of_level_2_of_the_duplex_are_all_labelled():
    duplex = shared_model("Duplex_A_20110907.ifc")
    before = drawn(duplex, PLAN, [], kept("duplex"))
    for door in named(duplex, "IfcDoor", "Level 2"):
        door.Tag = "Q"
    distances = labels_near(duplex, before, drawn(duplex, PLAN, [], kept("duplex")), "Level 2", kept("duplex"))
    assert len(distances) == 8
    assert max(distances) < 1.5


def test_a_door_without_a_tag_shows_its_name():
    model = sample()
    door = named(model, "IfcDoor", "Level 2")[0]
    door.Tag = None
    small = view("plan", "Level 2")
    untagged = drawn(model, small, [], kept("sample"))
    door.Name = "Ianua"
    renamed = drawn(model, small, [], kept("sample"))
    assert (untagged != renamed).any()


def test_doors_are_red_and_windows_blue(plain):
    blue = (plain[:, :, 2] > 150) & (plain[:, :, 0] < 110)
    assert red(plain).sum() > 13 * 20
    assert blue.sum() > 16 * 20


def test_highlighted_doors_are_no_longer_red(model):
    doors = [door.id() for door in named(model, "IfcDoor", "Level 2")]
    image = drawn(model, PLAN, doors, kept("sample"))
    assert red(image).sum() == 0
    assert orange(image) > 13 * 20


def test_metres_and_millimetres_give_the_same_plan(model, plain):
    in_millimetres = ifcopenshell.util.unit.convert_file_length_units(model, "MILLIMETRE")
    assert [s.Elevation for s in in_millimetres.by_type("IfcBuildingStorey")] == [0.0, 3200.0, 6400.0]
    difference = np.abs(plain - drawn(in_millimetres, PLAN))
    assert difference.max() < 40


def test_without_a_name_the_storey_with_most_highlighted_elements_is_drawn(model):
    doors = [door.id() for door in named(model, "IfcDoor", "Level 3")] + [named(model, "IfcDoor", "Level 1")[0].id()]
    small = (200, 150)
    chosen = drawn(model, view("plan", None, *small), doors, kept("sample"))
    assert (chosen == drawn(model, view("plan", "level 3", *small), doors, kept("sample"))).all()
    assert (chosen != drawn(model, view("plan", "Level 1", *small), doors, kept("sample"))).any()


def test_without_anything_highlighted_the_lowest_storey_with_doors_is_drawn():
    duplex = shared_model("Duplex_A_20110907.ifc")
    assert levels.storeys(duplex)[0].name == "T/FDN"
    small = (200, 150)
    chosen = drawn(duplex, view("plan", None, *small), [], kept("duplex"))
    assert (chosen == drawn(duplex, view("plan", "Level 1", *small), [], kept("duplex"))).all()


def test_a_highlighted_room_is_tinted_over_its_whole_floor(model):
    room = next(space for space in model.by_type("IfcSpace") if space.Name == "2.12")
    image = drawn(model, PLAN, [room.id()], kept("sample"))
    tint = (np.abs(image - [255, 226, 186]) < 6).all(axis=2)
    metre = 19.2  # pixels
    assert tint.sum() == pytest.approx(9.1 * 6.05 * metre**2, rel=0.1)


def test_a_highlighted_window_above_the_cut_is_still_marked(model, plain):
    high = next(w for w in named(model, "IfcWindow", "Level 2") if w.Name.startswith("High"))
    marked, before = drawn(model, PLAN, [high.id()], kept("sample"))[ABOVE_CAPTION], plain[ABOVE_CAPTION]
    warm = (marked[:, :, 0] > marked[:, :, 2] + 60) & ~(before[:, :, 0] > before[:, :, 2] + 60)
    assert warm.sum() > 30


def test_labels_avoid_each_other_and_what_is_black():
    paper = Image.new("RGB", (400, 300), (255, 255, 255))
    paper.paste((0, 0, 0), (0, 150, 400, 170))
    placed = labels.Labels(paper)
    look = labels.Look(12, (178, 20, 20))
    for x in range(100, 320, 22):
        placed.beside("123456", np.array([x, 160.0]), np.array([0.0, 1.0]), 10.0, look)
    boxes = placed.taken
    assert len(boxes) == 10
    assert all(box[3] <= 152 or box[1] >= 168 for box in boxes)
    for k, box in enumerate(boxes):
        for other in boxes[:k]:
            apart = box[2] <= other[0] or other[2] <= box[0] or box[3] <= other[1] or other[3] <= box[1]
            assert apart


def test_a_room_too_small_for_its_name_stays_unnamed_and_a_large_one_gets_both_lines():
    placed = labels.Labels(Image.new("RGB", (400, 300), (255, 255, 255)))
    look = labels.Look(12, (140, 142, 147))
    mask = np.zeros((300, 400), dtype=bool)
    mask[10:16, 10:30] = True
    placed.inside(["2.08", "WC Men"], mask, look)
    assert len(placed.taken) == 0
    mask[50:150, 50:250] = True
    mask[10:16, 10:30] = False
    placed.inside(["2.08", "WC Men"], mask, look)
    left, top, right, bottom = placed.taken[0]
    assert bottom - top > 24
    assert ((left + right) / 2, (top + bottom) / 2) == pytest.approx((149.5, 99.5), abs=1)
