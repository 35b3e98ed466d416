"""What the transcript can't hold: who, on which host, with which script in hand, and how much of the limits is used."""

from __future__ import annotations

from enum import StrEnum
from typing import Literal

from pydantic import BaseModel, ConfigDict, Field

from drafthand.chunks import Usage
from drafthand.tools import AUTOMATE

Mode = Literal["auto", "read_only"]
RunState = Literal["running", "complete", "error"]


LEASE_S = 30.0
"""How long a session belongs to a process that doesn't renew its lease: it may have died."""
RENEW_EVERY_S = 5.0


class Phase(StrEnum):
    """Where a run stands, told from session state alone before each turn."""

    INITIAL = "Initial"
    POST_DATA_COLLECTION = "PostDataCollection"
    EDIT = "Edit"
    VERIFY = "Verify"
    SUMMARY = "Summary"


class Limits(BaseModel):
    """What one run may use before it has to come to an honest end.

    `fix` caps the automations that follow a failed one, `iteration` those that follow a committed one. `cost_usd`
    counts only where the model's prices are known; None is no limit.
    """

    model_config = ConfigDict(frozen=True, extra="forbid")

    fix: int = Field(default=5, ge=0, le=100)
    iteration: int = Field(default=8, ge=0, le=100)
    turns: int = Field(default=60, ge=1, le=1000)
    seconds: float = Field(default=3600.0, gt=0, le=7 * 24 * 3600)
    cost_usd: float | None = Field(default=10.0, gt=0, le=100_000)


class Progress(BaseModel):
    """What the newest run of a session has used and done; each message starts it afresh.

    `fix` and `iteration` count against the limits of those names; `limit` names the one that was reached.
    """

    model_config = ConfigDict(frozen=True)

    started_at: float = 0.0
    turns: int = 0
    scripts: int = 0
    fix: int = 0
    iteration: int = 0
    last_tool: str | None = None
    last_automation: Literal["committed", "failed"] | None = None
    changed: dict[str, int] = Field(default_factory=lambda: {"added": 0, "modified": 0, "deleted": 0})
    usage: Usage = Usage()
    limit: str | None = None
    limit_turn: int = 0
    """The turn in which the limit was reached."""

    def counters(self) -> dict[str, int]:
        return self.model_dump(include={"turns", "scripts", "fix", "iteration"})

    def phase(self) -> Phase:
        if self.limit is not None:
            return Phase.SUMMARY
        if self.last_tool is None:
            return Phase.INITIAL
        if self.last_tool == AUTOMATE and self.last_automation == "committed":
            return Phase.VERIFY
        return Phase.EDIT if self.last_automation else Phase.POST_DATA_COLLECTION

    def after_turn(self, usage: Usage) -> Progress:
        return self.model_copy(update={"turns": self.turns + 1, "usage": self.usage + usage})

    def before_call(self, tool: str, *, runs_script: bool) -> Progress:
        """A call is about to be dispatched. An automation that doesn't come back counts as failed."""
        changes: dict[str, object] = {"last_tool": tool, "scripts": self.scripts + runs_script}
        if tool == AUTOMATE:
            changes["last_automation"] = "failed"
            if self.last_automation == "committed":
                changes["iteration"] = self.iteration + 1
            elif self.last_automation == "failed":
                changes["fix"] = self.fix + 1
        return self.model_copy(update=changes)

    def after_commit(self, counts: dict[str, int]) -> Progress:
        return self.also_changed(counts).model_copy(update={"last_automation": "committed"})

    def also_changed(self, counts: dict[str, int]) -> Progress:
        changed = {change: count + counts[change] for change, count in self.changed.items()}
        return self.model_copy(update={"changed": changed})

    def at_limit(self, name: str) -> Progress:
        return self if self.limit else self.model_copy(update={"limit": name, "limit_turn": self.turns})


class Session(BaseModel):
    """One conversation with one document on one host. Times are Unix seconds."""

    id: str
    owner: str
    title: str
    model: str
    host_id: str | None
    mode: Mode = "auto"
    created_at: float
    updated_at: float
    active_run: str | None = None
    fence: int = 0
    """Grows with every process that takes the session: what an earlier one still writes is refused."""
    lease_until: float = 0.0
    messages: int = 0
    document_id: str | None = None
    script_sha256: str | None = None
    context_tokens: int = 0
    """What the transcript was for its model at the end of the last turn; 0 where nobody has counted."""
    limits: Limits = Limits()
    progress: Progress = Progress()


class Run(BaseModel):
    """One user message being worked on."""

    model_config = ConfigDict(frozen=True)

    id: str
    session_id: str
    owner: str
    model: str
    host_id: str | None
    message: str
    late: tuple[str, ...] = ()
    """Calls whose answers came after an earlier run had ended, and are told in this one."""
    state: RunState
    started_at: float
    cancelled: bool = False
    call_id: str | None = None
    stuck: int = 0
    """Hand-overs in a row without a new message in the transcript, which had `stuck_at` then."""
    stuck_at: int = 0
