"""What a host is told to do for one tool call. Pure."""

from __future__ import annotations

from typing import Any, Literal

from drafthand.capabilities import Capability
from drafthand.commands import Command, DocumentPin, Epilogue, ViewRequest
from drafthand.held import Script
from drafthand.session import Run, Session
from drafthand.tools import CaptureView, DataCollection, TaskAutomation, ToolInput


def command_of(
    call_id: str,
    value: ToolInput,
    run: Run,
    session: Session,
    capability: Capability,
    script: Script | None,
) -> Command:
    """The command of one call; an automation carries the epilogue that reports on it."""
    mode: Literal["read", "commit", "view"] = "read" if isinstance(value, DataCollection) else "view"
    epilogue = None
    if isinstance(value, TaskAutomation):
        mode = "commit"
        code, digest = capability.build_task_automation_epilogue()
        epilogue = Epilogue(
            host=capability.host_app,
            version=capability.version,
            code=code,
            sha256=digest,
            prepare=capability.prepares,
        )
    return Command(
        id=call_id,
        run=run.id,
        session=session.id,
        mode=mode,
        script=script.text if script else None,
        script_sha256=script.sha256 if script else None,
        epilogue=epilogue,
        view=view_request(value, capability),
        document=DocumentPin(id=session.document_id) if session.document_id else None,
    )


def view_request(value: ToolInput, capability: Capability) -> ViewRequest | None:
    """The picture a call takes: the one it names, else for an automation a 3D view where geometry changed."""
    width, height = capability.picture_px
    if isinstance(value, DataCollection):
        return None
    if value.view is None:
        return ViewRequest(kind="3d", width=width, height=height, when="geometry")
    highlight: Any = value.highlight if isinstance(value, CaptureView) else "changed"
    return ViewRequest(kind=value.view.kind, storey=value.view.storey, highlight=highlight, width=width, height=height)
