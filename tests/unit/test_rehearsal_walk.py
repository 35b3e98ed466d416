"""The walk finds its turn from the transcript alone."""

from __future__ import annotations

import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from local.rehearsal.script import Script, load
from local.rehearsal.walk import LABEL, Exchange, Play, View, fill, walk

SCRIPTS = load()
TOOLS = frozenset({"execute_data_collection", "execute_task_automation", "capture_view"})
LISTED = "outcome: rolled_back\nstdout:\nstorey Level 2: elevation 3.10 m, 8 doors\nto renumber: 8 doors\n"
FAILED = (
    "outcome: failed\nerror: TypeError: Incorrect function arguments provided for attribute.edit_attributes\n"
    "edit_attributes() got an unexpected keyword argument 'attribute'. You specified args () (line 31)\n"
    "nothing was changed\n"
)
COMMITTED = (
    "outcome: committed\nstdout:\n#8283: 150378 -> 2-01\nreport:\nchanged: 11 modified, 0 added, 0 deleted\n"
    '- modified IfcDoor "Door" tag 2-01\n'
)

LOOP = Script.model_validate(
    {
        "name": "loop",
        "title": "Go round",
        "match": "go round",
        "turns": [
            {
                "name": "step",
                "call": {"tool": "execute_data_collection", "input": {"code": "print({n})"}},
                "next": [{"when": r"round (?P<n>\d+)", "go": "step"}],
            }
        ],
    }
)


def answer(
    *results: str | None, request: str = "Renumber every door on level 2", tools: frozenset[str] = TOOLS
) -> Play:
    return walk(SCRIPTS, View(request, tuple(Exchange(result) for result in results), tools))


def test_a_whole_run_goes_from_looking_to_the_summary():
    turns = [answer(), answer(LISTED), answer(LISTED, FAILED), answer(LISTED, FAILED, COMMITTED)]

    assert [turn.turn for turn in turns] == ["inspect", "renumber", "mend", "summary"]
    assert [turn.call.tool if turn.call else None for turn in turns] == [
        "execute_data_collection",
        "execute_task_automation",
        "execute_task_automation",
        None,
    ]


def test_the_level_of_the_users_message_reaches_the_script():
    play = answer(request="please RE-NUMBER all the doors\non Level 14, thanks")

    assert 'LEVEL = "Level 14"' in play.call.input["code"]
    assert "Level 14" in play.say


def test_the_summary_quotes_the_numbers_of_the_report():
    play = answer(LISTED, FAILED, COMMITTED)

    assert "the report counts 11 modified elements" in play.say
    assert "the level has 8 doors" in play.say
    assert "wrong keyword (attribute)" in play.say


def test_the_mending_call_replaces_exactly_one_line():
    play = answer(LISTED, FAILED)

    assert [(edit["start_line"], edit["end_line"]) for edit in play.call.input["edits"]] == [(31, 31)]
    assert play.call.input["view"] == {"kind": "plan", "storey": "Level 2"}


def test_braces_of_the_source_survive():
    code = answer(LISTED).call.input["code"]

    assert 'tag = f"2-{number:02d}"' in code
    assert '{"Tag": tag}' in code


@pytest.mark.parametrize(
    ("result", "turn"),
    [
        ("there is no storey named Level 2", "no-such-level"),
        ("to renumber: 0 doors", "no-doors"),
        ("to renumber: 10 doors", "renumber"),
    ],
)
def test_the_result_decides_where_the_run_goes(result: str, turn: str):
    assert answer(f"outcome: rolled_back\nstdout:\n{result}\n").turn == turn


def test_a_read_only_session_is_told_what_would_be_done():
    play = answer(LISTED, "outcome: refused\nThis session is read-only: the user allows looking, not changing.")

    assert play.turn == "only-looking"
    assert "I would give the 8 doors of Level 2" in play.say


def test_a_commit_that_changed_nothing_is_not_sold_as_a_success():
    play = answer(LISTED, FAILED, "outcome: committed\nchanged: 0 modified, 0 added, 0 deleted\n")

    assert play.turn == "unchanged"
    assert play.call is None


def test_a_run_opens_with_the_label_and_only_opens_with_it():
    assert answer().say.startswith(LABEL)
    assert LABEL not in answer(LISTED).say


def test_an_unexpected_result_ends_the_run_and_is_quoted():
    play = answer(LISTED, "outcome: timed_out\nerror: the script ran for 30 s\n")

    assert play.call is None
    assert play.say.startswith(f"{LABEL} The rehearsal can't go on.")
    assert "outcome: timed_out\nerror: the script ran for 30 s" in play.say


def test_a_long_unexpected_result_is_quoted_in_part_with_its_true_length():
    play = answer("x" * 5_000)

    assert "x" * 1_200 + "… (5,000 characters in all)" in play.say
    assert "x" * 1_201 not in play.say


def test_a_call_without_a_result_ends_the_run():
    assert "has no result" in answer(None).say


def test_a_transcript_longer_than_the_script_ends_the_run():
    assert "had ended with the turn 'summary'" in answer(LISTED, FAILED, COMMITTED, "more").say


def test_a_tool_the_request_does_not_offer_is_not_called():
    play = answer(LISTED, tools=frozenset({"execute_data_collection"}))

    assert play.call is None
    assert "calls execute_task_automation, and this request lets the model call: execute_data_collection." in play.say


def test_where_calls_are_forbidden_the_newest_result_is_the_account():
    capped = "outcome: refused\nThe limit is reached: 5 of 5 fixes are used.\n" + "x" * 2_000

    for results in [(LISTED,), (LISTED, capped)]:
        play = answer(*results, tools=frozenset())

        assert play.call is None
        assert play.say.startswith(f"{LABEL} I stop here. What was used and done so far:\n\n{results[-1][:1_200]}")
        assert len(play.say) < 1_400


def test_where_calls_are_forbidden_a_turn_without_a_call_is_played():
    assert "the report counts 11 modified" in answer(LISTED, FAILED, COMMITTED, tools=frozenset()).say


def test_where_calls_are_forbidden_before_any_result_the_call_is_named():
    play = answer(tools=frozenset())

    assert play.call is None
    assert "calls execute_data_collection, and this request lets the model call: none." in play.say


def test_a_turn_that_follows_itself_is_played_as_often_as_it_is_asked_for():
    rounds = [f"round {number}" for number in range(1, 201)]

    play = walk([LOOP, SCRIPTS[-1]], View("go round", tuple(map(Exchange, rounds)), TOOLS))

    assert play.call.input == {"code": "print(200)"}


def test_the_fallback_names_what_can_be_rehearsed():
    play = answer(request="Paint everything blue")

    assert play.script == "fallback"
    assert "- Renumber every door on level 2\n- What is in this model?" in play.say


@pytest.mark.parametrize(
    "request_text", ["What is in this model?", "what's in the file", "Please describe this building"]
)
def test_an_overview_can_be_asked_for_in_several_words(request_text: str):
    assert answer(request=request_text).script == "what-is-here"


@given(st.text(), st.lists(st.none() | st.text() | st.sampled_from([LISTED, FAILED, COMMITTED]), max_size=5))
def test_the_walk_answers_any_transcript(request: str, results: list[str | None]):
    play = walk(SCRIPTS, View(request, tuple(Exchange(result) for result in results), TOOLS))

    assert play.say or play.call


@given(st.text(), st.dictionaries(st.from_regex(r"\A[a-z]{1,5}\Z"), st.text()))
def test_filling_changes_nothing_but_known_groups(text: str, groups: dict[str, str]):
    filled = fill(text, groups)

    assert filled == re.sub(r"\{(\w+)\}", lambda found: groups.get(found[1], found[0]), text)
    assert fill(text, {}) == text
