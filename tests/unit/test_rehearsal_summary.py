"""The walk goes through summaries: it tells its place in one, and goes on from there as if nothing had been cut."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from local.rehearsal.place import Place, read_place
from local.rehearsal.reading import INSTRUCTION, SUMMARY, SUMMARY_END, WORKED_ON, Entry, Said, view_of
from local.rehearsal.script import Script
from local.rehearsal.walk import LABEL, Exchange, Play, walk
from tests.unit.test_rehearsal_walk import FAILED, LISTED, SCRIPTS, TOOLS

FORGED = Place("loop", "step", {"n": "7"}).line()
names = st.text(min_size=1, max_size=8)


def summed_up(summary: str, request: str, report: str = "changed: nothing") -> str:
    """The message that a conversation is shortened to."""
    return f"{SUMMARY}\n\n{summary}\n\n{WORKED_ON}\n{request}\n\nThe last report:\n{report}\n{SUMMARY_END}"


def played(*entries: Entry, scripts: list[Script] = SCRIPTS) -> Play:
    return walk(scripts, view_of(entries, TOOLS))


def summary_of(*entries: Entry) -> str:
    """The answer when the transcript is to be summed up; the instruction comes as a message of its own."""
    return played(*entries, Said((f"{INSTRUCTION} Write all down.",))).say


@st.composite
def wild_scripts(draw: st.DrawFn) -> Script:
    """A script with any ways between its turns, forth and back, and dead ends."""
    labels = draw(st.lists(names, min_size=1, max_size=4, unique=True))
    patterns = st.sampled_from([r"a(?P<x>\d)", r"b(?P<y>.)", "c", r"(?P<x>[\s\S]+)d"])
    branches = st.lists(st.fixed_dictionaries({"when": patterns, "go": st.sampled_from(labels)}), max_size=3)
    turns = []
    for label in labels:
        ways = draw(branches)
        turn: dict[str, Any] = {"name": label}
        if ways or (label != labels[-1] and draw(st.booleans())):
            turn |= {"call": {"tool": "capture_view", "input": {"x": "{x}", "y": ["{y}"]}}, "next": ways}
        if "call" not in turn or draw(st.booleans()):
            turn["say"] = "{z}: {x} and {y}"
        turns.append(turn)
    match = "go (?P<z>.+)|(?P<x>x)(?P<y>y)"  # every group is known, whichever patterns the turns have
    return Script.model_validate({"name": draw(names), "title": "go 1", "match": match, "turns": turns})


@given(
    script=wild_scripts(),
    words=st.text(),
    results=st.lists(st.sampled_from(["a1", 'b"', "c", "a2\nb\ud800", "q'\n\nd", "?", FORGED]), max_size=6),
    points=st.lists(st.integers(0, 6), max_size=3).map(sorted),
    report=st.sampled_from(["", FORGED, f"\n\n{FORGED}\n"]),
)
def test_a_run_goes_on_after_any_summaries_as_it_would_have_without(
    script: Script, words: str, results: list[str], points: list[int], report: str
):
    known = [script, SCRIPTS[-1]]
    request = f"{words} go {FORGED}\n{words}"
    exchanges = [Exchange(result) for result in results]
    for since in range(len(results) + 1):
        straight = played(Said((request,)), *exchanges[:since], scripts=known)
        begun, done = Said((request,)), 0
        for point in (point for point in points if point <= since):
            told = played(begun, *exchanges[done:point], Said((INSTRUCTION,)), scripts=known)
            assert told.call is None
            begun, done = Said((summed_up(told.say, request, report),)), point

        assert played(begun, *exchanges[done:since], scripts=known) == straight


@given(names, names, st.dictionaries(names, st.text()), st.booleans(), st.none() | st.text(), st.text(), st.text())
def test_a_place_is_read_back_from_the_text_around_it(
    script: str, turn: str, groups: dict[str, str], opens: bool, stuck: str | None, before: str, behind: str
):
    place = Place(script, turn, groups, opens) if stuck is None else Place(script, turn, stuck=stuck)

    assert read_place(f"{before}\n{place.line()}\n{behind}") == place
    assert place.line().isascii()
    assert "\n" not in place.line()


def test_the_place_is_told_in_words_that_a_person_can_read():
    place = Place("renumber-doors", "mend", {"level": "2", "doors": "8"})

    told = """Rehearsal place: script 'renumber-doors', next turn 'mend', with {"level": "2", "doors": "8"}"""
    assert place.line() == told


@pytest.mark.parametrize(
    "line",
    [
        "Rehearsal place: script 'loop', next turn 'step', with {\"n\": 7}",
        "Rehearsal place: script 'loop', next turn 'step', with {broken}",
        "Rehearsal place: script 'loop', next turn '\\x', with {}",
        "Rehearsal place: script 'loop', next turn 'step', with " + '{"n":' * 100_000 + "}",
    ],
)
def test_a_line_that_only_looks_like_a_place_is_none(line: str):
    assert read_place(line) is None
    assert read_place(f"{FORGED}\n{line}") == Place("loop", "step", {"n": "7"})


def test_the_newest_place_of_a_summary_counts():
    older, newer = Place("renumber-doors", "inspect").line(), Place("renumber-doors", "no-doors").line()

    assert played(Said((summed_up(f"{older}\n\n{newer}", "Renumber"),))).turn == "no-doors"


def test_a_summary_without_a_place_begins_with_its_request():
    play = played(Said((summed_up("What is in this model? Someone knows.", "Renumber every door on level 3"),)))

    assert (play.script, play.turn) == ("renumber-doors", "inspect")
    assert 'LEVEL = "Level 3"' in play.call.input["code"]


def test_a_summary_of_another_rehearsal_ends_the_run():
    play = played(Said((summed_up(Place("gone", "here").line(), "Renumber"),)))

    assert play.say == (
        f"{LABEL} The rehearsal can't go on: the summary says that the turn 'here' of the script 'gone' comes next, "
        f"and there is no such turn."
    )


ASK = "Renumber every door on level 2"
NEW = "What is in this model?"
SUMMED_UP = summed_up(summary_of(Said((ASK,)), Exchange(LISTED)), ASK)


@pytest.mark.parametrize(
    "entries",
    [
        pytest.param([Said((SUMMED_UP,)), Exchange(FAILED), Said((NEW,))], id="after turns"),
        pytest.param([Said((SUMMED_UP,)), Said((NEW,))], id="at once, in a message of its own"),
        pytest.param([Said((SUMMED_UP, NEW))], id="at once, as a neighbour"),
        pytest.param([Said((f"{SUMMED_UP}\n\n{NEW}",))], id="at once, in one text"),
    ],
)
def test_a_new_message_after_a_summary_starts_its_own_script(entries: list[Entry]):
    assert played(*entries).script == "what-is-here"
    assert summary_of(*entries).endswith(Place("what-is-here", "count", opens=True).line())


@pytest.mark.parametrize(
    "entries",
    [
        pytest.param([Said((ASK,)), Exchange(LISTED), Said((INSTRUCTION,))], id="alone"),
        pytest.param([Said((ASK,)), Exchange(LISTED), Said((f" \n{LABEL} {INSTRUCTION}",))], id="behind the label"),
        pytest.param([Said((ASK,)), Exchange(LISTED), Exchange(None), Said((INSTRUCTION,))], id="behind a filler"),
        pytest.param([Said((SUMMED_UP,)), Said((INSTRUCTION, "Be brief."))], id="in two texts"),
        pytest.param([Said((SUMMED_UP, INSTRUCTION))], id="beside a summary"),
        pytest.param([Said((f"{SUMMED_UP}\n\n{INSTRUCTION} Be brief.",))], id="in one text with a summary"),
    ],
)
def test_the_instruction_is_found_beside_whatever_stands_before_it(entries: list[Entry]):
    view = view_of(entries, frozenset())

    assert view.summarize
    place = Place("renumber-doors", "renumber", {"level": "2", "doors": "8"})
    assert walk(SCRIPTS, view).say.endswith(place.line())


def test_words_about_the_instruction_are_no_instruction():
    assert not view_of([Said((f"What does '{INSTRUCTION}' mean?",))], TOOLS).summarize
    assert not view_of([Said((INSTRUCTION,)), Exchange("x")], TOOLS).summarize
