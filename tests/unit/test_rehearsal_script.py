"""Rehearsal scripts load, and say where they are wrong."""

from __future__ import annotations

from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from local.rehearsal.script import ScriptError, load, parse, titles

GOOD = """
name: doors
title: Renumber doors on level 2
match: 'renumber doors on level (?P<level>\\d+)'
turns:
  - name: look
    say: I look at level {level}.
    call: {tool: execute_data_collection, input: {code: print(1), purpose: Look.}}
    next:
      - {when: '(?P<doors>\\d+) doors', go: done}
  - name: done
    say: There are {doors} doors.
"""


def test_a_script_keeps_its_turns_in_order():
    script = parse(GOOD, "doors.yaml")

    assert [turn.name for turn in script.turns] == ["look", "done"]
    assert script.turns[0].call.input == {"code": "print(1)", "purpose": "Look."}
    assert script.turns[0].next[0].go == "done"


@pytest.mark.parametrize(
    ("old", "new", "text"),
    [
        pytest.param(
            "go: done", "go: nowhere", "turns.0.next.0.go: no turn is named 'nowhere'", id="branch to nowhere"
        ),
        pytest.param("name: look", "name: done", "turns.1.name: there are two turns named 'done'", id="name twice"),
        pytest.param("{doors} doors.", "{windows}.", "turns.1.say: no pattern has a group named 'windows'", id="group"),
        pytest.param("(?P<doors>", "(?P<doors", "turns.0.next.0.when: not a regular expression", id="pattern"),
        pytest.param("say: I look", "says: I look", "turns.0.says: Extra inputs are not permitted", id="unknown field"),
        pytest.param("title: Renumber", "title: Paint", "title: it is shown as a request", id="title not matched"),
        pytest.param("name: doors\n", "", "name: Field required", id="no name"),
        pytest.param("tool: execute_data_collection, ", "", "turns.0.call.tool: Field required", id="no tool"),
        pytest.param("turns:", "turns: [", "not YAML", id="not YAML"),
    ],
)
def test_an_error_names_file_and_field(old: str, new: str, text: str):
    assert old in GOOD

    with pytest.raises(ScriptError) as caught:
        parse(GOOD.replace(old, new), "doors.yaml")

    assert str(caught.value).startswith("doors.yaml: ")
    assert text in str(caught.value)


def test_a_last_turn_that_waits_for_a_result_is_refused():
    endless = GOOD[: GOOD.index("    next:")]

    with pytest.raises(ScriptError, match=r"turns.0.call: nothing follows the last turn"):
        parse(endless, "doors.yaml")


def test_a_turn_that_neither_says_nor_calls_is_refused():
    with pytest.raises(ScriptError, match=r"turns.1: a turn must say or call something"):
        parse(GOOD.replace("    say: There are {doors} doors.", "    think: Nothing."), "doors.yaml")


def test_a_folder_needs_exactly_one_fallback(tmp_path: Path):
    (tmp_path / "doors.yaml").write_text(GOOD)

    with pytest.raises(ScriptError, match="match: exactly one script must have none, the fallback; 0 have none"):
        load(tmp_path)


def test_two_scripts_of_one_name_are_refused(tmp_path: Path):
    (tmp_path / "a.yaml").write_text(GOOD)
    (tmp_path / "b.yaml").write_text(GOOD)

    with pytest.raises(ScriptError, match="two scripts are named 'doors'"):
        load(tmp_path)


def test_the_bundled_scripts_load_with_the_fallback_last():
    scripts = load()

    assert titles(scripts) == ["Renumber every door on level 2", "What is in this model?"]
    assert scripts[-1].match is None


@given(st.text())
def test_any_text_loads_or_is_refused_with_a_reason(text: str):
    with pytest.raises(ScriptError, match=r"^any\.yaml: "):
        parse(text, "any.yaml")
