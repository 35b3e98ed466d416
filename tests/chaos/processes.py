"""A process of the cloud on a bad day: it dies at a write, or stands still there while another takes its place."""

from __future__ import annotations

import itertools
import threading
from collections import Counter, deque
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any, Literal

import httpx2
from drafthand.services import Services
from drafthand.store import Store
from drafthand.store.bodies import Bodies
from drafthand.store.hosts import Hosts
from drafthand.store.scripts import Scripts
from drafthand.store.sessions import Sessions
from drafthand.store.table import Put, Table, Write

from local.rehearsal.script import Script
from local.rehearsal.server import create_app
from tests.bench import shared_services

Kind = Literal["lives", "dies before a write", "dies after a write", "stands still before a write"]


class Died(Exception):
    """What a process that is dead can't tell anybody."""


@dataclass(frozen=True)
class Fate:
    """`write` is the number of the write at which it befalls the process; `cancel` the one before which a person stops
    the run; `within_s` is the process's own deadline."""

    kind: Kind = "lives"
    write: int = 0
    cancel: int | None = None
    within_s: float | None = None


@dataclass
class Journal:
    """What all processes of a history wrote: (process, key) of each chunk batch and message, in order."""

    entries: list[tuple[int, str]] = field(default_factory=list)
    lock: Any = field(default_factory=threading.RLock)


class Process(Services):
    """One process that serves the desk's user, with the fate it has."""

    def __init__(
        self, desk: Any, number: int, fate: Fate, journal: Journal, stop: Callable[[], None], happened: Counter[str]
    ) -> None:
        super().__init__(desk.services.settings, own_store())
        self.number, self.fate, self.journal, self.stop, self.happened = number, fate, journal, stop, happened
        self.stands = threading.Event()
        self.goes_on = threading.Event()
        self.dead = False
        self.desk = desk
        self._counted = itertools.count(1)
        table: Any = self.store.table
        table.write, table.transact = self._fated(table.write), self._fated(table.transact)

    def client(self, model: Any) -> Any:
        return self.desk.client(model)

    def _fated(self, write: Callable[..., None]) -> Callable[..., None]:
        def fated(*writes: Write) -> None:
            number, fate = next(self._counted), self.fate
            due = number >= fate.write
            if self.dead or (due and fate.kind == "dies before a write"):
                self._dies()
            if number == fate.cancel:
                self.stop()
            if due and fate.kind == "stands still before a write" and not self.goes_on.is_set():
                if not self.stands.is_set():
                    self.happened[f"process {fate.kind}"] += 1
                self.stands.set()
                self.goes_on.wait()
            with self.journal.lock:
                write(*writes)
                self.journal.entries += [(self.number, key) for key in _appended(writes)]
            if due and fate.kind == "dies after a write":
                self._dies()

        return fated

    def _dies(self) -> None:
        if not self.dead:
            self.happened[f"process {self.fate.kind}"] += 1
        self.dead = True
        raise Died


def _appended(writes: Sequence[Write]) -> Iterator[str]:
    for each in writes:
        if isinstance(each, Put) and each.item["sk"].startswith(("MSG#", "EVT#")):
            yield f"{each.item['pk']} {each.item['sk']}"


def own_store() -> Store:
    """A store of its own over the same table and bucket."""
    shared = shared_services().store
    rows, bodies = Table(shared.table.client, shared.table.name), Bodies(shared.blobs)
    return Store(rows, shared.blobs, bodies, Sessions(rows, bodies), Hosts(rows), Scripts(rows))


class BadVendor(httpx2.AsyncBaseTransport):
    """The rehearsal server, in process; `faults` befall one request each."""

    def __init__(self, scripts: Sequence[Script], happened: Counter[str]) -> None:
        self.scripts, self.happened = scripts, happened
        self.faults: deque[str | None] = deque()
        self.well = httpx2.ASGITransport(app=create_app(scripts))

    async def handle_async_request(self, request: httpx2.Request) -> httpx2.Response:
        fault = self.faults.popleft() if self.faults else None
        if fault is None:
            return await self.well.handle_async_request(request)
        self.happened[f"vendor {fault}"] += 1
        ill = httpx2.ASGITransport(app=create_app(self.scripts, faults=[fault]))
        return await ill.handle_async_request(request)
