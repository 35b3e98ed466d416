import json

import pytest
from drafthand.tools import AUTOMATE, CAPTURE, COLLECT, TOOLS, BadToolInput, TaskAutomation, parse_call


def test_there_are_three_tools_and_their_schemas_stand_alone() -> None:
    assert [tool.name for tool in TOOLS] == [COLLECT, AUTOMATE, CAPTURE]
    for tool in TOOLS:
        text = json.dumps(tool.schema)
        assert tool.schema["type"] == "object"
        assert "$ref" not in text
        assert '"title": "' not in text


def test_edits_instead_of_code_are_taken() -> None:
    value = parse_call(
        AUTOMATE, {"edits": [{"start_line": 3, "end_line": 3, "replacement": "x"}], "summary": "mend line 3"}
    )

    assert isinstance(value, TaskAutomation)
    assert value.edits is not None
    assert value.edits[0].start_line == 3


@pytest.mark.parametrize(
    ("name", "value", "told"),
    [
        pytest.param("delete_everything", {}, "no tool 'delete_everything'", id="unknown tool"),
        pytest.param(COLLECT, None, "not a JSON object", id="no object"),
        pytest.param(COLLECT, {"code": "print(1)"}, "purpose", id="missing field"),
        pytest.param(COLLECT, {"code": "", "purpose": "x"}, "code", id="empty code"),
        pytest.param(COLLECT, {"code": "1", "purpose": "x", "mode": "write"}, "mode", id="unknown field"),
        pytest.param(AUTOMATE, {"summary": "x"}, "either code or edits", id="neither code nor edits"),
        pytest.param(AUTOMATE, {"code": "1", "edits": [], "summary": "x"}, "either code or edits", id="both"),
        pytest.param(AUTOMATE, {"code": " \n", "summary": "x"}, "code is empty", id="blank code"),
        pytest.param(
            AUTOMATE,
            {"edits": [{"start_line": 5, "end_line": 2, "replacement": ""}], "summary": "x"},
            "end_line 2 lies before start_line 5",
            id="range upside down",
        ),
        pytest.param(CAPTURE, {"view": {"kind": "plan"}}, "a plan needs the name of a storey", id="plan of nothing"),
    ],
)
def test_a_wrong_call_is_told_what_to_mend(name: str, value: dict[str, object] | None, told: str) -> None:
    with pytest.raises(BadToolInput, match=told):
        parse_call(name, value)
