"""What Revit shows of itself, against a stand-in for its API (see fake_revit.py)."""

import pytest

from tests.capabilities import fake_revit
from tests.capabilities.fakes import RevitDesk, RevitDesk2026
from tests.capabilities.running import diff, prepare, report


@pytest.fixture(params=[RevitDesk, RevitDesk2026], ids=["2023", "2026"])
def desk(request):
    return request.param()


def changes_of(desk, identifier, change):
    """What is reported of one element when `change` is done to it."""
    prepared = prepare(desk)
    change()
    (row,) = report(desk, prepared, modified=[identifier])["elements"]
    return row["changes"]


def element(desk, identifier):
    return desk.doc.elements[identifier]


@pytest.mark.parametrize(
    ("kind", "unit", "values", "told"),
    [
        ("Double", " mm", (2100.0, 900.0), ("2100 mm", "900 mm")),
        ("Double", None, (1.5, 2.5), (1.5, 2.5)),
        ("Double", None, (1.5, float("inf")), (1.5, "inf")),
        ("Integer", None, (0, 1), (0, 1)),
        ("String", "", ("", None), ("", None)),
    ],
)
def test_a_parameter_is_told_as_revit_shows_it_else_plain(desk, kind, unit, values, told):
    door = desk.add("Door")
    parameter = desk.doc.put(element(desk, door), 9, "Width", kind, values[0], unit=unit)

    assert changes_of(desk, door, lambda: setattr(parameter, "value", values[1])) == [diff("Width", *told)]


def test_a_parameter_that_names_an_element_without_a_text_is_told_by_its_id(desk):
    door = desk.add("Door")
    none, level = desk.doc.id_of(-1), desk.doc.level.Id
    parameter = desk.doc.put(element(desk, door), 9, "Host", "ElementId", none, unit=None)

    change = changes_of(desk, door, lambda: setattr(parameter, "value", level))

    assert change == [diff("Host", None, desk.doc.number_of(desk.doc.level))]


def test_parameters_of_one_name_are_told_apart_by_their_ids_in_any_order(desk):
    door = desk.add("Door")
    second = desk.doc.put(element(desk, door), 30, "Width", "Integer", 3, unit=None)
    desk.doc.put(element(desk, door), 20, "Width", "Integer", 2, unit=None)

    def change():
        second.value = 4
        element(desk, door).Parameters.reverse()

    assert changes_of(desk, door, change) == [diff("Width (2)", 3, 4)]


def test_what_follows_from_other_values_is_told_last(desk):
    door = desk.add("Door")
    area = desk.doc.put(element(desk, door), 9, "Area", "Double", 1.0, unit=" m2", read_only=True)

    def change():
        area.value = 2.0
        desk.set_note(door, "EI60")

    assert changes_of(desk, door, change) == [diff("FireRating", "EI30", "EI60"), diff("Area", "1 m2", "2 m2")]


def test_moving_a_door_or_a_wall_is_told_in_feet(desk):
    door, wall = desk.add("Door"), desk.add("Wall")
    element(desk, door).Location = fake_revit.LocationPoint(0.0, 0.0, 0.0)
    element(desk, wall).Location = fake_revit.LocationCurve((0, 0, 0), (10, 0, 0))
    prepared = prepare(desk)
    element(desk, door).Location = fake_revit.LocationPoint(1.0, 2.5, -0.00001)
    element(desk, wall).Location = fake_revit.LocationCurve()

    rows = report(desk, prepared, modified=[door, wall])["elements"]

    assert [row["changes"] for row in rows] == [
        [diff("Location", "at (0, 0, 0) ft", "at (1, 2.5, 0) ft")],
        [diff("Location", "from (0, 0, 0) to (10, 0, 0) ft", None)],
    ]


def test_a_small_move_far_from_the_origin_is_told(desk):
    door = desk.add("Door")
    element(desk, door).Location = fake_revit.LocationPoint(8530183.5, 0.0, 0.0)

    change = changes_of(desk, door, lambda: setattr(element(desk, door).Location.Point, "X", 8530183.5123))

    assert change == [diff("Location", "at (8530183.5, 0, 0) ft", "at (8530183.5123, 0, 0) ft")]


@pytest.mark.parametrize("name", ["SCHEDULE_LEVEL_PARAM", "INSTANCE_REFERENCE_LEVEL_PARAM", "FAMILY_LEVEL_PARAM"])
def test_a_level_that_the_element_does_not_know_stands_in_a_parameter(desk, name):
    beam = desk.add("Beam")
    element(desk, beam).LevelId = desk.doc.id_of(-1)
    without = report(desk, None, added=[beam])["elements"][0]["level"]
    desk.doc.put(element(desk, beam), 9, "Level", "ElementId", desk.doc.level.Id, built_in=name)

    assert (without, report(desk, None, added=[beam])["elements"][0]["level"]) == (None, "Level 2")


def test_types_are_named_where_ironpython_finds_no_name_and_those_without_category_by_their_class(desk):
    (row,) = report(desk, None, added=[desk.doc.number_of(desk.doc.door)])["elements"]

    assert (row["category"], row["name"], row["type"], row["level"]) == ("ElementType", "Single", None, None)


def test_a_type_that_was_deleted_is_named_too(desk):
    number = desk.doc.number_of(desk.doc.door)
    prepared = prepare(desk)
    desk.remove(number)

    (row,) = report(desk, prepared, deleted=[number])["elements"]

    assert (row["id"], row["change"], row["name"]) == (number, "deleted", "Single")


def test_levels_are_called_levels_in_a_german_revit(desk):
    (row,) = report(desk, None, added=[desk.doc.number_of(desk.doc.level)])["elements"]

    assert (row["category"], row["name"]) == ("Levels", "Level 2")


def test_ids_beyond_32_bits_are_found_in_2026():
    desk = RevitDesk2026()
    large = 2**40 + 1
    desk.doc.add(fake_revit.Element, None, "Large", number=large)

    assert report(desk, prepare(desk), modified=[large])["elements"][0]["id"] == large
