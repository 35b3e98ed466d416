"""One run being worked on in this process, from wherever its transcript stands to the chunk that ends it.

Rule 1: whatever ends the process, the next one goes on from the transcript: see `resume`.
Rule 2: only one process works on a session: it holds the lease, and whoever has lost it stops and writes nothing.
Rule 3: a run ends with exactly one Complete or Error, stored together with the end of the run.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import AsyncIterator
from dataclasses import dataclass, field
from typing import Literal

from drafthand import rendezvous
from drafthand.chunks import ChunkType, StreamChunk, Usage
from drafthand.commands import HostResult
from drafthand.conversation import Conversation
from drafthand.errors import ConditionFailed, VendorError
from drafthand.executor import CloudHand
from drafthand.ids import now
from drafthand.loop import RunFailed, run_agentic_loop
from drafthand.model import ModelSpec
from drafthand.prompts import system_prompt
from drafthand.runlog import RunLog, last_stored
from drafthand.services import Services
from drafthand.session import RENEW_EVERY_S, Run, Session
from drafthand.store.table import Update
from drafthand.tellings import handover_chunk, host_chunk, late_chunk, reconnected_chunk, started_chunk
from drafthand.turns import ModelTurns

logger = logging.getLogger(__name__)

CANCEL_SEEN_EVERY_S = 0.5
STILL_RUNNING = (
    "A script was running at that moment: if it takes effect all the same, your next message in this session is "
    "answered with a report of it."
)
STATE_OF_DOCUMENT = "What was committed before stays; nothing is half-done."


def _error(code: str, text: str, *, retryable: bool) -> StreamChunk:
    return StreamChunk(type=ChunkType.ERROR, content=text, metadata={"code": code, "retryable": retryable})


STOPPED = _error("cancelled", f"Stopped. {STATE_OF_DOCUMENT}", retryable=False)

MODEL_GONE = _error("model_gone", f"The run's model is not offered here any more. {STATE_OF_DOCUMENT}", retryable=False)
STUCK_HANDOVERS = 5
STUCK = _error(
    "stuck", f"{STUCK_HANDOVERS} processes in a row had no time to get any further. {STATE_OF_DOCUMENT}", retryable=True
)

_working: set[asyncio.Task[None]] = set()
"""asyncio keeps only weak references to tasks."""


async def stop_working() -> None:
    """The process is about to end: leave its runs to the next one."""
    for task in _working:
        task.cancel()
    if _working:
        await asyncio.wait(_working)


async def resume(services: Services, run: Run, within_s: float | None) -> Work | None:
    """Go on with a run whose process has gone; None where it hasn't. `within_s` as for `Work`."""
    work = await asyncio.to_thread(_take_over, services, run, within_s)
    if work is not None:
        work.begin()
    return work


def _take_over(services: Services, run: Run, within_s: float | None) -> Work | None:
    sessions = services.store.sessions
    session = sessions.get(run.owner, run.session_id)
    if session.active_run != run.id or session.lease_until > now():
        return None
    try:
        session = sessions.take_over(session)
    except ConditionFailed:
        return None  # somebody else was faster
    log = RunLog(services.store, session, run, last_stored(services.store, run))
    spec = services.known().get(run.model)
    run = sessions.run(run.owner, run.id)
    if spec is None or run.stuck >= STUCK_HANDOVERS:
        sessions.end_run(session, run, "error", log.batch([MODEL_GONE if spec is None else STUCK]))
        return None
    return Work(services, run, session, spec, log, within_s)


@dataclass
class Work:
    """`within_s`: seconds after which the run has to be handed over; None where this process has time."""

    services: Services
    run: Run
    session: Session
    spec: ModelSpec
    log: RunLog
    within_s: float | None
    conversation: Conversation | None = None
    task: asyncio.Task[None] = field(init=False)

    def begin(self) -> None:
        self.task = asyncio.create_task(self._to_end())
        _working.add(self.task)
        self.task.add_done_callback(_working.discard)

    async def _to_end(self) -> None:
        working = asyncio.create_task(self._work())
        cancelling = asyncio.create_task(self._cancelled())
        beside = [asyncio.create_task(each) for each in (self._renew(), self.log.flush_regularly())]
        try:
            await asyncio.wait(
                {working, cancelling, *beside}, timeout=self.within_s, return_when=asyncio.FIRST_COMPLETED
            )
            ended: asyncio.Task[StreamChunk] | None = working if working.done() else None
        except asyncio.CancelledError:
            ended = None
        cancelled = cancelling.done() and cancelling.exception() is None
        if ended is None:
            await _stop(working)
        await _stop(cancelling, *beside)
        try:
            if ended is not None:
                await self._end(self._last_chunk(working))
            elif cancelled:
                await self._end(await self._stopped())
            else:
                failures = [task.exception() for task in (cancelling, *beside) if not task.cancelled()]
                await self._hand_over(next((error for error in failures if error is not None), None))
        except ConditionFailed:
            logger.info("run %s belongs to another process now", self.run.id)
        except Exception:
            logger.exception("run %s could not be ended; it is resumed by its next reader", self.run.id)
        await self.log.close()

    async def _work(self) -> StreamChunk:
        """Append every chunk but the last, which is returned."""
        await self.log.append(*await asyncio.to_thread(self._opening))
        async for chunk in self._chunks():
            if chunk.ends_run:
                return chunk
            await self.log.append(chunk)
        raise RuntimeError("the loop ended without a Complete")

    async def _chunks(self) -> AsyncIterator[StreamChunk]:
        store = self.services.store
        host = await asyncio.to_thread(store.hosts.pick, self.session.owner, self.session.host_id)
        if host is not None:
            yield host_chunk(host, "idle", None)
        conversation = self.conversation = await Conversation.open(store, self.session)
        system = system_prompt(host.application.get("name") if host else None)
        model = ModelTurns(conversation, lambda: self.services.client(self.spec), self.spec, system)
        hand = CloudHand(conversation, self.run, self.spec.cost_usd)
        async for chunk in run_agentic_loop(conversation, model, hand):
            yield chunk

    def _opening(self) -> list[StreamChunk]:
        """What a process shows first. That answers came late is told with the run's very first chunk: they count as
        told from its beginning."""
        if self.log.stored:
            return [reconnected_chunk(self.run)]
        late = [late_chunk(call_id, self._late_result(call_id)) for call_id in self.run.late]
        return [started_chunk(self.run, self.session, self.spec), *late]

    def _late_result(self, call_id: str) -> HostResult:
        call = rendezvous.read_call(self.services.store, self.run.session_id, call_id)
        if call is None:
            raise LookupError(f"call {call_id} has gone from the store")
        return rendezvous.read_result(self.services.store, call)

    async def _renew(self) -> None:
        while True:
            await asyncio.sleep(RENEW_EVERY_S)
            await asyncio.to_thread(self.services.store.sessions.renew, self.session)

    async def _cancelled(self) -> None:
        """Returns when somebody has asked for this run's end."""
        sessions = self.services.store.sessions
        while True:
            run = await asyncio.to_thread(sessions.run, self.run.owner, self.run.id)
            if run.cancelled:
                return
            await asyncio.sleep(CANCEL_SEEN_EVERY_S)

    async def _stopped(self) -> StreamChunk:
        """The last chunk of a run that somebody has ended; a call that it had in flight is withdrawn."""
        if await asyncio.to_thread(rendezvous.withdraw, self.services.store, self.run) or await self._unheard():
            return STOPPED.model_copy(update={"content": f"{STOPPED.content} {STILL_RUNNING}"})
        return STOPPED

    async def _unheard(self) -> list[Update]:
        """The writes that keep for the next run what hosts have answered to a turn whose results were never stored."""
        return await asyncio.to_thread(self._unheard_now)

    def _unheard_now(self) -> list[Update]:
        store = self.services.store
        newest = store.sessions.messages(self.session)[-1]  # memory may lag behind a write that was broken off
        return rendezvous.unheard(store, self.session.id, [call.id for call in newest.calls])

    async def _hand_over(self, failure: BaseException | None) -> None:
        """Leave the run to the next process. Raises ConditionFailed where that has come already."""
        if isinstance(failure, ConditionFailed):
            raise failure
        if failure is not None:
            logger.error("run %s is left to its next reader", self.run.id, exc_info=failure)
        await self.log.append(handover_chunk(self.run))
        await asyncio.to_thread(self.services.store.sessions.hand_over, self.session, self.run)

    def _last_chunk(self, working: asyncio.Task[StreamChunk]) -> StreamChunk:
        """What ends the run. Raises ConditionFailed where another process has taken it."""
        error = working.exception()
        if error is None:
            return working.result()
        if isinstance(error, ConditionFailed):
            raise error
        if isinstance(error, VendorError | RunFailed):
            return _error(error.code, f"{error} {STATE_OF_DOCUMENT}", retryable=error.retryable)
        logger.error("run %s failed", self.run.id, exc_info=error)
        text = f"Something went wrong on our side ({type(error).__name__}). {STATE_OF_DOCUMENT} Try again."
        return _error("internal", text, retryable=True)

    async def _end(self, last: StreamChunk) -> None:
        """Store the last chunk in the same transaction that frees the session."""
        if self.conversation is not None:
            await self.conversation.flush()
        unheard: list[Update] = []
        if last.type is ChunkType.ERROR:
            await asyncio.to_thread(rendezvous.withdraw, self.services.store, self.run)
            unheard = await self._unheard()
            used = self.conversation.session.progress.usage if self.conversation else Usage()
            facts = {"usage": used.model_dump() | {"cost_usd": self.spec.cost_usd(used)}}
            text = f"{used.total:,} tokens used."
            await self.log.append(StreamChunk(type=ChunkType.AGENTIC_USAGE, content=text, metadata=facts))
        await self.log.flush()
        state: Literal["complete", "error"] = "complete" if last.type is ChunkType.COMPLETE else "error"
        last = last.model_copy(update={"metadata": last.metadata | {"run_id": self.run.id}})
        batch = self.log.batch([last])
        await asyncio.to_thread(self.services.store.sessions.end_run, self.session, self.run, state, batch, *unheard)
        self.log.shown([last])


async def _stop(*tasks: asyncio.Task[object]) -> None:
    for task in tasks:
        task.cancel()
    await asyncio.wait(tasks)
