"""The numbered log of a run: what clients see live is what others replay, chunk for chunk.

Chunks are numbered from 1 without gaps. Deltas are stored in batches about twice a second, everything else at once, so
that a long script costs tens of writes and a reload in mid-script continues in mid-script.
"""

from __future__ import annotations

import asyncio
import itertools
from collections.abc import AsyncIterator

from drafthand import rendezvous
from drafthand.chunks import ChunkType, StreamChunk
from drafthand.errors import ConditionFailed
from drafthand.ids import now
from drafthand.session import Run
from drafthand.store import Store
from drafthand.store.sessions import RUN_KEPT_S
from drafthand.store.table import ABSENT, Put
from drafthand.threads import settled

FLUSH_EVERY_S = 0.5
FOLLOW_EVERY_S = 0.25

LOOKS_A_CHECK = 20
"""Every so many looks a reader makes sure that the run is being worked on: each 5 s."""
INTERRUPTED = "The server ended while it worked on this. What was committed before stays; nothing is half-done."

Numbered = tuple[int, StreamChunk]


class RunLog:
    """The writer's end, held by the process that works on the run."""

    def __init__(self, store: Store, run: Run) -> None:
        self.store = store
        self.run = run
        self.chunks: list[StreamChunk] = []
        self.stored = 0
        self._grown = asyncio.Condition()
        self._flushing = asyncio.Lock()

    async def append(self, chunk: StreamChunk) -> None:
        """Number a chunk and show it; it is stored before this returns unless it is a delta."""
        await self.show(chunk)
        if not chunk.is_delta:
            await self.flush()

    async def show(self, chunk: StreamChunk) -> None:
        """Number a chunk and show it to those who watch live."""
        async with self._grown:
            self.chunks.append(chunk)
            self._grown.notify_all()

    async def flush(self) -> None:
        """Store what isn't stored yet, as one batch."""
        async with self._flushing:
            await settled(self._store)

    def _store(self) -> None:
        batch = self.chunks[self.stored :]
        if batch:
            _write_batch(self.store, self.run, self.stored + 1, batch)
            self.stored += len(batch)

    async def flush_regularly(self) -> None:
        """Runs beside the loop until cancelled."""
        while True:
            await asyncio.sleep(FLUSH_EVERY_S)
            await self.flush()

    async def live(self) -> AsyncIterator[Numbered]:
        """Every chunk from the first, as it is appended, to the one that ends the run."""
        seq = 0
        while True:
            async with self._grown:
                while len(self.chunks) == seq:
                    await self._grown.wait()
                fresh = self.chunks[seq:]
            for seq, chunk in enumerate(fresh, start=seq + 1):  # noqa: B020
                yield seq, chunk
                if chunk.ends_run:
                    return


def _write_batch(store: Store, run: Run, first: int, batch: list[StreamChunk]) -> None:
    item = {"pk": f"RUN#{run.id}", "sk": f"EVT#{first:06d}", "expires_at": int(now()) + RUN_KEPT_S}
    body = store.bodies.pack(run.owner, [chunk.model_dump(mode="json") for chunk in batch])
    store.table.write(Put(item | body, expect={"pk": ABSENT}))


def _read(store: Store, run: Run, after_batch: str | None) -> list[tuple[str, list[Numbered]]]:
    """The batches stored after the batch `after_batch`, each with its key."""
    batches = []
    for item in store.table.query(f"RUN#{run.id}", "EVT#", after=after_batch):
        first = int(item["sk"].removeprefix("EVT#"))
        chunks = [StreamChunk.model_validate(chunk) for chunk in store.bodies.unpack(run.owner, item)]
        batches.append((item["sk"], list(enumerate(chunks, start=first))))
    return batches


def withdraw_call(store: Store, run: Run) -> bool:
    """Cancel the call that a run has in flight, if any. True when a host had it in hand already."""
    call = rendezvous.open_call(store, store.sessions.run(run.owner, run.id))
    if call is None:
        return False
    rendezvous.end(store, call, "cancelled")
    return call.status == "claimed"


def settle_if_dead(store: Store, owner: str, run_id: str) -> None:
    """End a run whose process has gone, so that its readers see an end and its session takes the next message."""
    run = store.sessions.run(owner, run_id)
    if not run.is_dead(now()):
        return
    withdraw_call(store, run)
    batches = _read(store, run, None)
    last = batches[-1][1][-1][0] if batches else 0
    facts = {"code": "interrupted", "retryable": True, "run_id": run.id}
    try:
        _write_batch(store, run, last + 1, [StreamChunk(type=ChunkType.ERROR, content=INTERRUPTED, metadata=facts)])
    except ConditionFailed:
        return  # another reader settles it in this moment
    store.sessions.end_run(run, "error")


async def follow(store: Store, run: Run, after: int = 0) -> AsyncIterator[Numbered]:
    """Replay the stored chunks numbered above `after`, then follow the log, to the chunk that ends the run."""
    batch: str | None = None
    for look in itertools.count():
        if look % LOOKS_A_CHECK == 0:
            await asyncio.to_thread(settle_if_dead, store, run.owner, run.id)
        for key, chunks in await asyncio.to_thread(_read, store, run, batch):
            batch = key
            for seq, chunk in chunks:
                if seq > after:
                    yield seq, chunk
                if chunk.ends_run:
                    return
        await asyncio.sleep(FOLLOW_EVERY_S)
