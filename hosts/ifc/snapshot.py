"""The strategy where there is no fork: a command runs in a fresh process, on a model parsed from the worker's text.

Slower by an import and a parse, and as complete: the worker's own model never sees a script. After a commit the
worker ends and a new one opens the saved file.
"""

import os
import signal
import subprocess
import sys
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING

from hosts.ifc import channel, family, isolate, runner, spawn
from hosts.ifc.channel import Channel, ChannelLost
from hosts.ifc.document import Document
from hosts.runtime.journal import Journal

if TYPE_CHECKING:
    from hosts.ifc.worker import Worker


class Spawned:
    """The worker's handle on a runner that is a process of its own."""

    def __init__(self, process: subprocess.Popen, line: Channel):
        self.pid = process.pid
        self.line = line
        self._process = process

    def end(self, patience_s: float = 0.0) -> str:
        """Make sure that the runner (and, on POSIX, all it started) is gone; returns how it ended."""
        try:
            self._process.wait(patience_s)
        except subprocess.TimeoutExpired:
            self._process.kill()
            self._process.wait()
        if os.name == "posix":
            with suppress(ProcessLookupError, PermissionError):
                os.killpg(self.pid, signal.SIGKILL)
            family.end_children()
        self.line.close()
        code = self._process.returncode
        return f"signal {signal.Signals(-code).name}" if code < 0 else f"exit code {code}"


def launch(worker: "Worker", command: dict) -> Spawned:
    """Start a runner process for a command and hand it the document."""
    ours, theirs = channel.pair()
    keep = [worker.lock] if worker.lock is not None else []
    process = spawn.start(__name__, theirs, keep, [str(os.getpid())], dict(os.environ))
    theirs.close()
    document = worker.document
    job = {
        "command": command,
        "journal": worker.journal.folder,
        "path": str(document.path),
        "version": document.version,
        "unreadable": document.unreadable,
    }
    with suppress(ChannelLost):  # it has died; whoever waits for its answer finds that out
        ours.send(job)
        ours.send_bytes(document.text.encode())
    return Spawned(process, ours)


def main(arguments: list[str]) -> None:
    """The runner process: `python -m hosts.ifc.snapshot HANDLE PARENT`."""
    handle, parent = arguments
    family.die_with_parent(int(parent))
    family.offer_to_oom_killer(True)
    line = channel.inherited(int(handle))
    given = line.receive()
    document = Document(Path(given["path"]), line.receive_bytes())
    document.version, document.unreadable = given["version"], given["unreadable"]
    job = runner.Job(
        command=given["command"],
        document=document,
        journal=Journal(given["journal"]),
        cache={},
        line=line,
        isolate=isolate.in_place,
    )
    result = runner.perform(job)
    line.send({"kind": "result", "result": result, "saved": job.saved})
    os._exit(0)  # not through Python's own end, which a script may have filled with its exit handlers


if __name__ == "__main__":
    main(sys.argv[1:])
