from typing import Any

from drafthand.commands import Changed, HostResult, ScriptError
from drafthand.results import STDOUT_FOR_MODEL, capped, for_model, summary_line


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
    groups = [{"category": category, "change": "modified", "count": rows, "example": example}]
    return {"elements": elements, "groups": groups, "unresolved": 0}


def committed(count: int) -> HostResult:
    return HostResult(id="c", outcome="committed", changed=Changed(modified=list(range(1, count + 1))))


def test_up_to_fifteen_elements_are_named_one_by_one() -> None:
    text = for_model(committed(15), "", report(15), None)

    assert text.startswith("outcome: committed\n")
    assert "changed: 15 modified, 0 added, 0 deleted" in text
    assert "- modified IfcDoor #15 \"Door 15\" tag 2-15 level Level 2 (Tag: '204034' -> '2-15')" in text


def test_above_fifteen_groups_are_counted_with_an_example() -> None:
    text = for_model(committed(4000), "", report(4000), None)

    assert '- modified 4000 x IfcDoor, for example #1 "Door 1"' in text
    assert "Door 2" not in text
    assert len(text) < 300


def test_a_commit_that_changed_nothing_says_so() -> None:
    assert "0 element(s) changed." in for_model(committed(0), "", report(0), None)


def test_a_failed_script_is_shown_about_the_line_at_fault() -> None:
    script = "".join(f"step_{number}()\n" for number in range(1, 41))
    error = ScriptError(type="TypeError", message="got an unexpected keyword 'attribute'", line=23)
    result = HostResult(id="c", outcome="failed", error=error)

    text = for_model(result, "before\n", None, script)

    assert "error: TypeError: got an unexpected keyword 'attribute' (line 23)" in text
    assert "nothing was changed" in text
    assert "23 | step_23()" in text
    assert "step_9()" not in text
    assert "stdout:\nbefore" in text
    assert "changed:" not in text


def test_a_long_output_keeps_head_and_tail_and_tells_the_true_totals() -> None:
    text = "".join(f"row {number}\n" for number in range(60_112))

    short = capped(text)

    assert len(short) < STDOUT_FOR_MODEL + 200
    assert short.startswith("row 0\n")
    assert short.endswith("row 60111\n")
    assert f"{len(text):,} characters in 60,113 lines in all" in short


def test_a_person_is_told_what_state_the_document_is_in() -> None:
    error = ScriptError(type="KeyError", message="'x'", line=4)

    assert summary_line(HostResult(id="c", outcome="failed", error=error), "IFC file") == (
        "The script failed in line 4 with KeyError; it was rolled back, nothing was changed."
    )
    assert summary_line(committed(8), "IFC file") == "Committed: 8 modified, 0 added, 0 deleted."
    assert "can't say whether" in summary_line(HostResult(id="c", outcome="unknown"), "IFC file")
