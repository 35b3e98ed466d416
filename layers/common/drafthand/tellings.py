"""The `tool_result` chunk: what the user is shown of one call. Pure."""

from __future__ import annotations

from typing import Any

from drafthand.capabilities import Capability
from drafthand.chunks import StreamChunk, metadata
from drafthand.commands import HostResult
from drafthand.results import summary_line
from drafthand.store.hosts import Host
from drafthand.tools import AUTOMATE
from drafthand.transcript import ToolCall

HEAD_CHARS = 4000
ROWS_IN_CHUNK = 50


def script_facts(sha256: str | None) -> dict[str, str | None]:
    return {"script_sha256": sha256, "script_url": f"/api/scripts/{sha256}" if sha256 else None}


def answered_chunk(
    call: ToolCall,
    answer: HostResult,
    *,
    ok: bool,
    stdout: str,
    output_url: str | None,
    report: dict[str, Any] | None,
    host: Host,
    capability: Capability,
) -> StreamChunk:
    """What a host answered. The chunk holds the head of a long output and the first rows of a long report."""
    summary = summary_line(answer, capability.title)
    facts = _facts(call, ok=ok, outcome=answer.outcome, summary=summary)
    facts |= {
        "changed": answer.changed.counts(),
        "report": None if report is None else report | {"elements": report["elements"][:ROWS_IN_CHUNK]},
        "lines": len(stdout.splitlines()),
        "bytes": len(stdout.encode()),
        "output_url": output_url,
        "output_head": stdout[:HEAD_CHARS],
        "images": [image.model_dump() | {"url": f"/api/results/{image.sha256}"} for image in answer.images],
        "error": None if answer.error is None else answer.error.model_dump(),
        "host": {"id": host.id, "application": host.application},
        "capability_version": capability.version,
        "seconds": answer.seconds,
        "notes": answer.notes,
    }
    return metadata("tool_result", summary, **facts | script_facts(answer.script_sha256))


def late_chunk(call_id: str, answer: HostResult) -> StreamChunk:
    """What a command did after its wait had ended."""
    call = ToolCall(id=call_id, name=AUTOMATE, input={}, raw="")
    summary = f"After it was stopped: {summary_line(answer, 'The host')}"
    facts = _facts(call, ok=answer.outcome == "committed", outcome=answer.outcome, summary=summary)
    facts |= {"changed": answer.changed.counts(), "late": True} | script_facts(answer.script_sha256)
    return metadata("tool_result", summary, **facts)


def refused_chunk(call: ToolCall, reason: str) -> StreamChunk:
    """The call never reached a host."""
    return metadata("tool_result", reason, **_facts(call, ok=False, outcome="refused", summary=reason))


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
