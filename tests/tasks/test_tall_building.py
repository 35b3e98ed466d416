"""A model whose levels jump from 2 to 4."""

from collections.abc import Iterator

import pytest

from tests.bench import Bench, bench
from tests.paths import shared
from tests.tasks.oracle import Step
from tests.tasks.rehearsed import SCRIPTS, looked_up

FILE = ("ifc", "TallBuilding.ifc")
MODEL = "rehearsal-responses"
NAMES = "Level 1, Level 2, Level 4, Level 5, Level 6"


@pytest.fixture(scope="module")
def tower(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Bench]:
    with bench(tmp_path_factory.mktemp("tall"), shared(*FILE), SCRIPTS) as made:
        yield made


def test_the_missing_level_is_a_missing_name(tower: Bench) -> None:
    step = Step(shared(*FILE))
    heights = {name: elevation for name, (_, elevation) in step.storeys().items()}

    words = looked_up(tower, "Audit the levels", MODEL)

    assert heights == {"Level 1": 0, "Level 2": 4000, "Level 4": 8000, "Level 5": 12000, "Level 6": 16000}
    assert step.length_prefix() == ".MILLI."
    assert f"There are {NAMES}. No storey is named Level 3, yet every storey is 4,000 mm above the one below" in words


def test_doors_of_a_level_that_is_not_there_are_asked_about_and_not_renumbered(tower: Bench) -> None:
    words = looked_up(tower, "Renumber every door on level 3 as 3-01, 3-02 and so on", MODEL)

    assert words.startswith("Nothing was changed: 0 storeys are named Level 3.")
    assert f"The storeys are {NAMES}. Which of them do you mean?" in words
