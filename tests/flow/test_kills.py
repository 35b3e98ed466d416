"""The host is killed hard at the worst moments: the file is whole, nothing runs twice, the run is told the truth."""

import os
import shutil
import signal
import subprocess
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from clients.cli.api import Chunk
from tests.flow.doors import changed_ids
from tests.flow.served import Served, kinds, serve

REHEARSAL = """
name: slow
title: Rename one door, slow
match: slow
turns:
  - name: change
    say: I rename one door, slowly.
    call:
      tool: execute_task_automation
      input:
        summary: Rename one door
        code: |
          import pathlib, time
          here = pathlib.Path({here!r})
          with (here / "executions").open("a") as file:
              file.write("once\\n")
          door = model.by_type("IfcDoor")[0]
          door.Name = "renamed"
          while not (here / "go").exists():
              time.sleep(0.01)
  - name: end
    say: That is the end of it.
"""

FALLBACK = "{name: fallback, title: Nothing else, turns: [{name: only, say: 'I only know slow.'}]}"


@pytest.fixture
def slow(tmp_path: Path, sample: Path) -> Iterator[Served]:
    """A server whose rehearsal runs a script that waits for the file `go`."""
    scripts = tmp_path / "scripts"
    scripts.mkdir()
    (scripts / "fallback.yaml").write_text(FALLBACK)
    (scripts / "slow.yaml").write_text(REHEARSAL.format(here=str(tmp_path)))
    shutil.copy(sample, tmp_path / "before.ifc")
    shutil.copy(sample, tmp_path / "model.ifc")
    with serve(tmp_path / "state", tmp_path / "model.ifc", rehearsals=scripts) as server:
        yield server


def wait_for(met: Callable[[], bool]) -> None:
    until = time.monotonic() + 60
    while not met():
        assert time.monotonic() < until, "it did not happen within a minute"
        time.sleep(0.01)


def processes(served: Served, module: str) -> list[int]:
    """Ids of the processes of this server's host that run `module`, in order of their start."""
    listed = subprocess.run(["ps", "-eo", "pid,ppid,args"], capture_output=True, text=True, check=True).stdout
    rows = [line.split(None, 2) for line in listed.splitlines()[1:]]
    ours = {served.process.pid}
    for _ in range(5):
        ours |= {int(pid) for pid, parent, _ in rows if int(parent) in ours}
    return [int(pid) for pid, _, arguments in rows if int(pid) in ours and f" {module} " in f"{arguments} "]


def started(served: Served, tmp_path: Path) -> Iterator[Chunk]:
    """A run whose script is in mid-execution."""
    chunks = served.api.run("slow", model="rehearsal")
    for chunk in chunks:
        if chunk["metadata"].get("kind") == "host" and chunk["metadata"]["state"] == "working":
            break
    wait_for((tmp_path / "executions").exists)
    return chunks


def test_a_worker_killed_in_mid_script_changes_nothing_and_the_run_is_told(slow: Served, tmp_path: Path) -> None:
    chunks = started(slow, tmp_path)

    os.kill(processes(slow, "hosts.ifc.worker")[0], signal.SIGKILL)
    (tmp_path / "go").touch()
    rest = list(chunks)

    (result,) = kinds(rest, "tool_result")
    assert (result["outcome"], result["ok"]) == ("crashed", False)
    assert rest[-1]["type"] == "Complete"
    assert (tmp_path / "model.ifc").read_bytes() == (tmp_path / "before.ifc").read_bytes()
    assert (tmp_path / "executions").read_text() == "once\n"


def test_a_supervisor_killed_after_the_commit_answers_from_its_journal(slow: Served, tmp_path: Path) -> None:
    chunks = started(slow, tmp_path)
    model, before = tmp_path / "model.ifc", tmp_path / "before.ifc"

    # The server stands still, so the answer can't be delivered before the supervisor is killed.
    os.kill(slow.process.pid, signal.SIGSTOP)
    (tmp_path / "go").touch()
    wait_for(lambda: model.read_bytes() != before.read_bytes())
    os.kill(processes(slow, "hosts.ifc")[0], signal.SIGKILL)
    os.kill(slow.process.pid, signal.SIGCONT)
    rest = list(chunks)

    (result,) = kinds(rest, "tool_result")
    assert (result["outcome"], result["changed"]) == ("committed", {"added": 0, "modified": 1, "deleted": 0})
    assert rest[-1]["type"] == "Complete"
    assert (tmp_path / "executions").read_text() == "once\n"
    added, modified, deleted = changed_ids(before, model)
    assert (added, len(modified), deleted) == (set(), 1, set())
