"""The numbered log of a run: what clients see live is what others replay, chunk for chunk.

Rule 1: chunks are numbered from 1 without gaps, and are shown only when they are stored: a process that dies has shown
nothing that its successor doesn't know.
Rule 2: a chunk is stored at once, a delta at most half a second later and with all that came meanwhile: a long script
costs tens of writes, and a reload in mid-script continues in mid-script.
Rule 3: only the process that holds the session's lease writes.
"""

from __future__ import annotations

import asyncio
import itertools
from collections.abc import AsyncIterator, Awaitable, Callable

from drafthand.chunks import StreamChunk
from drafthand.ids import now
from drafthand.session import Run, Session
from drafthand.store import Store
from drafthand.store.sessions import RUN_KEPT_S, fence_of
from drafthand.store.table import ABSENT, Put
from drafthand.threads import settled

FLUSH_EVERY_S = 0.5
FOLLOW_EVERY_S = 0.25
LOOKS_A_CHECK = 8
"""Every so many looks a reader makes sure that somebody works on the run: each 2 s."""

Numbered = tuple[int, StreamChunk]


class RunLog:
    """The writer's end, held by the process that works on the run. `stored` is the number of the last stored chunk."""

    def __init__(self, store: Store, session: Session, run: Run, stored: int = 0) -> None:
        self.store = store
        self.session = session
        self.run = run
        self.first = stored
        self.chunks: list[StreamChunk] = []
        self.closed = False
        self._pending: list[StreamChunk] = []
        self._grown = asyncio.Condition()
        self._filled = asyncio.Event()
        self._flushing = asyncio.Lock()

    @property
    def stored(self) -> int:
        return self.first + len(self.chunks)

    async def append(self, *chunks: StreamChunk) -> None:
        """Take chunks in, as one; they are stored and shown before this returns unless they are deltas.

        Raises:
            ConditionFailed: another process has taken the session; nothing was written.
        """
        self._pending += chunks
        if all(chunk.is_delta for chunk in chunks):
            self._filled.set()
        else:
            await self.flush()

    async def flush(self) -> None:
        """Store what isn't stored yet, as one batch, and show it. Raises ConditionFailed."""
        async with self._flushing:
            try:
                await settled(self._store)
            finally:
                await self._tell()

    def _store(self) -> None:
        batch = list(self._pending)
        if batch:
            self.store.table.transact(self.batch(batch), fence_of(self.session))
            self.shown(batch)

    def batch(self, chunks: list[StreamChunk]) -> Put:
        """The write that stores these chunks as the next ones."""
        item = {"pk": f"RUN#{self.run.id}", "sk": _key(self.stored + 1), "expires_at": int(now()) + RUN_KEPT_S}
        body = self.store.bodies.pack(self.run.owner, [chunk.model_dump(mode="json") for chunk in chunks])
        return Put(item | body, expect={"pk": ABSENT})

    def shown(self, chunks: list[StreamChunk]) -> None:
        """These chunks, the oldest that were pending, are stored."""
        self.chunks += chunks
        del self._pending[: len(chunks)]

    async def flush_regularly(self) -> None:
        """Runs beside the loop until cancelled. What comes after a pause is stored at once. Raises ConditionFailed."""
        while True:
            await self._filled.wait()
            self._filled.clear()
            await self.flush()
            await asyncio.sleep(FLUSH_EVERY_S)

    async def close(self) -> None:
        """This process writes no more; its readers go on from the store."""
        self.closed = True
        await self._tell()

    async def _tell(self) -> None:
        async with self._grown:
            self._grown.notify_all()

    async def live(self) -> AsyncIterator[Numbered]:
        """Every chunk of this process, as it is stored, to the last one or until the log is closed."""
        seen = 0
        while True:
            async with self._grown:
                while len(self.chunks) == seen and not self.closed:
                    await self._grown.wait()
                fresh = self.chunks[seen:]
            if not fresh:
                return
            for chunk in fresh:
                seen += 1
                yield self.first + seen, chunk
                if chunk.ends_run:
                    return


def _key(seq: int) -> str:
    return f"EVT#{seq:06d}"


def last_stored(store: Store, run: Run) -> int:
    """The number of the last stored chunk; 0 where there is none."""
    item = store.table.last(f"RUN#{run.id}", "EVT#")
    return 0 if item is None else _numbered(store, run, item)[-1][0]


def _numbered(store: Store, run: Run, item: dict[str, object]) -> list[Numbered]:
    first = int(str(item["sk"]).removeprefix("EVT#"))
    chunks = [StreamChunk.model_validate(chunk) for chunk in store.bodies.unpack(run.owner, item)]
    return list(enumerate(chunks, start=first))


def _read(store: Store, run: Run, after_batch: str | None) -> list[tuple[str, list[Numbered]]]:
    """The batches stored after the batch `after_batch`, each with its key."""
    items = store.table.query(f"RUN#{run.id}", "EVT#", after=after_batch)
    return [(item["sk"], _numbered(store, run, item)) for item in items]


async def follow(
    store: Store,
    run: Run,
    after: int = 0,
    keep_up: Callable[[], Awaitable[object]] | None = None,
    within_s: float | None = None,
) -> AsyncIterator[Numbered]:
    """Replay the stored chunks numbered above `after`, then follow the log, to the chunk that ends the run.

    `keep_up` is called now and then: it makes sure that somebody works on the run. After `within_s` seconds the reader
    has to come again.
    """
    batch: str | None = None
    until = None if within_s is None else now() + within_s
    for look in itertools.count():
        for key, chunks in await asyncio.to_thread(_read, store, run, batch):
            batch = key
            for seq, chunk in chunks:
                if seq > after:
                    yield seq, chunk
                if chunk.ends_run:
                    return
        if until is not None and now() > until:
            return
        if keep_up is not None and look % LOOKS_A_CHECK == 0:
            await keep_up()
        await asyncio.sleep(FOLLOW_EVERY_S)
