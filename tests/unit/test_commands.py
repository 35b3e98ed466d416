import pytest
from drafthand.commands import Blob, HostResult, Report
from pydantic import ValidationError

BLOB = {"sha256": "a" * 64, "bytes": 200_000, "media_type": "application/json"}


def test_a_large_report_and_output_are_known_as_uploads() -> None:
    result = HostResult.model_validate({"id": "c", "outcome": "committed", "report": BLOB, "stdout": BLOB})

    assert result.report == Blob(**BLOB)
    assert result.stdout == Blob(**BLOB)


def test_a_small_report_is_inline() -> None:
    assert HostResult(id="c", outcome="committed", report={"elements": []}).report == {"elements": []}


@pytest.mark.parametrize("report", [{}, {"elements": None}, {"counts": {}, "elements": [{}], "groups": []}])
def test_what_is_no_report_is_not_taken_for_one(report: dict[str, object]) -> None:
    with pytest.raises(ValidationError):
        Report.model_validate(report)
