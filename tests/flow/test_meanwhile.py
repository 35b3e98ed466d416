"""What reaches a run from outside while it is worked on, or while nobody works on it."""

import asyncio
import queue
from typing import Any

import pytest
from drafthand.errors import CallerError
from drafthand.runs import AlreadyStarted, StartRun, start_run
from drafthand.session import Run

from tests.bench import Bench, shared_services
from tests.flow.test_resume import check, desk, finish

__all__ = ["desk"]


def test_the_arriving_result_wakes_a_run_that_nobody_works_on(desk: Bench) -> None:
    host: Any = desk.host
    woken: queue.Queue[tuple[str, str]] = queue.Queue()

    class Bell:
        def wake(self, owner: str, run_id: str) -> None:
            woken.put((owner, run_id))

    async def suspended() -> Run:
        """A run whose process was stopped while its host was busy."""
        request = StartRun(message="Do the job", model="rehearsal", host_id=desk.host_id)
        work = await start_run(desk.services, desk.owner, request)
        async for _, chunk in work.log.live():
            if chunk.metadata.get("state") == "working":
                work.task.cancel()
        await asyncio.wait({work.task})
        return work.run

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(shared_services(), "waker", Bell())
        host.released.clear()
        run = desk.wait(suspended())
        assert woken.empty()
        host.released.set()
        assert woken.get(timeout=10) == (desk.owner, run.id)

    desk.wait(finish(desk, run))
    check(desk, run, "woken")


def test_one_request_under_one_key_begins_one_run(desk: Bench) -> None:
    host: Any = desk.host
    applied = len(host.applied)

    async def post(message: str) -> Any:
        request = StartRun(message=message, model="rehearsal", host_id=desk.host_id)
        try:
            work = await start_run(desk.services, desk.owner, request, key="key-1")
        except AlreadyStarted as before:
            return before.run.id
        await work.task
        return work.run.id

    first, again = desk.wait(post("Do the job")), desk.wait(post("Do the job"))

    assert first == again
    assert len(host.applied) == applied + 1
    with pytest.raises(CallerError, match="stands for another request"):
        desk.wait(post("Do the job twice"))


def test_a_message_that_comes_while_a_run_works_is_read_once_after_the_result(desk: Bench) -> None:
    host: Any = desk.host

    async def interrupted() -> Run:
        host.released.clear()
        request = StartRun(message="Do the job", model="rehearsal", host_id=desk.host_id)
        work = await start_run(desk.services, desk.owner, request)
        async for _, chunk in work.log.live():
            if chunk.metadata.get("state") == "working" and not host.released.is_set():
                await asyncio.to_thread(desk.services.store.sessions.say, work.run, "Do the job, but quickly")
                host.released.set()
        return work.run

    run = desk.wait(interrupted())

    session = desk.services.store.sessions.get(run.owner, run.session_id)
    messages = desk.services.store.sessions.messages(session)
    assert [message.text for message in messages if message.role == "user"] == [
        "Do the job",
        "Do the job, but quickly",
    ]
    assert [message.role for message in messages[:4]] == ["user", "assistant", "tool", "user"]
    assert desk.services.store.sessions.inbox(session) == []
