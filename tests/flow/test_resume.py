"""A run goes on after its process has died, wherever that was: nothing is lost, nothing takes effect twice.

A process dies here by its store: from one write on, every write fails. What it does after that reaches nobody, as with
a process that was killed; and what it did since its last write, nobody knows. So these are all the places to die at.
"""

import itertools
import json
import threading
from collections.abc import Callable, Iterator
from typing import Any

import pytest
from drafthand import rendezvous
from drafthand.runlog import follow
from drafthand.runs import StartRun, start_run
from drafthand.services import Services
from drafthand.session import Run
from drafthand.store import Store, store_over
from drafthand.store.table import Delete
from drafthand.transcript import Message, ToolCall, ToolResult
from drafthand.working import STUCK_HANDOVERS, resume

from hosts.runtime import results
from tests.bench import Bench, bench, shared_services

MODELS = ["rehearsal", "rehearsal-responses", "rehearsal-gemini", "rehearsal-chat"]
JOB = """
name: job
title: Do the job
match: do the job
turns:
  - name: try
    think: I try.
    say: I try.
    call: {tool: execute_task_automation, input: {summary: Try., code: fail}}
    next: [{when: 'outcome: failed', go: mend}]
  - name: mend
    say: I mend.
    call:
      tool: execute_task_automation
      input: {summary: Mend., edits: [{start_line: 1, end_line: 1, replacement: commit}]}
    next: [{when: 'outcome: committed', go: end}]
  - name: end
    say: Done.
"""
COUNTERS = {"turns": 3, "scripts": 2, "fix": 1, "iteration": 0}


class Died(Exception):
    """What a process that is dead can't tell anybody."""


class CountingHost:
    """A scripted host: what a script says is what happens, once it is released. `applied` took effect."""

    def __init__(self) -> None:
        self.applied: list[str] = []
        self.released = threading.Event()
        self.released.set()

    def document(self) -> dict[str, Any]:
        return {"id": "d", "title": "house", "version": str(len(self.applied))}

    def application(self) -> dict[str, Any]:
        return {"name": "ifc", "version": "0"}

    def run(self, command: dict[str, Any]) -> dict[str, Any]:
        result = results.new(command, self.document())
        script = (command["script"] or "").strip()
        self.released.wait(10)
        if script == "fail":
            return results.end(result, "failed", "TypeError", "no")
        if script == "commit":
            self.applied.append(command["id"])
            result["changed"]["modified"] = [7]
            return results.end(result, "committed")
        return results.end(result, "rolled_back")

    def cancel(self, command_id: str) -> None:
        pass


def dying(store: Store, writes: int) -> Store:
    """The store of a process that dies before its write number `writes`."""
    counted = itertools.count(1)

    def counting(write: Callable[..., None]) -> Callable[..., None]:
        def counted_write(*arguments: Any) -> None:
            if next(counted) >= writes:
                raise Died
            write(*arguments)

        return counted_write

    table: Any = store.table
    table.write, table.transact = counting(table.write), counting(table.transact)
    return store


@pytest.fixture(scope="module")
def desk(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Bench]:
    """A bench whose waits are short: there are many runs."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(rendezvous, "POLL_FIRST_S", 0.01)
        patch.setattr(rendezvous, "POLL_LAST_S", 0.05)
        patch.setattr("functions.host_poll.handler.LOOK_EVERY_S", 0.01)
        with bench(tmp_path_factory.mktemp("desk"), scripts=[JOB], host=CountingHost()) as made:
            yield made


def forget(desk: Bench, run: Run) -> None:
    """moto copies its whole table at each transaction."""
    table = desk.services.store.table
    for pk in (f"SESSION#{run.session_id}", f"RUN#{run.id}"):
        for item in [item for begin in "ACEMR" for item in table.query(pk, begin)]:
            table.write(Delete(item["pk"], item["sk"]))


class Process(Services):
    """Another process that serves the same users."""

    def __init__(self, desk: Bench, store: Store) -> None:
        super().__init__(desk.services.settings, store)
        self.desk = desk

    def client(self, model: Any) -> Any:
        return self.desk.services.client(model)


def own_store() -> Store:
    """A store of its own over the same table and bucket."""
    shared = shared_services().store
    return store_over(shared.table.client, shared.blobs.client, shared.table.name, shared.blobs.bucket)


async def die_at(desk: Bench, model: str, writes: int) -> Run | None:
    """Begin a run in a process that dies at a write; the run, None where it never began."""
    process = Process(desk, dying(own_store(), writes))
    try:
        work = await start_run(process, desk.owner, StartRun(message="Do the job", model=model, host_id=desk.host_id))
    except Died:
        return begun_run(desk)
    await work.task
    return work.run


def begun_run(desk: Bench) -> Run | None:
    """The run that began although its process never learned it."""
    sessions = desk.services.store.sessions
    session = next(iter(sessions.of_owner(desk.owner)), None)
    return None if session is None or session.active_run is None else sessions.run(desk.owner, session.active_run)


async def finish(desk: Bench, run: Run) -> None:
    """What the next reader does, once the lease has run out."""
    sessions = desk.services.store.sessions
    session = sessions.get(run.owner, run.session_id)
    if session.active_run == run.id:
        sessions.hand_over(session, run)
        work = await resume(desk.services, run, None)
        assert work is not None
        await work.task


@pytest.mark.timeout(400)
def test_a_run_goes_on_wherever_its_process_died(desk: Bench) -> None:
    host: Any = desk.host
    for writes in itertools.count(1):
        applied, model = len(host.applied), MODELS[writes % len(MODELS)]

        run = desk.wait(die_at(desk, model, writes))
        if run is None:
            continue
        untouched = desk.services.store.sessions.run(desk.owner, run.id).state == "complete"
        desk.wait(finish(desk, run))

        where = f"died at write {writes}, {model}"
        assert len(host.applied) == applied + 1, where
        check(desk, run, where)
        forget(desk, run)
        if untouched:
            break
    assert writes > 15, "a run of three turns and two calls writes more than that"


def check(desk: Bench, run: Run, where: str) -> None:
    """The invariants of every history."""
    store = desk.services.store
    session = store.sessions.get(run.owner, run.session_id)
    chunks = desk.wait(_all(follow(store, run)))
    messages = store.sessions.messages(session)
    assert session.active_run is None, where
    assert [seq for seq, _ in chunks] == list(range(1, len(chunks) + 1)), where
    assert [chunk.ends_run for _, chunk in chunks].count(True) == 1, where
    last = chunks[-1][1]
    assert (last.type, last.content) == ("Complete", "Done."), where
    assert last.metadata["counters"] == COUNTERS == session.progress.counters(), where
    assert last.metadata["changed"] == {"added": 0, "modified": 1, "deleted": 0}, where
    assert [message.role for message in messages] == ["user", *["assistant", "tool"] * 2, "assistant"], where
    assert answered(messages) == called(messages), where
    told = {chunk.metadata["call_id"] for _, chunk in chunks if chunk.metadata.get("kind") == "tool_result"}
    assert told == set(called(messages)), where
    lines = list(store.sessions.audit(session))
    assert [line["outcome"] for line in lines] == ["failed", "committed"], where


def called(messages: list[Message]) -> list[str]:
    return [part.id for message in messages for part in message.parts if isinstance(part, ToolCall)]


def answered(messages: list[Message]) -> list[str]:
    return [part.call_id for message in messages for part in message.parts if isinstance(part, ToolResult)]


async def _all(chunks: Any) -> list[Any]:
    return [numbered async for numbered in chunks]


def test_a_run_is_handed_over_and_goes_on_unseen(desk: Bench) -> None:
    run, handed = desk.wait(handed_over(desk))

    chunks = [chunk for _, chunk in desk.wait(_all(follow(desk.services.store, run)))]

    kinds = [chunk.metadata.get("kind") for chunk in chunks]
    assert handed >= 1
    assert kinds.count("handover") == kinds.count("reconnected") == handed
    check(desk, run, "handed over")


async def handed_over(desk: Bench) -> tuple[Run, int]:
    """A run whose processes have 200 ms and more each: turns, waits and writes are broken off anywhere."""
    request = StartRun(message="Do the job", model="rehearsal", host_id=desk.host_id)
    work = await start_run(desk.services, desk.owner, request, 0.2)
    for handed in itertools.count():
        await work.task
        if desk.services.store.sessions.run(desk.owner, work.run.id).state == "complete":
            return work.run, handed
        again = await resume(desk.services, work.run, 0.2 * (handed + 1))
        assert again is not None
        work = again
    raise AssertionError


def test_a_live_loop_is_not_taken_over(desk: Bench) -> None:
    async def both() -> Any:
        request = StartRun(message="Do the job", model="rehearsal", host_id=desk.host_id)
        work = await start_run(desk.services, desk.owner, request)
        taken = await resume(desk.services, work.run, None)
        await work.task
        return taken

    assert desk.wait(both()) is None


def test_a_stop_of_a_run_without_a_process_ends_it_with_its_next_reader(desk: Bench) -> None:
    async def stopped() -> Run:
        request = StartRun(message="Do the job", model="rehearsal", host_id=desk.host_id)
        work = await start_run(desk.services, desk.owner, request, 0.0)
        await work.task
        desk.services.store.sessions.cancel_run(work.run)
        await finish(desk, work.run)
        return work.run

    run = desk.wait(stopped())

    chunks = [chunk for _, chunk in desk.wait(_all(follow(desk.services.store, run)))]
    assert (chunks[-1].type, chunks[-1].metadata["code"]) == ("Error", "cancelled")
    assert json.dumps([chunk.content for chunk in chunks]).count("Stopped") == 1


def test_a_run_whose_model_is_gone_is_ended_truthfully(desk: Bench) -> None:
    async def orphaned() -> Run:
        request = StartRun(message="Do the job", model="rehearsal", host_id=desk.host_id)
        work = await start_run(desk.services, desk.owner, request, 0.0)
        await work.task
        return work.run

    run = desk.wait(orphaned()).model_copy(update={"model": "gone"})

    assert desk.wait(resume(desk.services, run, None)) is None

    chunks = [chunk for _, chunk in desk.wait(_all(follow(desk.services.store, run)))]
    assert (chunks[-1].type, chunks[-1].metadata["code"]) == ("Error", "model_gone")
    assert desk.services.store.sessions.get(desk.owner, run.session_id).active_run is None


def test_a_run_that_gets_no_further_from_process_to_process_is_given_up(desk: Bench) -> None:
    async def starved() -> Run:
        request = StartRun(message="Do the job", model="rehearsal", host_id=desk.host_id)
        work = await start_run(desk.services, desk.owner, request, 0.0)
        await work.task
        while (again := await resume(desk.services, work.run, 0.0)) is not None:
            work = again
            await work.task
        return work.run

    run = desk.wait(starved())

    chunks = [chunk for _, chunk in desk.wait(_all(follow(desk.services.store, run)))]
    assert [chunk.metadata.get("kind") for chunk in chunks].count("handover") == STUCK_HANDOVERS
    assert (chunks[-1].type, chunks[-1].metadata["code"]) == ("Error", "stuck")
