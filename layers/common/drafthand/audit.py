"""The audit line of a call: who had which bytes run where, and what became of it. Pure.

A line is written in the same transaction as the step of the rendezvous that it records, so there is no dispatched
script without one. Scripts and epilogues lie in the store under the hashes that a line names.
"""

from __future__ import annotations

from typing import Any

from drafthand import prompts
from drafthand.capabilities import CAPABILITIES
from drafthand.commands import Command, HostResult

PREFIX = "AUDIT#"


def key(created_at: float, call_id: str) -> str:
    """The sort key; lines are in the order of their dispatch."""
    return f"{PREFIX}{created_at:017.3f}#{call_id}"


def dispatched(
    command: Command, owner: str, host_id: str, application: dict[str, str], document: dict[str, str] | None, at: float
) -> dict[str, Any]:
    """The line when the command is handed to the host. `document` is the host's as it was last told."""
    epilogue = command.epilogue
    capability = CAPABILITIES.get(application.get("name", ""))
    return {
        "dispatched_at": at,
        "owner": owner,
        "session": command.session,
        "run": command.run,
        "call": command.id,
        "mode": command.mode,
        "host": host_id,
        "application": application,
        "capability_version": capability.version if capability else None,
        "prompt_version": prompts.VERSION,
        "script_sha256": command.script_sha256,
        "epilogue_sha256": epilogue.sha256 if epilogue else None,
        "document_before": document,
        "document_after": None,
        "outcome": None,
        "ran_sha256": None,
        "changed": None,
        "error": None,
        "late": False,
        "ended_at": None,
        "seconds": None,
    }


def answered(result: HostResult, at: float, *, late: bool) -> dict[str, Any]:
    """What an answer sets. `ran_sha256` is the host's own hash of the bytes it ran."""
    return {
        "outcome": result.outcome,
        "ran_sha256": result.script_sha256,
        "document_after": result.document.model_dump() if result.document else None,
        "changed": result.changed.counts(),
        "error": result.error.type if result.error else None,
        "late": late,
        "ended_at": at,
        "seconds": result.seconds,
    }


def ended(outcome: str, at: float) -> dict[str, Any]:
    """What a wait sets that ended without an answer: `outcome` is cancelled or expired until a late answer tells."""
    return {"outcome": outcome, "ended_at": at}
