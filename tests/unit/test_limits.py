"""When a run has used enough, by numbers."""

import pytest
from drafthand.limits import reached
from drafthand.session import Limits, Phase, Progress
from drafthand.tools import AUTOMATE, COLLECT

FRESH = Progress(started_at=1000.0)


def after(*outcomes: str) -> Progress:
    """Progress after automations that ended so."""
    progress = FRESH
    for outcome in outcomes:
        progress = progress.before_call(AUTOMATE, runs_script=True)
        if outcome == "committed":
            progress = progress.after_commit({"added": 0, "modified": 2, "deleted": 0})
    return progress


@pytest.mark.parametrize(
    ("outcomes", "fix", "iteration"),
    [
        ((), 0, 0),
        (("failed",), 0, 0),
        (("failed", "failed", "committed"), 2, 0),
        (("committed", "committed"), 0, 1),
        (("failed", "committed", "failed", "committed"), 2, 1),
    ],
)
def test_an_automation_counts_by_what_it_follows(outcomes: tuple[str, ...], fix: int, iteration: int) -> None:
    progress = after(*outcomes)

    assert (progress.fix, progress.iteration) == (fix, iteration)
    assert progress.changed["modified"] == 2 * outcomes.count("committed")


def test_a_burnt_fix_budget_leaves_the_iteration_budget_whole() -> None:
    limits = Limits(fix=2)
    progress = after("failed", "failed", "failed")

    found = reached(limits, progress, AUTOMATE, None, 1001.0)

    assert found is not None
    assert (found.name, found.used, found.cap) == ("fix", 2, 2)
    assert progress.iteration == 0
    assert "2 of 2 automations after a failed one" in found.for_model


def test_a_burnt_iteration_budget_leaves_the_fix_budget_whole() -> None:
    progress = after("committed", "committed", "committed")

    found = reached(Limits(iteration=2), progress, AUTOMATE, None, 1001.0)

    assert found is not None
    assert (found.name, found.used, progress.fix) == ("iteration", 2, 0)


def test_looking_is_free_while_turns_time_and_money_last() -> None:
    assert reached(Limits(fix=0, iteration=0), after("failed"), COLLECT, None, 1001.0) is None


def test_the_first_automation_is_neither_fix_nor_iteration() -> None:
    assert reached(Limits(fix=0, iteration=0), FRESH, AUTOMATE, None, 1001.0) is None


@pytest.mark.parametrize(
    ("progress", "cost_usd", "at", "name"),
    [
        (FRESH.model_copy(update={"turns": 60}), None, 1001.0, "turns"),
        (FRESH, None, 1000.0 + 3600, "seconds"),
        (FRESH, 10.0, 1001.0, "cost_usd"),
        (FRESH.model_copy(update={"limit": "fix", "fix": 5}), None, 1001.0, "fix"),
    ],
)
def test_turns_time_and_money_end_a_run_in_the_same_manner(
    progress: Progress, cost_usd: float | None, at: float, name: str
) -> None:
    found = reached(Limits(), progress, COLLECT, cost_usd, at)

    assert found is not None
    assert found.name == name


def test_a_run_that_reached_a_limit_sums_up() -> None:
    assert after("failed").phase() is Phase.EDIT
    assert after("failed").model_copy(update={"limit": "fix"}).phase() is Phase.SUMMARY
