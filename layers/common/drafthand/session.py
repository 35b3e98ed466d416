"""What the transcript can't hold: who, on which host, with which script in hand."""

from __future__ import annotations

from enum import StrEnum
from typing import Literal

from pydantic import BaseModel, ConfigDict

from drafthand.tools import AUTOMATE

Mode = Literal["auto", "read_only"]
RunState = Literal["running", "complete", "error"]


BEAT_EVERY_S = 5.0
DEAD_AFTER_S = 30.0


class Phase(StrEnum):
    """Where a run stands, told from session state alone before each turn."""

    INITIAL = "Initial"
    POST_DATA_COLLECTION = "PostDataCollection"
    EDIT = "Edit"
    VERIFY = "Verify"


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
    messages: int = 0
    document_id: str | None = None
    script_sha256: str | None = None
    fix: int = 0
    """Automations of this run that followed a failed one."""
    iteration: int = 0
    """Automations of this run that followed a committed one."""
    last_tool: str | None = None
    last_automation: Literal["committed", "failed"] | None = None

    def phase(self) -> Phase:
        if self.last_tool is None:
            return Phase.INITIAL
        if self.last_tool == AUTOMATE and self.last_automation == "committed":
            return Phase.VERIFY
        return Phase.EDIT if self.last_automation else Phase.POST_DATA_COLLECTION


class Run(BaseModel):
    """One user message being worked on."""

    model_config = ConfigDict(frozen=True)

    id: str
    session_id: str
    owner: str
    model: str
    host_id: str | None
    state: RunState
    started_at: float
    cancelled: bool = False
    call_id: str | None = None
    beat_at: float
    """When the process that works on it last said so."""

    def is_dead(self, at: float) -> bool:
        """Nobody works on it any more: its process has gone without an end."""
        return self.state == "running" and at - self.beat_at > DEAD_AFTER_S
