"""The fork checkpoint: a command runs in a copy of the worker, and the worker itself stands untouched.

Whatever the copy does to the model, to Python or to itself is undone by its end. Only one that has saved the model
takes the worker's place, and the old worker ends. Needs a worker with a single thread.
"""

import os
import signal
import time
import traceback
from contextlib import suppress
from typing import TYPE_CHECKING

from hosts.ifc import channel, family, isolate, runner, side_work
from hosts.ifc.channel import Channel, ChannelLost
from hosts.ifc.surroundings import Surroundings

if TYPE_CHECKING:
    from hosts.ifc.worker import Worker

BROKEN = 70  # EX_SOFTWARE of <sysexits.h>


class Forked:
    """The worker's handle on a forked runner."""

    def __init__(self, pid: int, line: Channel):
        self.pid = pid
        self.line = line

    def end(self, patience_s: float = 0.0) -> str:
        """Make sure that the runner and all it started are gone; returns how it ended."""
        give_up_at = time.monotonic() + patience_s
        pid, status = os.waitpid(self.pid, os.WNOHANG)
        while not pid and time.monotonic() < give_up_at:
            time.sleep(0.005)
            pid, status = os.waitpid(self.pid, os.WNOHANG)
        if not pid:
            os.kill(self.pid, signal.SIGKILL)
            _, status = os.waitpid(self.pid, 0)
        with suppress(ProcessLookupError, PermissionError):
            os.killpg(self.pid, signal.SIGKILL)
        family.end_children()
        self.line.close()
        return isolate.describe_status(status)


def launch(worker: "Worker", command: dict) -> Forked | None:
    """Fork a runner for a command.

    Returns its handle, and in the forked process None: that one has saved the model, answered, and is the worker now.
    """
    ours, theirs = channel.pair()
    parent = os.getpid()
    pid = os.fork()
    if pid:
        theirs.close()
        with suppress(PermissionError, ProcessLookupError):  # it may have done so itself, or be gone
            os.setpgid(pid, pid)
        return Forked(pid, ours)
    succeeded = False
    try:
        ours.close()
        _run(worker, command, theirs, parent)
        succeeded = True
    except ChannelLost:
        pass  # whoever wanted this command has gone, or the script has closed our end
    except BaseException:  # noqa: BLE001 - told here; nothing but a successor may go on in the worker's code
        traceback.print_exc()
    finally:
        if not succeeded:
            os._exit(BROKEN)
    return None


def _run(worker: "Worker", command: dict, line: Channel, parent: int) -> None:
    """In the forked process: perform the command; returns only as the new worker."""
    family.die_with_parent(parent)
    family.adopt_orphans()
    family.offer_to_oom_killer(True)
    with suppress(PermissionError):  # the parent was faster
        os.setpgid(0, 0)
    surroundings = Surroundings()
    job = runner.Job(
        command=command,
        document=worker.document,
        journal=worker.journal,
        cache=worker.cache,
        line=line,
        isolate=isolate.in_fork,
    )
    result = runner.perform(job)
    holds_saved_model = job.saved and worker.document.version == result["document"]["version"]
    # A thread that the script has left behind could change the model at any later time.
    if not holds_saved_model or family.threads() > 1:
        line.send({"kind": "result", "result": result, "saved": job.saved})
        os._exit(0)
    _succeed(line, parent)
    surroundings.restore()
    side_work.forget(worker.cache, result["changed"])
    worker.succeeded(result)


def _succeed(line: Channel, parent: int) -> None:
    """Take the worker's place: let it end, and hang on to the supervisor, to whom we fall."""
    family.end_children()
    family.outlive_parent()
    line.send({"kind": "succeed"})
    with suppress(ChannelLost):
        line.receive()
    line.close()
    while os.getppid() == parent:
        time.sleep(0.001)
    family.die_with_parent(os.getppid())
    family.offer_to_oom_killer(False)
