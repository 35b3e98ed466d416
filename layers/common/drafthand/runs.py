"""From a posted message to the chunk that ends its run.

A run is worked on by a task of its own: a stream that closes never ends it. It ends with one Complete or one Error.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import AsyncIterator
from dataclasses import dataclass
from typing import Any, Literal

from pydantic import BaseModel, ConfigDict, Field

from drafthand import answers, rendezvous
from drafthand.capabilities import CAPABILITIES
from drafthand.chunks import ChunkType, StreamChunk, Usage, metadata
from drafthand.commands import HostResult
from drafthand.conversation import Conversation
from drafthand.errors import CallerError, ConditionFailed, VendorError
from drafthand.executor import CloudHand
from drafthand.ids import new_id, now
from drafthand.loop import RunFailed, run_agentic_loop
from drafthand.model import ModelSpec
from drafthand.prompts import system_prompt
from drafthand.results import for_model
from drafthand.runlog import RunLog, settle_if_dead, withdraw_call
from drafthand.services import Services
from drafthand.session import BEAT_EVERY_S, Limits, Mode, Progress, Run, Session
from drafthand.store.hosts import Host
from drafthand.tellings import host_chunk, late_chunk
from drafthand.transcript import Message, Text
from drafthand.turns import ModelTurns

logger = logging.getLogger(__name__)

MESSAGE_MAX_CHARS = 100_000
TITLE_CHARS = 60
CANCEL_SEEN_EVERY_S = 0.5
STILL_RUNNING = (
    "A script was running at that moment: if it takes effect all the same, your next message in this session is "
    "answered with a report of it."
)
STATE_OF_DOCUMENT = "What was committed before stays; nothing is half-done."


class StartRun(BaseModel):
    """Body of POST /runs."""

    model_config = ConfigDict(extra="forbid")

    message: str = Field(max_length=MESSAGE_MAX_CHARS)
    model: str
    session_id: str | None = None
    host_id: str | None = None
    mode: Mode | None = None
    limits: Limits = Limits()


def _error(code: str, text: str, *, retryable: bool) -> StreamChunk:
    return StreamChunk(type=ChunkType.ERROR, content=text, metadata={"code": code, "retryable": retryable})


STOPPED = _error("cancelled", f"Stopped. {STATE_OF_DOCUMENT}", retryable=False)
SERVER_STOPPED = _error("interrupted", f"The server was stopped. {STATE_OF_DOCUMENT}", retryable=True)


@dataclass
class StartedRun:
    run: Run
    log: RunLog
    task: asyncio.Task[None]


_working: set[asyncio.Task[None]] = set()
"""asyncio keeps only weak references to tasks."""


async def stop_working() -> None:
    """The process is about to end: end its runs, truthfully."""
    for task in _working:
        task.cancel()
    if _working:
        await asyncio.wait(_working)


async def start_run(services: Services, owner: str, request: StartRun) -> StartedRun:
    """Begin to work on a message.

    Raises:
        CallerError: 422 for an empty message or a model that isn't offered, 404 for a session or host that isn't the
            owner's, 409 with `active_run` where the session is busy.
    """
    if not request.message.strip():
        raise CallerError(422, "Empty message", "Say what you want done.", "message")
    spec = services.available().get(request.model)
    if spec is None:
        offered = ", ".join(services.available()) or "none: no vendor key is set"
        raise CallerError(422, "Unknown model", f"{request.model!r} is not offered here. Offered: {offered}.", "model")
    session, run, host = await asyncio.to_thread(_begin, services, owner, request, spec)
    log = RunLog(services.store, run)
    task = asyncio.create_task(_Work(services, run, log, session, spec, host).run_to_end(request.message))
    _working.add(task)
    task.add_done_callback(_working.discard)
    return StartedRun(run, log, task)


def _begin(services: Services, owner: str, request: StartRun, spec: ModelSpec) -> tuple[Session, Run, Host | None]:
    """The session, made the run's own."""
    sessions, at = services.store.sessions, now()
    if request.host_id is not None:
        services.store.hosts.get(owner, request.host_id)
    if request.session_id is None:
        title = " ".join(request.message.split())[:TITLE_CHARS]
        session = Session(
            id=new_id("ses"),
            owner=owner,
            title=title,
            model=spec.id,
            host_id=request.host_id,
            created_at=at,
            updated_at=at,
        )
        sessions.create(session)
    else:
        session = sessions.get(owner, request.session_id)
    host = services.store.hosts.pick(owner, session.host_id)
    run = Run(
        id=new_id("run"),
        session_id=session.id,
        owner=owner,
        model=spec.id,
        host_id=host.id if host else session.host_id,
        state="running",
        started_at=at,
        beat_at=at,
    )
    if session.active_run is not None:
        settle_if_dead(services.store, owner, session.active_run)
    try:
        session = sessions.start_run(session, run)
    except ConditionFailed as error:
        active = sessions.get(owner, session.id).active_run
        detail = "This session is working on another message. Follow that run, stop it, or wait for its end."
        raise CallerError(409, "Session is busy", detail, "session_id", active_run=active) from error
    fresh: dict[str, Any] = {"model": spec.id, "limits": request.limits, "progress": Progress(started_at=at)}
    if request.mode is not None:
        fresh["mode"] = request.mode
    if request.host_id is not None and request.host_id != session.host_id:
        fresh |= {"host_id": request.host_id, "document_id": None}
    return sessions.update(session, **fresh), run, host


@dataclass
class _Work:
    """One run being worked on in this process."""

    services: Services
    run: Run
    log: RunLog
    session: Session
    spec: ModelSpec
    host: Host | None
    conversation: Conversation | None = None

    async def run_to_end(self, message: str) -> None:
        flushing = asyncio.create_task(self.log.flush_regularly())
        beating = asyncio.create_task(self._beat())
        working = asyncio.create_task(self._work(message))
        cancelling = asyncio.create_task(self._cancelled())
        stopped = STOPPED
        try:
            await asyncio.wait({working, cancelling}, return_when=asyncio.FIRST_COMPLETED)
            if cancelling.done() and (error := cancelling.exception()):
                stopped = self._internal(error)
        except asyncio.CancelledError:
            stopped = SERVER_STOPPED
        if not working.done():
            working.cancel()
            await asyncio.wait({working})
            if await asyncio.to_thread(withdraw_call, self.services.store, self.run):
                stopped = stopped.model_copy(update={"content": f"{stopped.content} {STILL_RUNNING}"})
        for beside in (cancelling, flushing, beating):
            beside.cancel()
        last = self._last_chunk(working, stopped)
        try:
            await self._end(last)
        except Exception as error:  # noqa: BLE001 - whoever watches must see an end, stored or not
            await self.log.show(self._internal(error))

    async def _work(self, message: str) -> StreamChunk:
        """Append every chunk but the last, which is returned."""
        async for chunk in self._chunks(message):
            if chunk.ends_run:
                return chunk
            await self.log.append(chunk)
        raise RuntimeError("the loop ended without a Complete")

    async def _chunks(self, message: str) -> AsyncIterator[StreamChunk]:
        yield metadata(
            "run_started",
            f"Working on it with {self.spec.label}.",
            run_id=self.run.id,
            session_id=self.session.id,
            model=self.spec.id,
            mode=self.session.mode,
            host_id=self.run.host_id,
            message=message,
            title=self.session.title,
        )
        if self.host is not None:
            yield host_chunk(self.host, "idle", None)
        conversation = self.conversation = await Conversation.open(self.services.store, self.session)
        parts = [Text(text=message)]
        for call, answer in await asyncio.to_thread(rendezvous.take_late, self.services.store, self.session.id):
            yield late_chunk(call.id, answer)
            told = await asyncio.to_thread(self._late, call, answer)
            parts.insert(0, Text(text=f"[The result of call {call.id} came after its wait had ended:\n{told}]"))
        await conversation.append(Message(role="user", parts=tuple(parts)))
        system = system_prompt(self.host.application.get("name") if self.host else None)
        model = ModelTurns(conversation, lambda: self.services.client(self.spec), self.spec, system)
        hand = CloudHand(conversation, self.run, self.spec.cost_usd)
        async for chunk in run_agentic_loop(conversation, model, hand):
            yield chunk

    def _late(self, call: rendezvous.Call, result: HostResult) -> str:
        """What the model is told of an answer that came after its wait had ended."""
        store = self.services.store
        capability = CAPABILITIES[store.hosts.get(call.owner, call.host_id).application["name"]]
        answer = answers.fetch(store, call.owner, result)
        return for_model(answer.result, answer.stdout, answer.report, None, capability)

    async def _beat(self) -> None:
        while True:
            await asyncio.sleep(BEAT_EVERY_S)
            await asyncio.to_thread(self.services.store.sessions.beat, self.run)

    async def _cancelled(self) -> None:
        """Returns when somebody has asked for this run's end."""
        sessions = self.services.store.sessions
        while True:
            run = await asyncio.to_thread(sessions.run, self.run.owner, self.run.id)
            if run.cancelled:
                return
            await asyncio.sleep(CANCEL_SEEN_EVERY_S)

    def _last_chunk(self, working: asyncio.Task[StreamChunk], stopped: StreamChunk) -> StreamChunk:
        if working.cancelled():
            return stopped
        error = working.exception()
        if error is None:
            return working.result()
        if isinstance(error, VendorError | RunFailed):
            return _error(error.code, f"{error} {STATE_OF_DOCUMENT}", retryable=error.retryable)
        return self._internal(error)

    def _internal(self, error: BaseException) -> StreamChunk:
        logger.error("run %s failed", self.run.id, exc_info=error)
        text = f"Something went wrong on our side ({type(error).__name__}). {STATE_OF_DOCUMENT} Try again."
        return _error("internal", text, retryable=True)

    async def _end(self, last: StreamChunk) -> None:
        """The session is free before the last chunk is seen, so that the next message is never refused."""
        if self.conversation is not None:
            await self.conversation.flush()
        if last.type is ChunkType.ERROR:
            used = self.conversation.session.progress.usage if self.conversation else Usage()
            facts = {"usage": used.model_dump() | {"cost_usd": self.spec.cost_usd(used)}}
            text = f"{used.total:,} tokens used."
            await self.log.append(StreamChunk(type=ChunkType.AGENTIC_USAGE, content=text, metadata=facts))
        await self.log.flush()
        state: Literal["complete", "error"] = "complete" if last.type is ChunkType.COMPLETE else "error"
        await asyncio.to_thread(self.services.store.sessions.end_run, self.run, state)
        await self.log.append(last.model_copy(update={"metadata": last.metadata | {"run_id": self.run.id}}))
