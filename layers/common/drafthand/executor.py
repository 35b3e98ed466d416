"""One tool call: check it, merge its edits, store the script, dispatch, wait, and tell both audiences what happened."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Callable
from dataclasses import dataclass

from drafthand import answers, limits, rendezvous
from drafthand.capabilities import CAPABILITIES, Capability
from drafthand.chunks import ChunkType, StreamChunk, Usage, metadata
from drafthand.commands import Command, HostResult
from drafthand.conversation import Conversation
from drafthand.edits import BadEdit
from drafthand.held import Script, script_of
from drafthand.ids import now
from drafthand.late import late_text
from drafthand.orders import command_of
from drafthand.results import for_model, protected_note
from drafthand.session import Progress, Run
from drafthand.store.hosts import Host
from drafthand.store.scripts import SCRIPT_MAX_BYTES
from drafthand.store.sessions import fence_of
from drafthand.tellings import answered_chunk, host_chunk, late_chunk, limits_chunk, refused_chunk, script_facts
from drafthand.threads import settled
from drafthand.tools import AUTOMATE, BadToolInput, TaskAutomation, ToolInput, parse_call
from drafthand.transcript import ImageRef, ToolCall, ToolResult

SLOT_WAIT_S = 60.0

Cost = Callable[[Usage], float | None]


class NotRun(Exception):
    """The call ends without a host's answer; the text tells the model why and what it may do."""

    def __init__(self, message: str, outcome: str = "refused") -> None:
        super().__init__(message)
        self.outcome = outcome


class LimitReached(NotRun):
    def __init__(self, reached: limits.Reached) -> None:
        super().__init__(reached.for_model)
        self.reached = reached


@dataclass(frozen=True)
class CloudHand:
    """The loop's hand: executes calls on the host of the session. `cost_usd` prices what the run has used."""

    conversation: Conversation
    run: Run
    cost_usd: Cost

    def execute(self, call: ToolCall) -> CloudExecution:
        return CloudExecution(self.conversation, self.run, self.cost_usd, call)


class CloudExecution:
    """Iterate for the chunks; `result` is set when the iterator has ended."""

    result: ToolResult

    def __init__(self, conversation: Conversation, run: Run, cost_usd: Cost, call: ToolCall) -> None:
        self.conversation = conversation
        self.store = conversation.store
        self.run = run
        self.cost_usd = cost_usd
        self.call = call
        self.late: list[str] = []

    async def __aiter__(self) -> AsyncIterator[StreamChunk]:
        # A call that an earlier process has dispatched is waited for, never dispatched again.
        sent = await asyncio.to_thread(rendezvous.read_call, self.store, self.run.session_id, self.call.id)
        try:
            if sent is None:
                self._check_limits()
            value = parse_call(self.call.name, self.call.input)
            script = await asyncio.to_thread(script_of, self.store, self.conversation.session, value)
            if script is not None:
                await asyncio.to_thread(self._keep, script.text)
            if sent is None:
                yield self._announcement(value, script)
            host = await self._host(value, sent)
            capability = self._capability(host)
            command = command_of(self.call.id, value, self.run, self.conversation.session, capability, script)
            await self._keep_epilogue(command)
            async for chunk in self._rendezvous(command, host, sent):
                yield chunk
            self._count(host, command)
            for late, result in await asyncio.to_thread(self._take_late):
                yield late_chunk(late.id, result)
            yield await self._tell(await asyncio.to_thread(self._answer, capability), host, capability, script)
        except LimitReached as stop:
            self._refuse(str(stop))
            progress = self.conversation.session.progress
            if progress.limit is None:
                yield limits_chunk(stop.reached, progress)
            self.conversation.stage(progress=progress.at_limit(stop.reached.name))
            yield refused_chunk(self.call, stop.reached.sentence)
        except NotRun as refusal:
            self._refuse(str(refusal), refusal.outcome)
            yield refused_chunk(self.call, str(refusal), refusal.outcome)
        except (BadToolInput, BadEdit) as refusal:
            self._refuse(str(refusal))
            yield refused_chunk(self.call, str(refusal))

    def _refuse(self, reason: str, outcome: str = "refused") -> None:
        text = "\n".join([*self.late, f"outcome: {outcome}", reason])
        self.result = ToolResult(call_id=self.call.id, ok=False, text=text)

    def _check_limits(self) -> None:
        session = self.conversation.session
        cost_usd = self.cost_usd(session.progress.usage)
        if found := limits.reached(session.limits, session.progress, self.call.name, cost_usd, now()):
            raise LimitReached(found)

    def _keep(self, text: str) -> None:
        """Store the script before anything is done with it."""
        size = len(text.encode())
        if size > SCRIPT_MAX_BYTES:
            raise BadToolInput(f"code has {size:,} bytes, at most {SCRIPT_MAX_BYTES:,} are taken. Shorten it.")
        self.store.scripts.put(self.run.owner, text)

    def _announcement(self, value: ToolInput, script: Script | None) -> StreamChunk:
        facts = script_facts(script.sha256 if script else None)
        facts |= {"call_id": self.call.id, "tool": self.call.name, "diff": script.diff if script else ""}
        return StreamChunk(type=ChunkType.TOOL_CALL, content=value.model_dump_json(exclude_none=True), metadata=facts)

    async def _host(self, value: ToolInput, sent: rendezvous.Call | None) -> Host:
        session = self.conversation.session
        if sent is not None:
            return await asyncio.to_thread(self.store.hosts.get, session.owner, sent.host_id)
        if session.mode == "read_only" and isinstance(value, TaskAutomation):
            raise NotRun("This session is read-only: the user allows looking, not changing. Say what you would change.")
        host = await asyncio.to_thread(self.store.hosts.pick, session.owner, session.host_id)
        if host is None:
            raise NotRun("No host is online: no desktop application is connected. Ask the user to start one.")
        return host

    def _capability(self, host: Host) -> Capability:
        name = host.application.get("name", "")
        if name not in CAPABILITIES:
            raise NotRun(f"The connected application {name!r} is not one this server can work with.")
        return CAPABILITIES[name]

    async def _keep_epilogue(self, command: Command) -> None:
        """Store its bytes before the command goes out."""
        if command.epilogue is not None:
            await asyncio.to_thread(self.store.scripts.put, self.run.owner, command.epilogue.code)

    def _count(self, host: Host, command: Command) -> None:
        """Keep what the transcript can't hold of a command that was dispatched."""
        progress = self.conversation.session.progress
        progress = progress.before_call(self.call.name, runs_script=command.script is not None)
        held = {"script_sha256": command.script_sha256} if self.call.name == AUTOMATE else {}
        self.conversation.stage(host_id=host.id, progress=progress, **held)

    async def _rendezvous(
        self, command: Command, host: Host, sent: rendezvous.Call | None
    ) -> AsyncIterator[StreamChunk]:
        """Dispatch where that is still to do, and wait to the end of the call."""
        since, fence = now(), fence_of(self.conversation.session)
        # Recorded first: a Stop in between finds the call that it must withdraw.
        await settled(self.store.sessions.set_call, self.run, command.id)
        while sent is None:
            try:
                sent = await settled(rendezvous.dispatch, self.store, command, host, fence)
            except rendezvous.SlotTaken:
                if now() - since > SLOT_WAIT_S:
                    raise NotRun("The host is still busy with another command. Try again later.") from None
                facts = {"call_id": command.id, "since": since, "timeout_s": SLOT_WAIT_S}
                yield metadata("waiting", "The host is busy with another command.", reason="slot", **facts)
                await asyncio.sleep(1)
        async for seen, state in rendezvous.watch(self.store, sent):
            yield host_chunk(host, state, seen.claimed_at)

    def _take_late(self) -> list[tuple[rendezvous.Call, HostResult]]:
        """Earlier calls of this session that came back meanwhile: a host delivers them before it takes another."""
        late = rendezvous.late_answers(self.store, self.run.session_id)
        self.conversation.stage_writes(*rendezvous.told(late))
        others = [(call, result) for call, result in late if call.id != self.call.id]  # this one is told as its own
        self.late = [late_text(self.store, *each) for each in others]
        for _, result in others:
            if result.outcome == "committed":
                progress = self.conversation.session.progress
                self.conversation.stage(progress=progress.also_changed(result.changed.counts()))
        return others

    def _answer(self, capability: Capability) -> HostResult:
        call = rendezvous.read_call(self.store, self.run.session_id, self.call.id)
        if call is None or (call.status != "answered" and not call.late):
            raise NotRun(
                f"{capability.title} gave no answer in time. It is not known whether the script ran. Do not run it "
                "again: look at the document first.",
                "unknown",
            )
        return rendezvous.read_result(self.store, call)

    async def _tell(self, result: HostResult, host: Host, capability: Capability, script: Script | None) -> StreamChunk:
        """Set the result for the model; the chunk for the user."""
        result = result.model_copy(update={"notes": [*result.notes, *merge_notes(result, script)]})
        answer = await asyncio.to_thread(answers.fetch, self.store, self.run.owner, result)
        answer = answer.noted(protected_note(answer.report, capability))
        result = answer.result
        session = self.conversation.session
        if result.document is not None and session.document_id is None:
            self.conversation.stage(document_id=result.document.id)
        if result.outcome == "committed":
            self.conversation.stage(progress=session.progress.after_commit(result.changed.counts()))
        told = for_model(result, answer.stdout, answer.report, script.text if script else None, capability)
        text = "\n".join([*self.late, told])
        if script is not None and script.regions:
            text += f"\nmerged script around the edits:\n{script.regions}"
        if self.call.name == AUTOMATE:
            text += f"\n{budgets(self.conversation.session.progress, session.limits.fix, session.limits.iteration)}"
        ok = result.outcome in ("committed", "previewed") or (result.outcome == "rolled_back" and result.error is None)
        images = tuple(ImageRef(**image.model_dump(include=set(ImageRef.model_fields))) for image in result.images)
        self.result = ToolResult(call_id=self.call.id, ok=ok, text=text, images=images)
        return answered_chunk(self.call, answer, ok=ok, host=host, capability=capability)


def merge_notes(result: HostResult, script: Script | None) -> list[str]:
    """Doubts about the edits, and the alarm that should never come."""
    if script is None:
        return []
    other = result.script_sha256 not in (None, script.sha256)
    return [*script.notes, *(["The host says that it ran other bytes than were sent to it."] if other else [])]


def budgets(progress: Progress, fix: int, iteration: int) -> str:
    return f"budget: {progress.fix} of {fix} fixes and {progress.iteration} of {iteration} iterations are used."
