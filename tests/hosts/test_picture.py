"""Pictures as a whole: sizes, errors, and the isometric view."""

import ifcopenshell
import numpy as np
import pytest

from hosts.ifc import picture
from hosts.ifc.picture import levels, selection, style, tessellation, view_3d
from tests.hosts.picture_support import drawn, kept, named, orange, pixels, sample, shared_model, view


@pytest.fixture(scope="module")
def model() -> ifcopenshell.file:
    return sample()


def box(low: tuple[float, float, float], size: float) -> tessellation.Shape:
    corners = np.array([[x, y, z] for x in (0, 1) for y in (0, 1) for z in (0, 1)], dtype=float) * size + low
    sides = [(0, 1, 3, 2), (4, 5, 7, 6), (0, 1, 5, 4), (2, 3, 7, 6), (0, 2, 6, 4), (1, 3, 7, 5)]
    faces = np.array([part for a, b, c, d in sides for part in ((a, b, c), (a, c, d))])
    return tessellation.Shape(corners, faces, np.zeros(len(faces), dtype=int), np.eye(4), (), frozenset())


@pytest.mark.parametrize("kind", ["3d", "plan"])
@pytest.mark.parametrize("size", [(640, 480), (333, 257), (64, 400)])
def test_the_png_has_exactly_the_size_that_was_asked_for(model, kind, size):
    image = pixels(picture.render(model, view(kind, None, *size), [], kept("sample")))
    assert image.shape == (size[1], size[0], 3)


@pytest.mark.parametrize("kind", ["3d", "plan"])
def test_orange_appears_with_the_first_highlighted_element_and_grows_with_more(model, kind):
    doors = [door.id() for door in named(model, "IfcDoor", "Level 2")]
    none, one, all_of_them = (
        orange(drawn(model, view(kind, "Level 2"), ids, kept("sample"))) for ids in ([], doors[:1], doors)
    )
    assert none == 0
    assert 0 < one < all_of_them


def test_highlighting_a_type_marks_its_occurrences(model):
    fire_door = next(t for t in model.by_type("IfcDoorType") if t.Name.startswith("Fire"))
    occurrences = [door.id() for door in fire_door.Types[0].RelatedObjects]
    above_caption = slice(0, 270)
    by_type = drawn(model, view("3d"), [fire_door.id()], kept("sample"))[above_caption]
    assert (by_type == drawn(model, view("3d"), occurrences, kept("sample"))[above_caption]).all()


def test_one_window_is_shown_from_close_up(model):
    window = named(model, "IfcWindow", "Level 2")[0]
    assert orange(drawn(model, view("3d"), [window.id()], kept("sample"))) > 0.002 * 400 * 300


def test_what_lies_above_the_highlighted_storey_is_left_out(model):
    shapes = tessellation.shapes(model, tessellation.drawable(model), kept("sample"))
    storeys, placed = levels.storeys(model), levels.membership(model)
    marked = {named(model, "IfcDoor", "Level 2")[0].id()}
    top = selection.top_storey(storeys, placed, shapes, marked)
    rest = selection.uncovered(model, shapes, storeys, placed, top, marked)
    assert top.name == "Level 2"
    assert {storeys[0].id, storeys[1].id} == {placed[number] for number in rest}
    assert set(shapes) - set(rest) == {number for number in shapes if placed[number] == storeys[2].id}


def test_the_duplex_loses_its_roof_and_ceilings_for_doors_of_level_2_and_keeps_the_floors():
    duplex = shared_model("Duplex_A_20110907.ifc")
    shapes = tessellation.shapes(duplex, tessellation.drawable(duplex), kept("duplex"))
    storeys, placed = levels.storeys(duplex), levels.membership(duplex)
    marked = {door.id() for door in named(duplex, "IfcDoor", "Level 2")}
    top = next(storey for storey in storeys if storey.name == "Level 2")
    rest = selection.uncovered(duplex, shapes, storeys, placed, top, marked)
    assert len(shapes) == 215
    assert max(rest[n].bottom for n in rest if duplex.by_id(n).is_a("IfcSlab")) < 3.2
    assert not [n for n in rest if duplex.by_id(n).is_a("IfcCovering") and rest[n].bottom > 4.7]
    assert marked <= set(rest)


def test_a_highlighted_roof_stays_on_the_building(model):
    roof = model.by_type("IfcRoof")[0]
    assert orange(drawn(model, view("3d"), [roof.id()], kept("sample"))) > 0.1 * 400 * 300


def test_a_highlighted_room_is_seen_by_its_floor(model):
    room = next(space for space in model.by_type("IfcSpace") if space.LongName == "Meeting room")
    image = drawn(model, view("3d"), [room.id()], kept("sample"))
    assert orange(image) > 0.006 * 400 * 300


def test_a_hidden_highlighted_solid_shines_through_what_stands_before_it():
    # The eye is in the south-east: a large box there hides the small one.
    small, large = box((0, 0, 0), 1.0), box((2.5, -5.5, 2.5), 4.0)
    solids = [view_3d.Solid(small, "IfcDoor", True), view_3d.Solid(large, "IfcWall", False)]
    image = np.asarray(view_3d.draw(solids, 300, 300)).astype(int)
    assert orange(image) == 0
    mixed = (image[:, :, 0] - image[:, :, 2] > 70) & (image[:, :, 0] > 200)
    assert mixed.sum() > 100


def test_an_unknown_storey_is_refused_and_the_known_ones_are_named(model):
    with pytest.raises(ValueError, match=r"'Level 7'.*'Level 1', 'Level 2', 'Level 3'"):
        picture.render(model, view("plan", "Level 7"), [], kept("sample"))


def test_a_gap_in_the_numbering_of_storeys_is_not_guessed_over():
    tall = shared_model("TallBuilding.ifc")
    with pytest.raises(ValueError, match="'Level 2', 'Level 4'"):
        picture.render(tall, view("plan", "Level 3"), [], {})


def test_a_storey_is_found_by_name_in_any_case_then_by_long_name_then_by_global_id():
    first = levels.Storey(1, "EG", "Ground floor", "2nxdYR2RHCDBiKJuiQr1lP", 0.0)
    second = levels.Storey(2, "Ground Floor", "", "2nxdYR2RHCDBiKJuiQr1lO", 3.0)
    known = [first, second]
    assert levels.find(known, "eg ") is first
    assert levels.find(known, "GROUND FLOOR") is second
    assert levels.find([first], "ground floor") is first
    assert levels.find(known, "2nxdYR2RHCDBiKJuiQr1lO") is second


@pytest.mark.parametrize("change", [{"kind": "section"}, {"width": 20}, {"height": 9000}])
def test_a_view_that_cannot_be_drawn_is_refused(model, change):
    with pytest.raises(ValueError, match=r"section|20 x|x 9000"):
        picture.render(model, {**view("3d"), **change}, [], kept("sample"))


@pytest.mark.parametrize("kind", ["3d", "plan"])
def test_a_model_without_geometry_gets_a_picture_that_says_so(kind):
    empty = ifcopenshell.file(schema="IFC4")
    image = drawn(empty, view(kind), [12])
    words = image[120:180].sum(axis=2) < 500
    assert image.shape == (300, 400, 3)
    assert words.sum() > 60
    assert orange(image) == 0


def test_text_is_drawn_where_no_known_font_is_installed(monkeypatch):
    monkeypatch.setattr(style, "PLAIN_FACES", ("No such font.ttf",))
    style.font.cache_clear()
    image = drawn(ifcopenshell.file(schema="IFC4"), view("3d"))
    style.font.cache_clear()
    assert (image[120:180].sum(axis=2) < 500).sum() > 60


def test_ids_of_deleted_elements_are_passed_over(model):
    assert orange(drawn(model, view("3d"), [999_999], kept("sample"))) == 0
