"""The `tool_result` chunk: what the user is shown of one call. Pure."""

from __future__ import annotations

from typing import Any

from drafthand.answers import Answer
from drafthand.capabilities import Capability
from drafthand.chunks import StreamChunk, metadata
from drafthand.commands import HostResult
from drafthand.digest import line_count
from drafthand.limits import Reached
from drafthand.model import ModelSpec
from drafthand.results import summary_line
from drafthand.session import Progress, Run, Session
from drafthand.store.hosts import Host
from drafthand.tools import AUTOMATE
from drafthand.transcript import ToolCall

HEAD_CHARS = 4000
ROWS_IN_CHUNK = 50
VALUE_CHARS = 200


def script_facts(sha256: str | None) -> dict[str, str | None]:
    return {"script_sha256": sha256, "script_url": f"/api/scripts/{sha256}" if sha256 else None}


def answered_chunk(call: ToolCall, answer: Answer, *, ok: bool, host: Host, capability: Capability) -> StreamChunk:
    """What a host answered. The chunk holds the head of a long output and the first rows of a long report."""
    result, report = answer.result, answer.report
    summary = summary_line(result, capability.title)
    facts = _facts(call, ok=ok, outcome=result.outcome, summary=summary)
    facts |= {
        "changed": result.changed.counts(),
        "report": None if report is None else _head(report),
        "report_url": answer.report_url,
        "lines": line_count(answer.stdout),
        "bytes": len(answer.stdout.encode()),
        "output_url": answer.output_url,
        "output_head": answer.stdout[:HEAD_CHARS],
        "images": [image.model_dump() | {"url": f"/api/results/{image.sha256}"} for image in result.images],
        "error": None if result.error is None else result.error.model_dump(),
        "host": {"id": host.id, "application": host.application},
        "capability_version": capability.version,
        "seconds": result.seconds,
        "notes": result.notes,
    }
    return metadata("tool_result", summary, **facts | script_facts(result.script_sha256))


def _head(report: dict[str, Any]) -> dict[str, Any]:
    """A report's first rows, with long texts cut; the whole of it lies behind `report_url`."""
    head: dict[str, Any] = _cut(report | {"elements": report["elements"][:ROWS_IN_CHUNK]})
    return head


def _cut(value: Any) -> Any:
    """The same with every text in it cut to VALUE_CHARS."""
    match value:
        case str():
            return value if len(value) <= VALUE_CHARS else f"{value[: VALUE_CHARS - 1]}…"
        case dict():
            return {key: _cut(each) for key, each in value.items()}
        case list():
            return [_cut(each) for each in value]
    return value


def started_chunk(run: Run, session: Session, spec: ModelSpec) -> StreamChunk:
    return metadata(
        "run_started",
        f"Working on it with {spec.label}.",
        run_id=run.id,
        session_id=session.id,
        model=spec.id,
        mode=session.mode,
        host_id=run.host_id,
        message=run.message,
        title=session.title,
    )


def reconnected_chunk(run: Run) -> StreamChunk:
    """A process goes on with what another has begun."""
    return metadata("reconnected", "The work goes on.", run_id=run.id)


def handover_chunk(run: Run) -> StreamChunk:
    """A process leaves the run to the next one: the stream ends here, and is to be followed up."""
    return metadata("handover", "Another process takes over.", run_id=run.id)


STATES = {
    "idle": "ready",
    "working": "working",
    "dialog": "still working; perhaps a dialog is open there and waits for an answer",
    "gone": "no sign of life; what it has done is told as soon as it is back",
}


def host_chunk(host: Host, state: str, busy_since: float | None) -> StreamChunk:
    title = host.document["title"] if host.document else "no document"
    return metadata(
        "host",
        f"{title}: {STATES[state]}",
        host_id=host.id,
        online=True,
        application=host.application,
        document=host.document,
        state=state,
        busy_since=busy_since,
    )


def limits_chunk(reached: Reached, progress: Progress) -> StreamChunk:
    facts = {"limit": reached.name, "used": reached.used, "cap": reached.cap, "counters": progress.counters()}
    return metadata("limits", reached.sentence, **facts)


def late_chunk(call_id: str, answer: HostResult) -> StreamChunk:
    """What a command did after its wait had ended."""
    call = ToolCall(id=call_id, name=AUTOMATE, input={}, raw="")
    summary = f"After its wait had ended: {summary_line(answer, 'The host')}"
    facts = _facts(call, ok=answer.outcome == "committed", outcome=answer.outcome, summary=summary)
    facts |= {"changed": answer.changed.counts(), "late": True} | script_facts(answer.script_sha256)
    return metadata("tool_result", summary, **facts)


def refused_chunk(call: ToolCall, reason: str, outcome: str = "refused") -> StreamChunk:
    """The call never reached a host; with outcome `unknown`, nobody can say whether it did."""
    return metadata("tool_result", reason, **_facts(call, ok=False, outcome=outcome, summary=reason))


def _facts(call: ToolCall, *, ok: bool, outcome: str, summary: str) -> dict[str, Any]:
    """Every field the chunk has, with the values of a call that ran nowhere."""
    return {
        "call_id": call.id,
        "tool": call.name,
        "ok": ok,
        "outcome": outcome,
        "summary": summary,
        "changed": {"added": 0, "modified": 0, "deleted": 0},
        "report": None,
        "report_url": None,
        "lines": 0,
        "bytes": 0,
        "output_url": None,
        "output_head": "",
        "images": [],
        "error": None,
        "host": None,
        "capability_version": None,
        "seconds": 0,
        "notes": [],
        "late": False,
    } | script_facts(None)
