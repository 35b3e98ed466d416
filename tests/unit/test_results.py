import json
import unicodedata
from typing import Any

import pytest
from drafthand.answers import Answer
from drafthand.capabilities import CAPABILITIES
from drafthand.commands import Changed, HostResult, ScriptError
from drafthand.results import for_model, protected_note, report_lines, summary_line
from drafthand.store.hosts import Host
from drafthand.tellings import answered_chunk
from drafthand.tools import AUTOMATE
from drafthand.transcript import ToolCall
from hypothesis import given
from hypothesis import strategies as st

IFC = CAPABILITIES["ifc"]


def report(rows: int, category: str = "IfcDoor") -> dict[str, Any]:
    elements = [
        {
            "id": number,
            "change": "modified",
            "category": category,
            "name": f"Door {number}",
            "tag": f"2-{number:02}",
            "level": "Level 2",
            "type": None,
            "changes": [{"property": "Tag", "before": "204034", "after": f"2-{number:02}"}],
        }
        for number in range(1, rows + 1)
    ]
    example = {"id": 1, "name": "Door 1"}
    changes = [{"property": "Tag", "before": "(various)", "after": "(various)"}]
    groups = [{"category": category, "change": "modified", "count": rows, "example": example, "changes": changes}]
    entities = {"added": 0, "modified": 0, "deleted": 0}
    return {"elements": elements, "groups": groups, "unresolved": 0, "entities": entities}


def committed(count: int) -> HostResult:
    return HostResult(id="c", outcome="committed", changed=Changed(modified=list(range(1, count + 1))))


def test_up_to_fifteen_elements_are_named_one_by_one() -> None:
    text = for_model(committed(15), "", report(15), None, IFC)

    assert text.startswith("outcome: committed\n")
    assert "changed: 15 modified, 0 added, 0 deleted" in text
    assert "- modified IfcDoor #15 \"Door 15\" tag 2-15 level Level 2 (Tag: '204034' -> '2-15')" in text


def test_above_fifteen_groups_are_counted_with_an_example() -> None:
    text = for_model(committed(4000), "", report(4000), None, IFC)

    assert "changed: 4000 modified, 0 added, 0 deleted" in text
    assert "- modified 4,000 x IfcDoor (Tag: '(various)' -> '(various)'), for example #1 \"Door 1\"" in text
    assert "Door 2" not in text
    assert len(text) < 400


def test_a_commit_that_changed_nothing_says_so() -> None:
    assert "0 element(s) changed." in for_model(committed(0), "", report(0), None, IFC)


@pytest.mark.parametrize(
    ("entities", "told"),
    [
        ({"added": 2, "modified": 1, "deleted": 0}, "0 element(s) changed; 3 other entities of the file did."),
        ({"added": 0, "modified": 1, "deleted": 0}, "0 element(s) changed; 1 other entity of the file did."),
        ({"added": 0, "modified": 0, "deleted": 0}, "0 element(s) changed."),
    ],
)
def test_a_commit_that_changed_no_element_says_how_much_else_it_changed(entities: dict[str, int], told: str) -> None:
    lines = report_lines(committed(0), report(0) | {"groups": [], "entities": entities}, IFC)

    assert lines == ["changed: 0 modified, 0 added, 0 deleted", told]


def test_a_failed_script_is_shown_about_the_line_at_fault() -> None:
    script = "".join(f"step_{number}()\n" for number in range(1, 41))
    error = ScriptError(type="TypeError", message="got an unexpected keyword 'attribute'", line=23)
    result = HostResult(id="c", outcome="failed", error=error)

    text = for_model(result, "before\n", None, script, IFC)

    assert "error: TypeError: got an unexpected keyword 'attribute' (line 23)" in text
    assert "nothing was changed" in text
    assert "23 | step_23()" in text
    assert "step_9()" not in text
    assert "stdout:\nbefore" in text
    assert "changed:" not in text


names = st.text(max_size=80) | st.just("x" * 300)
values = st.none() | st.floats() | names
changes = st.lists(st.fixed_dictionaries({"property": names, "before": values, "after": values}), max_size=30)


@st.composite
def reports(draw: st.DrawFn) -> tuple[dict[str, Any], int]:
    """Any report, of few or of many elements whose names and values were made by somebody who wants our attention."""
    row = st.fixed_dictionaries(
        {
            "id": st.integers(1, 10**9),
            "change": st.just("modified"),
            "category": names,
            "name": names,
            "tag": names,
            "level": names,
            "type": names,
            "changes": changes,
        }
    )
    elements = draw(st.lists(row, max_size=20))
    example = st.fixed_dictionaries({"id": st.integers(1, 10**9), "name": names})
    group = st.fixed_dictionaries(
        {"category": names, "change": st.just("modified"), "count": st.integers(1, 9), "example": example}
        | {"changes": changes}
    )
    return {
        "elements": elements,
        "groups": draw(st.lists(group, max_size=60)),
        "unresolved": draw(st.integers(0, 5)),
    }, max(len(elements), 1)


@given(reports())
def test_no_report_costs_the_model_more_than_2_000_characters(drawn: tuple[dict[str, Any], int]) -> None:
    found, count = drawn

    lines = report_lines(committed(count), found, IFC)

    assert sum(len(line) + 1 for line in lines) < 2_000
    assert all("\n" not in line for line in lines)
    assert lines[0] == f"changed: {count} modified, 0 added, 0 deleted"


@given(st.text(max_size=80) | st.text('"\\\\#1 \u202e\u200b\x00', max_size=80))
def test_a_name_closes_no_quotes_and_hides_nothing(name: str) -> None:
    found = report(1)
    found["elements"][0]["name"] = name

    line = report_lines(committed(1), found, IFC)[1]

    head, rest = "- modified IfcDoor #1 ", " tag 2-01 level Level 2 (Tag: '204034' -> '2-01')"
    assert line.startswith(head)
    told, end = json.JSONDecoder().raw_decode(line, len(head))
    assert line[end:] == rest
    assert len(told) <= 60
    assert not [each for each in line if unicodedata.category(each) in ("Cc", "Cf")]


def test_hidden_characters_and_quotes_in_a_name_are_shown_for_what_they_are() -> None:
    found = report(1)
    found["elements"][0] |= {"name": 'Do\u202eor\x00 \u200b "#9', "tag": "2\u2066-1"}
    found["elements"][0]["changes"][0]["after"] = "x" * 300

    assert report_lines(committed(1), found, IFC)[1] == (
        f"- modified IfcDoor #1 \"Door \\\"#9\" tag 2-1 level Level 2 (Tag: '204034' -> '{'x' * 77}…')"
    )


def test_many_groups_are_told_as_far_as_there_is_room_and_the_rest_counted() -> None:
    found = report(0)
    example = {"id": 7, "name": "thing"}
    found["groups"] = [
        {"category": f"IfcKind{number}", "change": "added", "count": 9, "example": example, "changes": []}
        for number in range(200)
    ]

    lines = report_lines(committed(1800), found, IFC)

    assert lines[1] == '- added 9 x IfcKind0, for example #7 "thing"'
    assert lines[-1] == f"- and {200 - (len(lines) - 2)} more group(s) of changes"


def test_what_could_not_be_resolved_is_counted() -> None:
    text = for_model(committed(3), "", report(1) | {"unresolved": 2}, None, IFC)

    assert "unresolved: 2 changed id(s)" in text


@pytest.mark.parametrize(("category", "notes"), [("IfcProject", 1), ("IfcDoor", 0)])
def test_a_change_of_something_protected_is_noted(category: str, notes: int) -> None:
    found = protected_note(report(1, category), IFC)

    assert len(found) == notes
    assert all(note.startswith("IfcProject changed. Put that back") for note in found)


def test_a_person_is_told_what_state_the_document_is_in() -> None:
    error = ScriptError(type="KeyError", message="'x'", line=4)

    assert summary_line(HostResult(id="c", outcome="failed", error=error), "IFC file") == (
        "The script failed in line 4 with KeyError; it was rolled back, nothing was changed."
    )
    assert summary_line(committed(8), "IFC file") == "Committed: 8 modified, 0 added, 0 deleted."
    assert "can't say whether" in summary_line(HostResult(id="c", outcome="unknown"), "IFC file")


def test_a_chunk_holds_the_first_rows_of_a_report_with_long_values_cut() -> None:
    found = report(60)
    for told in (found["elements"][0], found["groups"][0]):
        told["changes"] = [{"property": "p" * 201, "before": 4.5, "after": "v" * 200}]
    found["elements"][1]["name"] = "n" * 5000
    answer = Answer(committed(60), "", None, found, "/api/results/abc")
    host = Host(id="host_1", owner="ada", token_sha256="")
    call = ToolCall(id="c", name=AUTOMATE, input={}, raw="")

    facts = answered_chunk(call, answer, ok=True, host=host, capability=IFC).metadata

    cut = [{"property": "p" * 199 + "…", "before": 4.5, "after": "v" * 200}]
    assert len(facts["report"]["elements"]) == 50
    assert facts["report"]["elements"][0]["changes"] == facts["report"]["groups"][0]["changes"] == cut
    assert facts["report"]["elements"][1]["name"] == "n" * 199 + "…"
    assert facts["report_url"] == "/api/results/abc"
    assert len(found["elements"][1]["name"]) == 5000
