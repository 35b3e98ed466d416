"""One tool call: check it, merge its edits, store the script, dispatch, wait, and tell both audiences what happened."""

from __future__ import annotations

import asyncio
import json
import logging
from collections.abc import AsyncIterator
from dataclasses import dataclass
from typing import Any, Literal

from pydantic import ValidationError

from drafthand import rendezvous
from drafthand.capabilities import CAPABILITIES, Capability
from drafthand.chunks import ChunkType, StreamChunk, metadata
from drafthand.commands import Blob, Command, DocumentPin, Epilogue, HostResult, Report, ViewRequest
from drafthand.conversation import Conversation
from drafthand.edits import BadEdit, apply_edits
from drafthand.ids import now
from drafthand.loop import Progress
from drafthand.results import for_model
from drafthand.session import Run, Session
from drafthand.store import Store
from drafthand.store.hosts import Host
from drafthand.store.scripts import SCRIPT_MAX_BYTES
from drafthand.tellings import answered_chunk, refused_chunk, script_facts
from drafthand.threads import settled
from drafthand.tools import BadToolInput, CaptureView, DataCollection, TaskAutomation, ToolInput, View, parse_call
from drafthand.transcript import ImageRef, ToolCall, ToolResult

logger = logging.getLogger(__name__)

PICTURE_PX = (1600, 1200)
"""Width and height asked of a host; each model then sees it at its own ceiling."""
SLOT_WAIT_S = 60.0


class NotRun(Exception):
    """The call ends without a host's answer; the text tells the model why and what it may do."""


@dataclass(frozen=True)
class CloudHand:
    """The loop's hand: executes calls on the host of the session."""

    conversation: Conversation
    run: Run

    def execute(self, call: ToolCall, progress: Progress) -> CloudExecution:
        return CloudExecution(self.conversation, self.run, call, progress)


class CloudExecution:
    """Iterate for the chunks; `result` is set when the iterator has ended."""

    result: ToolResult

    def __init__(self, conversation: Conversation, run: Run, call: ToolCall, progress: Progress) -> None:
        self.conversation = conversation
        self.store = conversation.store
        self.run = run
        self.call = call
        self.progress = progress

    async def __aiter__(self) -> AsyncIterator[StreamChunk]:
        try:
            value = parse_call(self.call.name, self.call.input)
            script = await asyncio.to_thread(script_of, self.store, self.conversation.session, value)
            sha256 = None if script is None else await asyncio.to_thread(self._keep, script)
            facts = {"call_id": self.call.id, "tool": self.call.name} | script_facts(sha256)
            content = value.model_dump_json(exclude_none=True)
            yield StreamChunk(type=ChunkType.TOOL_CALL, content=content, metadata=facts)
            host = await self._host(value)
            capability = self._capability(host)
            await self._count(value, host, sha256)
            async for chunk in self._rendezvous(self._command(value, host, capability, script, sha256), host):
                yield chunk
            answer = await asyncio.to_thread(self._answer, capability)
            yield await self._tell(answer, host, capability, script)
        except (BadToolInput, BadEdit, NotRun) as refusal:
            text = f"outcome: refused\n{refusal}"
            self.result = ToolResult(call_id=self.call.id, ok=False, text=text)
            yield refused_chunk(self.call, str(refusal))

    def _keep(self, script: str) -> str:
        """Store the script before anything is done with it; its sha256."""
        size = len(script.encode())
        if size > SCRIPT_MAX_BYTES:
            raise BadToolInput(f"code has {size:,} bytes, at most {SCRIPT_MAX_BYTES:,} are taken. Shorten it.")
        return self.store.scripts.put(self.run.owner, script)

    async def _host(self, value: ToolInput) -> Host:
        session = self.conversation.session
        if session.mode == "read_only" and isinstance(value, TaskAutomation):
            raise NotRun("This session is read-only: the user allows looking, not changing. Say what you would change.")
        host = await asyncio.to_thread(pick_host, self.store, session)
        if host is None:
            raise NotRun("No host is online: no desktop application is connected. Ask the user to start one.")
        return host

    def _capability(self, host: Host) -> Capability:
        name = host.application.get("name", "")
        if name not in CAPABILITIES:
            raise NotRun(f"The connected application {name!r} is not one this server can work with.")
        return CAPABILITIES[name]

    async def _count(self, value: ToolInput, host: Host, sha256: str | None) -> None:
        """Keep what the transcript can't hold. A script that doesn't come back counts as failed."""
        session = self.conversation.session
        changes: dict[str, Any] = {"host_id": host.id, "last_tool": self.call.name}
        if isinstance(value, TaskAutomation):
            changes |= {"script_sha256": sha256, "last_automation": "failed"}
            if session.last_automation == "committed":
                changes["iteration"] = session.iteration + 1
            elif session.last_automation == "failed":
                changes["fix"] = session.fix + 1
        self.progress.counters.scripts += sha256 is not None
        await self.conversation.update(**changes)

    def _command(
        self, value: ToolInput, host: Host, capability: Capability, script: str | None, sha256: str | None
    ) -> Command:
        session = self.conversation.session
        mode: Literal["read", "commit", "view"] = "read" if isinstance(value, DataCollection) else "view"
        epilogue = None
        if isinstance(value, TaskAutomation):
            mode = "commit"
            code, digest = capability.build_task_automation_epilogue()
            epilogue = Epilogue(host=capability.host_app, version=capability.version, code=code, sha256=digest)
        return Command(
            id=self.call.id,
            run=self.run.id,
            session=session.id,
            mode=mode,
            script=script,
            script_sha256=sha256,
            epilogue=epilogue,
            view=view_request(value),
            document=DocumentPin(id=session.document_id) if session.document_id else None,
        )

    async def _rendezvous(self, command: Command, host: Host) -> AsyncIterator[StreamChunk]:
        """Dispatch and wait, to the end of the call."""
        since = now()
        # Recorded first: a Stop in between finds the call that it must withdraw.
        await settled(self.store.sessions.set_call, self.run, command.id)
        while True:
            try:
                call = await settled(rendezvous.dispatch, self.store, command, self.run.owner, host.id)
                break
            except rendezvous.SlotTaken:
                if now() - since > SLOT_WAIT_S:
                    raise NotRun("The host is still busy with another command. Try again later.") from None
                facts = {"call_id": command.id, "since": since, "timeout_s": SLOT_WAIT_S}
                yield metadata("waiting", "The host is busy with another command.", reason="slot", **facts)
                await asyncio.sleep(1)
        async for seen in rendezvous.watch(self.store, call):
            if seen.status == "claimed":
                yield host_chunk(host, "working", seen.claimed_at)

    def _answer(self, capability: Capability) -> HostResult:
        call = rendezvous.read_call(self.store, self.run.session_id, self.call.id)
        if call is None or call.status != "answered":
            raise NotRun(
                f"{capability.title} gave no answer in time. It is not known whether the script ran. Do not run it "
                "again: look at the document first."
            )
        return rendezvous.read_result(self.store, call)

    async def _tell(self, answer: HostResult, host: Host, capability: Capability, script: str | None) -> StreamChunk:
        """Set the result for the model; the chunk for the user."""
        answer = await asyncio.to_thread(self._without_missing, answer)
        stdout, output_url = await asyncio.to_thread(self._stdout, answer)
        report = await asyncio.to_thread(self._report, answer)
        changes: dict[str, Any] = {}
        if answer.document is not None and self.conversation.session.document_id is None:
            changes["document_id"] = answer.document.id
        if answer.outcome == "committed":
            changes["last_automation"] = "committed"
            for change, count in answer.changed.counts().items():
                self.progress.changed[change] += count
        if changes:
            await self.conversation.update(**changes)
        ok = answer.outcome in ("committed", "previewed") or (answer.outcome == "rolled_back" and answer.error is None)
        images = tuple(ImageRef(**image.model_dump(include=set(ImageRef.model_fields))) for image in answer.images)
        text = for_model(answer, stdout, report, script)
        self.result = ToolResult(call_id=self.call.id, ok=ok, text=text, images=images)
        return answered_chunk(
            self.call,
            answer,
            ok=ok,
            stdout=stdout,
            output_url=output_url,
            report=report,
            host=host,
            capability=capability,
        )

    def _stdout(self, answer: HostResult) -> tuple[str, str | None]:
        """The whole output, and the URL under which the user gets its exact bytes."""
        if isinstance(answer.stdout, Blob):
            return self._fetch(answer.stdout).decode(errors="replace"), f"/api/results/{answer.stdout.sha256}"
        if not answer.stdout:
            return "", None
        sha256 = self.store.blobs.put(self.run.owner, answer.stdout.encode(), "text/plain; charset=utf-8")
        return answer.stdout, f"/api/results/{sha256}"

    def _report(self, answer: HostResult) -> dict[str, Any] | None:
        """The report, where it is one: a host may answer with anything."""
        report = json.loads(self._fetch(answer.report)) if isinstance(answer.report, Blob) else answer.report
        try:
            return None if report is None else Report.model_validate(report).model_dump()
        except ValidationError as error:
            logger.warning("call %s: the report is not one: %s", answer.id, error)
            return None

    def _without_missing(self, answer: HostResult) -> HostResult:
        """The answer without what was named as uploaded but never came, and notes that say so."""
        owner, notes = self.run.owner, list(answer.notes)
        changes: dict[str, Any] = {}
        for name in ("stdout", "report"):
            blob = getattr(answer, name)
            if isinstance(blob, Blob) and self.store.blobs.head(owner, blob.sha256) is None:
                changes[name] = "" if name == "stdout" else None
                notes.append(f"The {name} was never uploaded.")
        images = [image for image in answer.images if self.store.blobs.head(owner, image.sha256) is not None]
        if len(images) < len(answer.images):
            notes.append("A picture was never uploaded.")
        return answer.model_copy(update=changes | {"images": images, "notes": notes})

    def _fetch(self, blob: Blob) -> bytes:
        data = self.store.blobs.get(self.run.owner, blob.sha256)
        if data is None:
            raise LookupError(f"{blob.sha256} is not in the bucket")
        return data


def script_of(store: Store, session: Session, value: ToolInput) -> str | None:
    """The script that a call runs: its code, or the held script with its edits; None for a call that runs none.

    Raises:
        BadEdit: there is no held script, or it lacks a line.
    """
    if isinstance(value, CaptureView):
        return None
    if isinstance(value, DataCollection) or value.code is not None:
        return value.code
    if session.script_sha256 is None:
        raise BadEdit("No script is held yet, so there is nothing to edit. Send the whole script as code.")
    held = store.scripts.get(session.owner, session.script_sha256)
    if held is None:
        raise LookupError(f"the held script {session.script_sha256} is not in the store")
    return apply_edits(held, value.edits or [])


def pick_host(store: Store, session: Session) -> Host | None:
    """The session's host if it is online; for a session without one, the owner's host heard last; None if none is."""
    at = now()
    if session.host_id is not None:
        hosts = [store.hosts.get(session.owner, session.host_id)]
    else:
        hosts = list(store.hosts.of_owner(session.owner))
    return max((host for host in hosts if host.online(at)), key=lambda host: host.last_seen_at, default=None)


def host_chunk(host: Host, state: str, busy_since: float | None) -> StreamChunk:
    title = host.document["title"] if host.document else "no document"
    return metadata(
        "host",
        f"{title}: {state}",
        host_id=host.id,
        online=True,
        application=host.application,
        document=host.document,
        state=state,
        busy_since=busy_since,
    )


def view_request(value: ToolInput) -> ViewRequest | None:
    """The picture a call takes: the one it names, else for an automation a 3D view where geometry changed."""
    width, height = PICTURE_PX
    if isinstance(value, DataCollection):
        return None
    if value.view is None:
        return ViewRequest(kind="3d", width=width, height=height, when="geometry")
    view: View = value.view
    highlight: Any = value.highlight if isinstance(value, CaptureView) else "changed"
    return ViewRequest(kind=view.kind, storey=view.storey, highlight=highlight, width=width, height=height)
