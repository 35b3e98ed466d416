"""A whole local server whose processes are killed with SIGKILL at random times while a run is worked on."""

from __future__ import annotations

import os
import random
import shutil
import signal
import threading
import time
from collections import Counter
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import httpx2
import yaml

from clients.cli.api import Api, ApiError, Chunk, NoServer
from tests.flow.doors import changed_ids
from tests.flow.served import Served, kinds, serve
from tests.flow.test_kills import FALLBACK, processes

VICTIMS = {
    "the whole server": None,
    "the host's supervisor": "hosts.ifc",
    "the host's worker": "hosts.ifc.worker",
    "the store": "local.store_server",
}
PACE = 120.0
"""Tokens a second: the run takes some seconds, so that it can be hit anywhere."""
GONE_WITHIN_S = 30.0
CODE = """
import pathlib, time
with (pathlib.Path({here!r}) / "executions").open("a") as file:
    file.write("{door}\\n")
model.by_type("IfcDoor")[{door}].Name = "renamed"
time.sleep(0.3)
"""


@dataclass
class Watched:
    """A reader that comes again until the run has ended or nobody knows it; `saw` are the chunks by their numbers."""

    saw: dict[int, Chunk] = field(default_factory=dict)
    lost: list[str] = field(default_factory=list)

    def take(self, seq: int, chunk: Chunk) -> None:
        if self.saw.setdefault(seq, chunk) != chunk:
            self.lost.append(f"chunk {seq} came again as another")

    def read(self, api: Api, run_id: str | None) -> str:
        """Read on, or begin; the run's id. Returns when the connection is lost or the run has ended."""
        try:
            if run_id is None:
                body = {"message": "Rename two doors", "model": "rehearsal"}
                with api.client.stream("POST", "/runs", json=body) as response:
                    run_id = Api._checked(response).headers["X-Run-Id"]
                    self._take_all(response)
            else:
                after = {"after": max(self.saw, default=0)}
                with api.client.stream("GET", f"/runs/{run_id}/events", params=after) as response:
                    self._take_all(Api._checked(response))
        except httpx2.TransportError:
            pass  # it was killed: that is what this is about
        assert run_id is not None, "the server was gone before there was a run"
        return run_id

    def _take_all(self, response: httpx2.Response) -> None:
        for numbered in Api._events(response):
            self.take(*numbered)

    @property
    def ended(self) -> bool:
        return any(chunk["type"] in ("Complete", "Error") for chunk in self.saw.values())


def killed(folder: Path, sample: Path, seed: int, happened: Counter[str]) -> list[str]:
    """Play the history of a seed; what is violated."""
    folder.mkdir()
    rng = random.Random(seed)
    victim, after_s = rng.choice(list(VICTIMS)), rng.uniform(0.2, 4.0)
    model = Path(shutil.copy(sample, folder / "model.ifc"))
    scripts = _scripts(folder)
    watched = Watched()
    with serve(folder / "state", model, rehearsals=scripts, pace=PACE) as served:
        timer = threading.Timer(after_s, _kill, (served, victim, happened))
        timer.start()
        run_id = watched.read(served.api, None)
        timer.join()
        while served.process.poll() is None and not watched.ended:
            watched.read(served.api, run_id)  # only the host was killed
        if watched.ended:
            return _violations(served.api, run_id, watched, sample, model, folder)
        served.process.wait()
    return _restarted(folder, sample, model, scripts, run_id, watched, victim)


def _restarted(
    folder: Path, sample: Path, model: Path, scripts: Path, run_id: str, watched: Watched, victim: str
) -> list[str]:
    _wait_for_the_orphans(folder)
    with serve(folder / "state", model, rehearsals=scripts) as served:
        try:
            until = time.monotonic() + 90
            while not watched.ended and time.monotonic() < until:
                watched.read(served.api, run_id)
        except ApiError as error:
            # An embedded store that is killed hard loses its last minute; it says so when it starts.
            forgotten = victim == "the store" and error.problem["status"] == 404
            return [] if forgotten else [f"the run can't be read any more: {error}"]
        return _violations(served.api, run_id, watched, sample, model, folder)


def _scripts(folder: Path) -> Path:
    """A rehearsal that renames one door after the other; each script notes that it was executed."""
    scripts = folder / "scripts"
    scripts.mkdir()
    (scripts / "fallback.yaml").write_text(FALLBACK)
    turns: list[dict[str, Any]] = []
    for door in (0, 1):
        code = CODE.format(here=str(folder), door=door)
        call = {"tool": "execute_task_automation", "input": {"summary": f"Door {door}.", "code": code}}
        turns.append({"name": f"door{door}", "think": "I choose a door.", "say": "I rename a door.", "call": call})
    turns.append({"name": "end", "say": "That is the end of it."})
    job = {"name": "rename", "title": "Rename two doors", "match": "rename two doors", "turns": turns}
    (scripts / "rename.yaml").write_text(yaml.safe_dump(job, sort_keys=False))
    return scripts


def _kill(served: Served, victim: str, happened: Counter[str]) -> None:
    module = VICTIMS[victim]
    found = [served.process.pid] if module is None else processes(served, module)
    if found:
        os.kill(found[0], signal.SIGKILL)
        happened[f"SIGKILL to {victim}"] += 1


def _wait_for_the_orphans(folder: Path) -> None:
    """What a killed server has started ends by itself."""
    until = time.monotonic() + GONE_WITHIN_S
    while any(_mentions(entry, str(folder)) for entry in Path("/proc").iterdir() if entry.name.isdigit()):
        assert time.monotonic() < until, "what a killed server had started goes on"
        time.sleep(0.05)


def _mentions(process: Path, folder: str) -> bool:
    try:
        return folder.encode() in (process / "cmdline").read_bytes()
    except (FileNotFoundError, ProcessLookupError):
        return False


def _violations(api: Api, run_id: str, watched: Watched, sample: Path, model: Path, folder: Path) -> list[str]:
    found = list(watched.lost)
    try:
        chunks = list(api.follow(run_id))
    except (ApiError, NoServer) as error:
        return [*found, f"no replay: {error}"]
    replayed = dict(enumerate(chunks, start=1))
    if replayed != watched.saw:
        found.append(f"read {sorted(watched.saw)}, replayed {len(chunks)}")
    if [chunk["type"] in ("Complete", "Error") for chunk in chunks].count(True) != 1:
        found.append("the run has not exactly one end")
    executions = folder / "executions"
    done: list[str] = executions.read_text().split() if executions.exists() else []
    if any(times > 1 for times in Counter(done).values()):
        found.append(f"a script was executed twice: {done}")
    told: list[dict[str, Any]] = kinds(chunks, "tool_result")
    committed = sum(result["changed"]["modified"] for result in told if result["outcome"] == "committed")
    unsure = sum(result["outcome"] in ("unknown", "refused") for result in told)
    changed = len(changed_ids(sample, model)[1])
    if not committed <= changed <= committed + unsure:
        found.append(f"{changed} doors were changed; told were {[result['outcome'] for result in told]}")
    return found
