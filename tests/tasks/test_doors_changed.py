"""Tasks that change the doors of a real model: exactly those that were meant, in every dialect."""

from collections.abc import Iterator

import pytest

from tests.bench import Bench, bench
from tests.paths import shared
from tests.tasks.oracle import Step
from tests.tasks.rehearsed import DUPLEX, SCRIPTS, answer

DIALECTS = [
    ("rehearsal", "2", "EI60"),
    ("rehearsal-responses", "B", "EI30"),
    ("rehearsal-gemini", "C", "EI90"),
    ("rehearsal-chat", "D", "EI120"),
]
"""A model of each dialect, and what it is asked to write: tags with that prefix, that fire rating."""
ON_LEVEL_2 = [150378, 159834, 204034, 160208, 160065, 203720, 159734, 150478]
"""Tags of the doors on Level 2, from the north, and from the left where two stand in line."""
IN_WALLS_OF_LEVEL_1 = {150378, 150478}
"""Those of them whose openings are in walls of the level below."""


@pytest.fixture(scope="module")
def work(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Bench]:
    """One file for all tests of this module: each looks at what it changes itself."""
    with bench(tmp_path_factory.mktemp("doors"), shared(*DUPLEX), SCRIPTS) as made:
        yield made


@pytest.fixture(scope="module")
def original() -> Step:
    return Step(shared(*DUPLEX))


def tags(step: Step, doors: set[int]) -> dict[int, str]:
    return {door: step.at(door, 7) for door in doors}


def in_order(step: Step, doors: set[int]) -> list[int]:
    """From the north, and from the left where two doors stand in line."""
    return sorted(doors, key=lambda door: (-round(step.position(door)[1], 3), step.position(door)[0]))


def renumber(work: Bench, model: str, level: int, prefix: str, doors: set[int]) -> tuple[Step, Step]:
    """The file before and after: these doors have changed, nothing else has, and the run says so."""
    before = Step(work.model)
    wanted = f"as {prefix}-01, {prefix}-02 and so on, left to right from the north"

    words, results = answer(work, f"Renumber every door on level {level} {wanted}", model)

    after = Step(work.model)
    assert before.changed_in(after) == (set(), doors, set())
    assert results[-1]["changed"] == {"added": 0, "modified": len(doors), "deleted": 0}
    assert {row["id"] for row in results[-1]["report"]["elements"]} == doors
    assert f"Of the {len(doors)} doors that Level {level} contains, {len(doors)} have a new tag" in words
    return before, after


@pytest.mark.parametrize(("model", "prefix"), [(model, prefix) for model, prefix, _ in DIALECTS])
def test_the_eight_doors_of_level_2_are_renumbered_from_the_north(
    work: Bench, original: Step, model: str, prefix: str
) -> None:
    doors = original.doors_on("Level 2")

    _, after = renumber(work, model, 2, prefix, doors)

    ordered = in_order(original, doors)
    assert [int(original.at(door, 7)) for door in ordered] == ON_LEVEL_2
    assert [after.at(door, 7) for door in ordered] == [f"{prefix}-{number:02}" for number in range(1, 9)]


def test_a_door_in_a_wall_of_level_1_that_lies_on_level_2_is_not_a_door_of_level_1(work: Bench, original: Step) -> None:
    upstairs, doors = original.doors_on("Level 2"), original.doors_on("Level 1")
    hosted_below = {door for door, tag in tags(original, upstairs).items() if int(tag) in IN_WALLS_OF_LEVEL_1}

    before, after = renumber(work, "rehearsal-gemini", 1, "1", doors)

    assert [original.storey_of_host(door) for door in hosted_below] == ["Level 1"] * 2
    assert tags(after, upstairs) == tags(before, upstairs)
    assert sorted(tags(after, doors).values()) == [f"1-{number:02}" for number in range(1, 7)]


@pytest.mark.parametrize(("model", "rating"), [(model, rating) for model, _, rating in DIALECTS])
def test_the_six_doors_of_one_type_are_rated_and_no_other(work: Bench, original: Step, model: str, rating: str) -> None:
    before = Step(work.model)
    doors = original.doors_of_type("0864 x 2032mm")

    words, results = answer(work, f"Set FireRating {rating} on all doors of type 0864 x 2032mm", model)

    assert len(doors) == 6
    assert results[-1]["changed"] == {"added": 0, "modified": 6, "deleted": 0}
    assert {row["id"] for row in results[-1]["report"]["elements"]} == doors
    after = Step(work.model)
    ratings = after.properties("Pset_DoorCommon", "FireRating")
    assert ratings == dict.fromkeys(original.of("IFCDOOR"), "Fire Rating") | dict.fromkeys(doors, rating)
    added, modified, deleted = before.changed_in(after)
    assert (len(added), len(modified), len(deleted)) == (0, 6, 0)
    assert {original.classes[each] for each in modified} == {"IFCPROPERTYSINGLEVALUE"}
    assert f"FireRating is {rating} on 6 of the 6 doors of type 0864 x 2032mm. The file has 14 doors" in words
