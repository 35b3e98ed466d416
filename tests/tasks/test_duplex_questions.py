"""Questions about a house of two flats: the answer is the figure that the file's own text gives."""

from collections.abc import Iterator

import pytest

from tests.bench import Bench, bench
from tests.paths import shared
from tests.tasks.oracle import Step
from tests.tasks.rehearsed import DUPLEX, SCRIPTS, looked_up

MODEL = "rehearsal-gemini"
TOLERANCE_M = 1e-5


@pytest.fixture(scope="module")
def house(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Bench]:
    with bench(tmp_path_factory.mktemp("duplex"), shared(*DUPLEX), SCRIPTS) as made:
        yield made


@pytest.fixture(scope="module")
def step() -> Step:
    return Step(shared(*DUPLEX))


def test_every_door_carries_a_placeholder_fire_rating_and_no_wall_does(house: Bench, step: Step) -> None:
    doors = step.properties("Pset_DoorCommon", "FireRating")
    walls = step.properties("Pset_WallCommon", "FireRating")

    words = looked_up(house, "Which doors carry a placeholder fire rating?", MODEL)

    assert (list(doors.values()), walls) == (["Fire Rating"] * 14, {})
    assert set(doors) == set(step.of("IFCDOOR"))
    assert words.startswith("14 of 14 doors carry a placeholder")
    assert "Of the 57 walls 0 do." in words


def test_walls_are_counted_with_their_subtype(house: Bench, step: Step) -> None:
    walls = step.of("IFCWALL", "IFCWALLSTANDARDCASE")
    external, bearing = (step.properties("Pset_WallCommon", name) for name in ("IsExternal", "LoadBearing"))

    words = looked_up(house, "How many walls are external, how many load-bearing?", MODEL)

    assert (len(walls), sum(map(external.get, walls)), sum(map(bearing.get, walls))) == (57, 23, 7)
    assert "23 of 57 walls are external, 7 are load-bearing." in words


@pytest.mark.parametrize(("limit", "narrow"), [("0.80", 4), ("0.90", 12), ("0.864", 6)])
def test_a_door_of_just_the_limit_is_not_narrower(house: Bench, step: Step, limit: str, narrow: int) -> None:
    widths = [step.at(door, 9) for door in step.of("IFCDOOR")]

    words = looked_up(house, f"Which doors are narrower than {limit} m?", MODEL)

    assert step.length_prefix() is None
    assert sum(width < float(limit) - TOLERANCE_M for width in widths) == narrow
    assert f"{narrow} of 14 doors are narrower than {limit} m" in words


def test_an_area_that_is_written_twice_is_counted_once(house: Bench, step: Step) -> None:
    spaces = set(step.of("IFCSPACE"))
    quantities = sum(step.at(each, 3) for each in step.of("IFCQUANTITYAREA"))
    areas = step.properties("PSet_Revit_Dimensions", "Area")
    repeated = {space: areas[space] for space in spaces}

    words = looked_up(house, "What is the total area of all spaces?", MODEL)

    assert len(spaces) == 21
    assert f"{quantities:.3f}" == f"{sum(repeated.values()):.3f}" == "422.047"
    assert f"{quantities + sum(repeated.values()):.2f}" == "844.09"
    assert "The 21 spaces have 422.047 m² in total" in words
    assert "844" not in words


def test_nothing_is_unhosted_or_uncontained(house: Bench) -> None:
    words = looked_up(house, "Audit hosts and containment", MODEL)

    assert "0 of 38 doors and windows fill no opening. 0 elements are in no storey" in words
