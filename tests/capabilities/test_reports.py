"""What each epilogue reports of the same events, against stand-ins for the applications (see fakes.py)."""

import json

import pytest

from tests.capabilities.fakes import DESKS
from tests.capabilities.running import diff, group, prepare, report, row

ENTITIES = {"added": 1, "modified": 2, "deleted": 3}
SHAPE = diff("shape or relations", None, None)
NOT_COMPARED = diff("properties", "(not known)", "(not compared)")
ABSENT = 999_999


@pytest.fixture(params=DESKS, ids=lambda desk: desk.__name__)
def desk(request):
    return request.param()


def whole(elements, groups, unresolved=0, **counts):
    counts = {"added": 0, "modified": 0, "deleted": 0} | counts
    return {
        "counts": counts,
        "elements": elements,
        "groups": groups,
        "unresolved": unresolved,
        "entities": ENTITIES,
    }


def test_a_changed_property_is_told_with_its_value_before_and_after(desk):
    door = desk.add("Door 1")
    prepared = prepare(desk)
    desk.set_note(door, "EI60")

    change = diff(desk.NOTE, "EI30", "EI60")
    assert report(desk, prepared, modified=[door]) == whole(
        [row(desk, door, "modified", "Door 1", change)],
        [group(desk, "modified", 1, (door, "Door 1"), change)],
        modified=1,
    )


def test_a_bulk_change_is_one_group_with_common_values_and_a_row_for_each(desk):
    doors = [desk.add(f"Door {number}") for number in range(240)]
    prepared = prepare(desk)
    for door in doors:
        desk.set_note(door, "EI60" if door % 2 else "EI90")
    desk.rename(doors[7], "Gate")

    expected = []
    for number, door in enumerate(doors):
        changes = [diff(desk.NOTE, "EI30", "EI60" if door % 2 else "EI90")]
        changes += [diff("Name", "Door 7", "Gate")] if number == 7 else []
        changes.sort(key=lambda each: each["property"])
        expected.append(row(desk, door, "modified", "Gate" if number == 7 else f"Door {number}", *changes))
    assert report(desk, prepared, modified=doors) == whole(
        expected,
        [
            group(desk, "modified", 239, (doors[0], "Door 0"), diff(desk.NOTE, "EI30", "(various)")),
            group(desk, "modified", 1, (doors[7], "Gate"), *expected[7]["changes"]),
        ],
        modified=240,
    )


def test_added_elements_are_named_as_they_are_and_deleted_ones_as_they_were(desk):
    gone, stays = desk.add("Old"), desk.add("Stays")
    prepared = prepare(desk)
    desk.remove(gone)
    fresh = desk.add("New")

    assert report(desk, prepared, added=[fresh], deleted=[gone]) == whole(
        [row(desk, fresh, "added", "New"), row(desk, gone, "deleted", "Old")],
        [group(desk, "added", 1, (fresh, "New")), group(desk, "deleted", 1, (gone, "Old"))],
        added=1,
        deleted=1,
    )
    assert stays in prepared


def test_ids_that_are_no_elements_are_counted_as_unresolved(desk):
    door = desk.add("Door")
    prepared = prepare(desk)

    found = report(desk, prepared, added=[ABSENT], modified=[door, ABSENT + 1], deleted=[ABSENT + 2])

    assert found["unresolved"] == 3
    assert found["counts"] == {"added": 1, "modified": 2, "deleted": 1}
    assert found["elements"] == [row(desk, door, "modified", "Door", SHAPE)]


def test_an_element_that_changed_in_no_value_is_said_to_differ_in_shape_or_relations(desk):
    door = desk.add("Door")
    prepared = prepare(desk)

    assert report(desk, prepared, modified=[door])["elements"] == [row(desk, door, "modified", "Door", SHAPE)]


def test_nothing_changed_is_an_empty_report(desk):
    desk.add("Door")

    assert report(desk, prepare(desk)) == whole([], [])


@pytest.mark.parametrize("name", ["Größe", "門-1", "🚪", "a\nb", ""])
def test_names_in_any_script_come_through(desk, name):
    door, gone = desk.add("plain"), desk.add(name)
    prepared = prepare(desk)
    desk.rename(door, name)
    desk.remove(gone)

    assert report(desk, prepared, modified=[door], deleted=[gone])["elements"] == [
        row(desk, door, "modified", name, diff("Name", "plain", name)),
        row(desk, gone, "deleted", name),
    ]


def test_a_property_that_cannot_be_read_is_said_so_and_costs_no_other(desk):
    broken, breaking = desk.add("Broken"), desk.add("Breaking")
    desk.break_note(broken)
    prepared = prepare(desk)
    desk.rename(broken, "Renamed")
    desk.break_note(breaking)

    assert report(desk, prepared, modified=[broken, breaking])["elements"] == [
        row(desk, broken, "modified", "Renamed", diff("Name", "Broken", "Renamed")),
        row(desk, breaking, "modified", "Breaking", diff(desk.NOTE, "EI30", "(not readable)")),
    ]


def test_a_long_name_or_value_is_compared_whole_and_told_cut_so_that_a_report_stays_small(desk):
    doors = [desk.add("n" * 5000) for _ in range(500)]
    prepared = prepare(desk)
    for door in doors:
        desk.set_note(door, "v" * 5000)
    desk.rename(doors[0], "n" * 4999 + "m")

    found = report(desk, prepared, modified=doors)

    assert found["elements"][1] == row(
        desk, doors[1], "modified", "n" * 299 + "…", diff(desk.NOTE, "EI30", "v" * 299 + "…")
    )
    assert "Name" in [each["property"] for each in found["elements"][0]["changes"]]
    assert [group["count"] for group in found["groups"]] == [499, 1]
    assert found["groups"][0]["example"]["name"] == "n" * 299 + "…"
    assert len(json.dumps(found)) < 500 * 1000


def test_a_cut_leaves_no_half_of_a_character_where_texts_are_utf_16(desk):
    door = desk.add("n" * 298 + "\ud83d\udeaa" + "n" * 50)

    found = report(desk, prepare(desk), added=[door])

    assert found["elements"][0]["name"] == "n" * 298 + "…"


def crowded(desk, count):
    """A desk that holds this many elements in all, and the ids of those that were added."""
    doors = [desk.add("Door")]
    held = len(prepare(desk))
    doors += [desk.add("Door") for _ in range(count - held)]
    return doors


def test_values_are_remembered_of_up_to_20_000_elements(desk):
    doors = crowded(desk, 20_000)
    prepared = prepare(desk)
    desk.set_note(doors[-1], "EI60")

    assert len(prepared) == 20_000
    assert report(desk, prepared, modified=doors[-1:])["elements"] == [
        row(desk, doors[-1], "modified", "Door", diff(desk.NOTE, "EI30", "EI60"))
    ]


def test_above_that_only_names_are_and_the_report_says_so(desk):
    doors = crowded(desk, 20_001)
    prepared = prepare(desk)
    noted, renamed, gone = doors[-3:]
    desk.set_note(noted, "EI60")
    desk.rename(renamed, "Gate")
    desk.remove(gone)

    found = report(desk, prepared, modified=[noted, renamed], deleted=[gone])

    assert len(prepared) == 20_001
    assert found["elements"] == [
        row(desk, noted, "modified", "Door", NOT_COMPARED),
        row(desk, renamed, "modified", "Gate", diff("Name", "Door", "Gate"), NOT_COMPARED),
        row(desk, gone, "deleted", "Door") | {"tag": None, "level": None, "type": None},
    ]


def test_when_preparing_failed_the_report_still_names_what_is_there(desk):
    door, gone = desk.add("Door"), desk.add("Gone")
    desk.remove(gone)

    found = report(desk, None, modified=[door], deleted=[gone])

    assert found["elements"] == [row(desk, door, "modified", "Door", NOT_COMPARED)]
    assert found["unresolved"] == 1


def test_what_is_remembered_holds_no_reference_to_the_document(desk):
    desk.add("Door")
    plain = (str, int, float, bool, type(None))

    for state in prepare(desk).values():
        assert all(isinstance(value, plain) for value in state.pop("values").values())
        assert all(isinstance(value, plain) for value in state.values())
