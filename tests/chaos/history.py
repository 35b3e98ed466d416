"""One history: what befalls whom is drawn from a seed, and then played to its end."""

from __future__ import annotations

import asyncio
import itertools
import random
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any

from drafthand.errors import CallerError
from drafthand.runlog import Numbered
from drafthand.runs import StartRun, start_run
from drafthand.session import Run
from drafthand.working import Work, resume

from local.rehearsal.faults import FAULTS
from tests.chaos.host import DEEDS, DELIVERIES, Desk
from tests.chaos.processes import Died, Fate, Journal, Process
from tests.chaos.scripts import LAST_MESSAGE, MESSAGES

MODELS = ["rehearsal", "rehearsal-responses", "rehearsal-gemini", "rehearsal-chat"]
MOMENTS = ("at work", "before the answer", "after the answer")
"""When a person may stop a run, besides before a write: on the host, before and after the answer is stored."""
WITHIN_S = 60.0
BATCH = 25
"""DynamoDB takes that many deletes at once."""


@dataclass(frozen=True)
class Plan:
    """What befalls whom. `fates` has the processes of each run; the last one of a run always lives."""

    model: str
    messages: list[str]
    fates: list[list[Fate]]
    rivals: list[bool]
    thaw_late: bool
    deeds: list[str | None]
    deliveries: list[str | None]
    claims: list[bool]
    faults: list[str | None]
    stop: tuple[str, int] | None


def plan(seed: int) -> Plan:
    rng = random.Random(seed)
    messages = [rng.choice(MESSAGES) for _ in range(rng.choice([1, 1, 1, 2, 2, 3]))]
    rough = rng.choice([0.0, 0.15, 0.4])

    def some(options: Any, number: int, chance: float) -> list[Any]:
        return [rng.choice(options) if rng.random() < chance else None for _ in range(number)]

    return Plan(
        model=rng.choice(MODELS),
        messages=messages,
        fates=[[_fate(rng) for _ in range(rng.randint(0, 4))] for _ in messages],
        rivals=[rng.random() < 0.2 for _ in range(8)],
        thaw_late=rng.random() < 0.5,
        deeds=some(DEEDS, 8, rough),
        deliveries=some(DELIVERIES, 8, rough),
        claims=[rng.random() < rough for _ in range(4)],
        faults=some(FAULTS, 6, rng.choice([0.0, 0.0, 0.3])),
        stop=(rng.choice(MOMENTS), rng.randint(1, 3)) if rng.random() < 0.25 else None,
    )


def _fate(rng: random.Random) -> Fate:
    cancel = rng.randint(3, 25) if rng.random() < 0.08 else None
    match rng.choice(["before", "after", "stands", "deadline"]):
        case "before":
            return Fate("dies before a write", rng.randint(1, 20), cancel)
        case "after":
            return Fate("dies after a write", rng.randint(1, 20), cancel)
        case "stands":
            return Fate("stands still before a write", rng.randint(4, 20), cancel)
        case _:
            return Fate(cancel=cancel, within_s=rng.choice([0.0, rng.uniform(0.0, 0.3)]))


class History:
    """`runs` are the runs that were begun, `logs` their stored chunks, read when they are checked; `seen` is what the
    live reader of each process saw: (run id, numbered chunks)."""

    def __init__(self, desk: Desk, seed: int) -> None:
        self.desk, self.seed, self.plan = desk, seed, plan(seed)
        self.store = desk.services.store
        self.journal = Journal()
        self.runs: list[Run] = []
        self.session_id: str | None = None
        self.logs: dict[str, list[Numbered]] = {}
        self.seen: list[tuple[str, list[Numbered]]] = []
        self.applied_before = len(desk.host.applied)
        self._current: Run | None = None
        self._moments: dict[str, Iterator[int]] = {moment: itertools.count(1) for moment in MOMENTS}
        self._readers: list[asyncio.Task[None]] = []
        self._standing: list[tuple[Process, asyncio.Task[None]]] = []
        self._numbers = itertools.count(1)
        self._rivals = iter([*self.plan.rivals, *[False] * 100])

    async def play(self) -> None:
        """Raises TimeoutError where it doesn't come to its end."""
        host, line = self.desk.host, self.desk.line
        host.deeds.extend(self.plan.deeds)
        line.deliveries.extend(self.plan.deliveries)
        line.claims.extend(self.plan.claims)
        self.desk.vendor.faults.extend(self.plan.faults)
        line.around, host.at_work = self._moment, lambda: self._moment("at work")
        try:
            async with asyncio.timeout(WITHIN_S):
                for message, fates in zip(self.plan.messages, self.plan.fates, strict=True):
                    await self._run(message, iter([*fates, *[Fate()] * 100]))
                self._calm()
                await asyncio.to_thread(self.desk.wait_until_idle)
                await self._run(LAST_MESSAGE, itertools.repeat(Fate()))
                await asyncio.gather(*self._readers)
        finally:
            self._calm()
            self._thaw()
            await asyncio.gather(*self._readers, return_exceptions=True)

    def _calm(self) -> None:
        host, line = self.desk.host, self.desk.line
        for planned in (host.deeds, line.deliveries, line.claims, self.desk.vendor.faults):
            planned.clear()
        line.around, host.at_work = (lambda when: None), (lambda: None)

    def _moment(self, moment: str) -> None:
        if self.plan.stop == (moment, next(self._moments[moment])):
            self.stop(f"stopped {moment}")

    def stop(self, when: str = "stopped before a write") -> None:
        """A person stops the run that is being worked on."""
        if self._current is not None:
            self.desk.happened[when] += 1
            self.store.sessions.cancel_run(self._current)

    def _process(self, fate: Fate) -> Process:
        return Process(self.desk, next(self._numbers), fate, self.journal, self.stop, self.desk.happened)

    async def _run(self, message: str, fates: Iterator[Fate]) -> None:
        process, work, run = await self._begin(message, fates)
        self.runs.append(run)
        self._current, self.session_id = run, run.session_id
        while True:
            if work is not None:
                await self._watched(process, work)
            if self.store.sessions.run(run.owner, run.id).state != "running":
                break
            self._lease_runs_out(run)
            process, work = await self._next(run, fates)
            if not self.plan.thaw_late:
                self._thaw()
        self._current = None
        self._thaw()

    async def _begin(self, message: str, fates: Iterator[Fate]) -> tuple[Process, Work | None, Run]:
        """Post the message until there is a run."""
        facts: dict[str, Any] = {"session_id": self.session_id, "host_id": self.desk.host_id}
        while True:
            process = self._process(next(fates))
            request = StartRun(message=message, model=self.plan.model, **facts)
            try:
                work = await start_run(process, self.desk.owner, request, process.fate.within_s)
                return process, work, work.run
            except Died:
                if (run := self._begun()) is not None:
                    return process, None, run
            except CallerError as error:
                raise AssertionError(f"{error.status}: {error}") from error

    def _begun(self) -> Run | None:
        """The run that began although its process never learned it."""
        sessions = self.store.sessions
        newest = next(iter(sessions.of_owner(self.desk.owner)), None)
        return None if newest is None or newest.active_run is None else sessions.run(newest.owner, newest.active_run)

    def _lease_runs_out(self, run: Run) -> None:
        session = self.store.sessions.get(run.owner, run.session_id)
        if session.active_run == run.id:
            self.store.sessions.hand_over(session, run)

    async def _next(self, run: Run, fates: Iterator[Fate]) -> tuple[Process, Work | None]:
        """What the next reader does, or the next two at once; None where the process died in it."""
        processes = [self._process(next(fates)) for _ in range(2 if next(self._rivals) else 1)]
        took = await asyncio.gather(
            *(resume(each, run, each.fate.within_s) for each in processes), return_exceptions=True
        )
        works = [(each, work) for each, work in zip(processes, took, strict=True) if isinstance(work, Work)]
        for failure in took:
            if isinstance(failure, BaseException) and not isinstance(failure, Died):
                raise failure
        assert len(works) <= 1, "two processes took over one run"
        return works[0] if works else (processes[0], None)

    async def _watched(self, process: Process, work: Work) -> None:
        """Until the process works no more on it, or stands still."""
        numbered: list[Numbered] = []
        self.seen.append((work.run.id, numbered))
        self._readers.append(asyncio.create_task(_read(work, numbered)))
        if work.within_s is not None:
            self.desk.happened["process with a deadline"] += 1
        while not work.task.done() and not process.stands.is_set():
            await asyncio.wait({work.task}, timeout=0.01)
        if not work.task.done():
            self._standing.append((process, work.task))

    def _thaw(self) -> None:
        for process, _ in self._standing:
            process.goes_on.set()
        self._standing.clear()

    def forget(self) -> None:
        """moto copies its whole table at each transaction."""
        self.desk.line.forget()
        table = self.store.table
        keys = table.client.scan(TableName=table.name, ProjectionExpression="pk, sk")["Items"]
        deletes: list[Any] = [
            {"DeleteRequest": {"Key": key}} for key in keys if not key["pk"]["S"].startswith(("HOST#", "SCRIPT#"))
        ]
        for first in range(0, len(deletes), BATCH):
            table.client.batch_write_item(RequestItems={table.name: deletes[first : first + BATCH]})


async def _read(work: Work, numbered: list[Numbered]) -> None:
    async for each in work.log.live():
        numbered.append(each)  # noqa: PERF401 - what a reader had seen is kept when it is broken off


Check = Callable[[History], Iterator[str]]
