"""A desktop on a bad day: a scripted host that is slow, fails and dies, on a line that loses and repeats."""

from __future__ import annotations

import asyncio
import contextlib
import threading
import time
from collections import Counter, deque
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import httpx2
import pytest
from drafthand import asking, executor, rendezvous, working
from drafthand.model import ModelClient, ModelSpec
from drafthand.vendors import client_of

from hosts.runtime import link as links
from hosts.runtime import outbox, results
from hosts.runtime.link import Link
from hosts.runtime.transport import TransportError
from tests.bench import Bench, aws, scripts_of
from tests.chaos.processes import BadVendor
from tests.chaos.scripts import JOBS

DEEDS = ("slow", "slow and stops", "dies before the effect", "dies after the effect", "raises after the effect")
"""What may befall a command on the host."""
DELIVERIES = (
    "request lost",
    "answer lost",
    "twice",
    "another after it",
    "the one before again",
    "dies before",
    "dies after",
)
"""What may befall the delivery of a result."""
SLOW_S = 0.25
WAITS = {"POLL_FIRST_S": 0.01, "POLL_LAST_S": 0.05, "CLAIM_WITHIN_S": 10.0, "ANSWER_WITHIN_S": 0.4}
"""The rendezvous' own, made short: an answer of a slow host may come after the end of its wait."""


class HostDied(BaseException):
    """The host's process is killed: nothing of it goes on."""


class ScriptedHost:
    """What a script says is what happens. `ran` are the commands that were executed, `applied` those with an effect."""

    def __init__(self, happened: Counter[str]) -> None:
        self.happened = happened
        self.ran: list[str] = []
        self.applied: list[str] = []
        self.deeds: deque[str | None] = deque()
        self.at_work: Callable[[], None] = lambda: None
        self._stop = threading.Event()

    def document(self) -> dict[str, Any]:
        return {"id": "d", "title": "house", "version": str(len(self.applied))}

    def application(self) -> dict[str, Any]:
        return {"name": "ifc", "version": "0"}

    def run(self, command: dict[str, Any]) -> dict[str, Any]:
        deed = self.deeds.popleft() if self.deeds else None
        self.ran.append(command["id"])
        self.at_work()
        if deed is not None:
            self.happened[f"host {deed}"] += 1
        result = results.new(command, self.document())
        if deed in ("slow", "slow and stops"):
            self._stop.clear()
            if self._stop.wait(SLOW_S) and deed == "slow and stops":
                return results.end(result, "rolled_back", "Cancelled", "It was stopped.")
        if deed == "dies before the effect":
            raise HostDied(command["id"])
        self._execute(command, result)
        if deed == "dies after the effect":
            raise HostDied(command["id"])
        if deed == "raises after the effect":
            raise RuntimeError("the application answered nonsense")
        return result

    def _execute(self, command: dict[str, Any], result: dict[str, Any]) -> None:
        match (command["script"] or "").strip():
            case "fail":
                results.end(result, "failed", "TypeError", "no")
            case "commit":
                self.applied.append(command["id"])
                result["changed"]["modified"] = [7]
                results.end(result, "committed")
            case _:
                result["stdout"] = "level has 42 doors"
                results.end(result, "rolled_back")

    def cancel(self, command_id: str) -> None:
        self._stop.set()


class BadLine:
    """The host's transport; `deliveries` befall one post of a result each, `claims` one answer with a command each."""

    def __init__(self, line: Any, happened: Counter[str]) -> None:
        self.line = line
        self.base_url = line.base_url
        self.happened = happened
        self.deliveries: deque[str | None] = deque()
        self.claims: deque[bool] = deque()
        self.around: Callable[[str], None] = lambda when: None
        self._before: tuple[str, dict[str, Any]] | None = None

    def put(self, *arguments: Any) -> Any:
        return self.line.put(*arguments)

    def post(self, path: str, body: dict[str, Any], timeout_s: float) -> tuple[int, Any]:
        if not path.endswith("/result"):
            return self._poll(path, body, timeout_s)
        fate = self.deliveries.popleft() if self.deliveries else None
        if fate is not None:
            self.happened[f"delivery: {fate}"] += 1
        if fate == "request lost":
            raise TransportError("no way")
        if fate == "dies before":
            raise HostDied(path)
        self.around("before the answer")
        status, answer = self.line.post(path, body, timeout_s)
        self.around("after the answer")
        if fate == "answer lost":
            raise TransportError("no way back")
        if fate == "dies after":
            raise HostDied(path)
        if fate == "twice":
            assert self.line.post(path, body, timeout_s)[0] in (200, 202)
        if fate == "another after it":
            assert self.line.post(path, body | {"stdout": "something else"}, timeout_s)[0] == 409
        if fate == "the one before again" and self._before is not None:
            assert self.line.post(*self._before, timeout_s)[0] in (200, 202)
        self._before = (path, body)
        return status, answer

    def _poll(self, path: str, body: dict[str, Any], timeout_s: float) -> tuple[int, Any]:
        status, answer = self.line.post(path, body, timeout_s)
        if answer and answer.get("command") and self.claims and self.claims.popleft():
            self.happened["claim lost"] += 1
            raise TransportError("no way back")
        return status, answer

    def forget(self) -> None:
        self._before = None


class Desk(Bench):
    """A bench whose host is started again when it has died, on the same journal."""

    host: ScriptedHost

    def __init__(self, folder: Path) -> None:
        self.happened: Counter[str] = Counter()
        super().__init__(folder, None, scripts_of(JOBS), ScriptedHost(self.happened))
        self.line = BadLine(self._link._transport, self.happened)
        self.vendor = BadVendor(scripts_of(JOBS), self.happened)
        self._clients: dict[str, tuple[ModelClient, httpx2.AsyncClient]] = {}
        self._closing = False
        self._link = self._new_link(self._connected.set)

    def _new_link(self, connected: Callable[[], None]) -> Link:
        return Link(self.host, self.journal, self.line, self.log.append, connected)

    def _serve(self) -> None:
        while not self._closing:
            try:
                self._link.run()
            except HostDied:
                self._link = self._new_link(lambda: None)
            except BaseException as error:  # noqa: BLE001 - raised again by `close`, in the thread of the test
                self._failures.append(error)
                return

    def client(self, model: ModelSpec) -> ModelClient:
        """One for all processes of the cloud: it takes long to make. Each has connections of its own, for a dialect may
        change what comes through them."""
        if model.id not in self._clients:
            access, http = self.services.access(model), httpx2.AsyncClient(transport=self.vendor)
            assert access is not None
            self._clients[model.id] = client_of(model.dialect, access, http), http
        return self._clients[model.id][0]

    def close(self) -> None:
        self._closing = True
        for _, http in self._clients.values():
            self.wait(http.aclose())
        super().close()

    def wait_until_idle(self) -> None:
        """Until the host has nothing in hand, and the server all of its answers."""
        while not self._idle():
            time.sleep(0.01)

    def _idle(self) -> bool:
        if self._failures:
            raise self._failures[0]
        slot = self.services.store.table.get(f"HOST#{self.host_id}", "SLOT")
        return slot is None and not self.journal.unsettled() and not self.journal.undelivered()


@contextlib.contextmanager
def desk(folder: Path) -> Iterator[Desk]:
    """A desk whose waits are short: there are many histories."""
    with pytest.MonkeyPatch.context() as patch, aws():
        for name, seconds in WAITS.items():
            patch.setattr(rendezvous, name, seconds)
        patch.setattr(executor, "SLOT_WAIT_S", 3.0)
        patch.setattr(working, "CANCEL_SEEN_EVERY_S", 0.03)
        patch.setattr(asking, "backoff_s", lambda attempt, asked_s: 0.01)
        patch.setattr("functions.host_poll.handler.LOOK_EVERY_S", 0.03)
        patch.setattr(links, "FIRST_BEAT_AFTER_S", 0.02)
        for module in (links, outbox):
            patch.setattr(module, "backoff", lambda failures: 0.01)
        made = Desk(folder)
        try:
            made.start()
            made.wait(_many_threads())
            yield made
        finally:
            made.close()


async def _many_threads() -> None:
    """A process that stands still holds the threads of its writes."""
    asyncio.get_running_loop().set_default_executor(ThreadPoolExecutor(64))
