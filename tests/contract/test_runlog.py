"""The log of a run: what is seen live is what is replayed."""

import asyncio

import pytest
from drafthand.chunks import ChunkType, StreamChunk, metadata
from drafthand.runlog import Numbered, RunLog, follow, settle_if_dead
from drafthand.store import Store

from tests.contract.test_store import make_run, make_session


def delta(text: str) -> StreamChunk:
    return StreamChunk(type=ChunkType.TOOL_INPUT_DELTA, content=text, metadata={"call_id": "c"})


END = StreamChunk(type=ChunkType.COMPLETE, content="done")


async def test_replay_equals_live_and_numbers_have_no_gap(any_store: Store) -> None:
    run = make_run(any_store, make_session(any_store))
    log = RunLog(any_store, run)
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


async def test_deltas_are_stored_in_batches(any_store: Store) -> None:
    run = make_run(any_store, make_session(any_store))
    log = RunLog(any_store, run)

    for number in range(500):
        await log.append(delta(str(number)))
    await log.append(END)

    assert len(list(any_store.table.query(f"RUN#{run.id}", "EVT#"))) == 1


async def test_a_write_that_is_cancelled_half_way_is_neither_lost_nor_written_twice(store: Store) -> None:
    run = make_run(store, make_session(store))
    log = RunLog(store, run)
    await log.show(metadata("run_started", "…"))
    for _ in range(20):
        flushing = asyncio.create_task(log.flush())
        await asyncio.sleep(0)
        flushing.cancel()
        await log.show(delta("x"))

    await asyncio.wait({flushing})
    await log.append(END)

    assert [seq for seq, _ in await _all(follow(store, run))] == list(range(1, 23))


async def test_a_reader_goes_on_after_the_chunk_it_saw_last(any_store: Store) -> None:
    run = make_run(any_store, make_session(any_store))
    log = RunLog(any_store, run)
    for chunk in (delta("a"), metadata("x", "b"), delta("c"), END):
        await log.append(chunk)

    assert [seq for seq, _ in await _all(follow(any_store, run, after=2))] == [3, 4]


async def test_a_reader_that_came_early_follows_to_the_end(store: Store) -> None:
    run = make_run(store, make_session(store))
    log = RunLog(store, run)
    await log.append(metadata("run_started", "…"))
    reading = asyncio.create_task(_all(follow(store, run)))

    await log.append(delta("late"))
    await log.append(END)

    assert [chunk.content for _, chunk in await asyncio.wait_for(reading, 5)] == ["…", "late", "done"]


async def test_a_run_whose_process_has_gone_gets_an_end_and_frees_its_session(
    any_store: Store, monkeypatch: pytest.MonkeyPatch
) -> None:
    session = make_session(any_store)
    run = make_run(any_store, session)
    await RunLog(any_store, run).append(metadata("run_started", "…"))
    monkeypatch.setattr("drafthand.session.DEAD_AFTER_S", -1.0)

    first, second = [await _all(follow(any_store, run)) for _ in range(2)]

    assert first == second
    assert [(seq, chunk.metadata.get("code")) for seq, chunk in first] == [(1, None), (2, "interrupted")]
    assert any_store.sessions.get("ann", session.id).active_run is None


async def test_a_run_that_is_worked_on_is_left_alone(any_store: Store) -> None:
    session = make_session(any_store)
    run = make_run(any_store, session)

    settle_if_dead(any_store, "ann", run.id)

    assert any_store.sessions.get("ann", session.id).active_run == run.id


async def _all(chunks: object) -> list[Numbered]:
    return [numbered async for numbered in chunks]  # type: ignore[attr-defined]
