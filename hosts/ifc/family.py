"""How the host's processes depend on one another: who dies with whom, and how to know that all are gone.

    supervisor -> worker -> runner -> whatever a script starts

Linux has exact means (prctl); elsewhere a worker notices by its closed channel that the supervisor has gone, and a
runner by its own before it saves anything.
"""

import ctypes
import os
import signal
import sys
import time
from contextlib import suppress
from pathlib import Path

try:
    import fcntl
except ImportError:  # Windows
    fcntl = None

PR_SET_PDEATHSIG, PR_SET_DUMPABLE, PR_SET_CHILD_SUBREAPER = 1, 4, 36  # <linux/prctl.h>


class Busy(Exception):
    """Another family of processes still holds the lock."""


def die_with_parent(parent: int) -> None:
    """Have this process killed when its parent ends. `parent` is the pid it should have: it may be gone already."""
    if os.name != "posix":
        return
    _prctl(PR_SET_PDEATHSIG, signal.SIGKILL)
    if os.getppid() != parent:
        os._exit(1)


def outlive_parent() -> None:
    """Take `die_with_parent` back."""
    _prctl(PR_SET_PDEATHSIG, 0)


def adopt_orphans() -> None:
    """Become the parent of descendants whose own parent ends, so that they can be found and ended."""
    _prctl(PR_SET_CHILD_SUBREAPER, 1)


def hide_from_children() -> None:
    """Keep other processes of this user from reading this one's memory and environment (the host's token)."""
    _prctl(PR_SET_DUMPABLE, 0)


def offer_to_oom_killer(offered: bool) -> None:
    """Ask the kernel to choose this process first when memory runs out, or take that back."""
    with suppress(OSError):
        Path("/proc/self/oom_score_adj").write_text("900" if offered else "0")


def threads() -> int:
    """Number of threads in this process, those of C libraries included; 1 where the system doesn't tell."""
    tasks = Path("/proc/self/task")
    return len(list(tasks.iterdir())) if tasks.is_dir() else 1


def end_children() -> None:
    """Kill what a script left running, and reap it. For a process that has no other children."""
    listed = Path(f"/proc/self/task/{os.getpid()}/children")
    while listed.exists() and (children := listed.read_text().split()):
        for child in children:
            with suppress(ProcessLookupError):
                os.kill(int(child), signal.SIGKILL)
            with suppress(ChildProcessError):
                os.waitpid(int(child), 0)  # its own children, if any, are ours now


def hold_lock(folder: Path, seconds: float) -> int | None:
    """Take the lock of a journal folder for this process and all it forks; it opens when the last of them ends.

    Returns the descriptor that must stay open (None on Windows, which has no such lock).
    Raises Busy when it isn't free within so many seconds.
    """
    if fcntl is None:
        return None
    descriptor = os.open(folder / "lock", os.O_RDWR | os.O_CREAT, 0o600)
    give_up_at = time.monotonic() + seconds
    while True:
        try:
            fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
            return descriptor
        except BlockingIOError:
            if time.monotonic() > give_up_at:
                os.close(descriptor)
                raise Busy(str(folder)) from None
            time.sleep(0.02)


def _prctl(option: int, value: int) -> None:
    if sys.platform != "linux":
        return
    libc = ctypes.CDLL(None, use_errno=True)
    if libc.prctl(option, ctypes.c_ulong(value), 0, 0, 0) != 0:
        raise OSError(ctypes.get_errno(), f"prctl({option}) failed")
