"""The log of a run: what is seen live is what is replayed."""

import asyncio

import pytest
from drafthand.chunks import ChunkType, StreamChunk, metadata
from drafthand.errors import ConditionFailed
from drafthand.runlog import Numbered, RunLog, follow, last_stored
from drafthand.session import Run
from drafthand.store import Store

from tests.contract.test_store import make_run, make_session


def delta(text: str) -> StreamChunk:
    return StreamChunk(type=ChunkType.TOOL_INPUT_DELTA, content=text, metadata={"call_id": "c"})


END = StreamChunk(type=ChunkType.COMPLETE, content="done")


def begun(store: Store) -> tuple[Run, RunLog]:
    run = make_run(store, make_session(store))
    return run, RunLog(store, store.sessions.get("ann", run.session_id), run)


async def test_replay_equals_live_and_numbers_have_no_gap(any_store: Store) -> None:
    run, log = begun(any_store)
    watching = asyncio.create_task(_all(log.live()))

    await log.append(metadata("run_started", "…"))
    for number in range(40):
        await log.append(delta(str(number)))
    await log.append(END)

    live = await watching
    replayed = await _all(follow(any_store, run))
    assert live == replayed
    assert [seq for seq, _ in live] == list(range(1, 43))
    assert [chunk.content for _, chunk in live[1:41]] == [str(number) for number in range(40)]
    assert last_stored(any_store, run) == 42


async def test_deltas_are_stored_in_batches(any_store: Store) -> None:
    run, log = begun(any_store)

    for number in range(500):
        await log.append(delta(str(number)))
    await log.append(END)

    assert len(list(any_store.table.query(f"RUN#{run.id}", "EVT#"))) == 1


async def test_nothing_is_shown_that_is_not_stored(store: Store) -> None:
    run, log = begun(store)

    await log.append(delta("not yet"))
    assert log.chunks == []
    await log.flush()

    assert [chunk.content for chunk in log.chunks] == ["not yet"]
    assert last_stored(store, run) == 1


async def test_a_write_that_is_cancelled_half_way_is_neither_lost_nor_written_twice(store: Store) -> None:
    run, log = begun(store)
    for _ in range(20):
        await log.append(delta("x"))
        flushing = asyncio.create_task(log.flush())
        await asyncio.sleep(0)
        flushing.cancel()
        await asyncio.wait({flushing})

    await log.append(END)

    assert [seq for seq, _ in await _all(follow(store, run))] == list(range(1, 22))


async def test_a_loop_that_lost_its_session_adds_nothing_to_the_log(any_store: Store) -> None:
    run, slow = begun(any_store)
    await slow.append(metadata("run_started", "…"))
    session = any_store.sessions.take_over(any_store.sessions.get("ann", run.session_id))
    fast = RunLog(any_store, session, run, last_stored(any_store, run))

    await slow.append(delta("slow"))
    with pytest.raises(ConditionFailed):
        await slow.append(END)
    await fast.append(END)

    assert [(seq, chunk.content) for seq, chunk in await _all(follow(any_store, run))] == [(1, "…"), (2, "done")]


async def test_the_next_process_numbers_on_where_the_last_one_ended(store: Store) -> None:
    run, first = begun(store)
    await first.append(delta("a"))
    await first.append(metadata("x", "b"))
    second = RunLog(store, first.session, run, last_stored(store, run))
    watching = asyncio.create_task(_all(second.live()))

    await second.append(END)

    assert await watching == [(3, END)]
    assert [seq for seq, _ in await _all(follow(store, run))] == [1, 2, 3]


async def test_live_readers_of_a_closed_log_are_let_go(store: Store) -> None:
    _, log = begun(store)
    await log.append(metadata("run_started", "…"))
    watching = asyncio.create_task(_all(log.live()))

    await log.close()

    assert [seq for seq, _ in await asyncio.wait_for(watching, 5)] == [1]


async def test_a_reader_goes_on_after_the_chunk_it_saw_last(any_store: Store) -> None:
    run, log = begun(any_store)
    for chunk in (delta("a"), metadata("x", "b"), delta("c"), END):
        await log.append(chunk)

    assert [seq for seq, _ in await _all(follow(any_store, run, after=2))] == [3, 4]


async def test_a_reader_that_came_early_follows_to_the_end(store: Store) -> None:
    run, log = begun(store)
    await log.append(metadata("run_started", "…"))
    reading = asyncio.create_task(_all(follow(store, run)))

    await log.append(delta("late"))
    await log.append(END)

    assert [chunk.content for _, chunk in await asyncio.wait_for(reading, 5)] == ["…", "late", "done"]


async def test_a_reader_sees_to_it_that_somebody_works(store: Store) -> None:
    run, log = begun(store)

    async def work() -> None:
        await log.append(END)

    assert [chunk.content for _, chunk in await asyncio.wait_for(_all(follow(store, run, keep_up=work)), 5)] == ["done"]


async def _all(chunks: object) -> list[Numbered]:
    return [numbered async for numbered in chunks]  # type: ignore[attr-defined]
