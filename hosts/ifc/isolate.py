"""Run our own side work where it can do no harm: in a forked process, under a time limit.

A report or a picture that raises, hangs or crashes the geometry kernel must not undo a script that succeeded.
"""

import os
import signal
import time
from collections.abc import Callable

from hosts.ifc import channel, family
from hosts.ifc.channel import ChannelLost

Work = Callable[[], bytes]
Isolate = Callable[[Work, float], bytes]


class Unfinished(Exception):
    """The work raised, crashed or took too long; the message says which."""


def in_fork(work: Work, seconds: float) -> bytes:
    """What `work` returns. Nothing else that it does reaches this process. Raises Unfinished."""
    ours, theirs = channel.pair()
    parent = os.getpid()
    child = os.fork()
    if child == 0:
        _answer(work, theirs, parent)
    theirs.close()
    try:
        answer = ours.receive_bytes() if ours.has_message(seconds) else None
    except ChannelLost:
        answer = b""
    finally:
        os.kill(child, signal.SIGKILL)
        _, status = os.waitpid(child, 0)
        ours.close()
    if answer is None:
        raise Unfinished(f"it took longer than {seconds:g} seconds")
    if not answer:
        raise Unfinished(f"its process crashed ({describe_status(status)})")
    if answer[:1] == b"!":
        raise Unfinished(answer[1:].decode())
    return answer[1:]


def in_place(work: Work, seconds: float) -> bytes:
    """The same where there is no fork: only what the work raises is held back. Raises Unfinished."""
    started_at = time.monotonic()
    try:
        data = work()
    except Exception as error:  # the callers turn whatever it was into a note
        raise Unfinished(f"{type(error).__name__}: {error}") from error
    if time.monotonic() - started_at > seconds:
        raise Unfinished(f"it took longer than {seconds:g} seconds")
    return data


def describe_status(status: int) -> str:
    """How a process ended, from what `os.waitpid` says."""
    if os.WIFSIGNALED(status):
        return f"signal {signal.Signals(os.WTERMSIG(status)).name}"
    return f"exit code {os.waitstatus_to_exitcode(status)}"


def _answer(work: Work, line: channel.Channel, parent: int) -> None:
    """The forked process: send what the work returns, or its error, and be gone."""
    try:
        family.die_with_parent(parent)
        line.send_bytes(b"+" + work())
    except BaseException as error:  # noqa: BLE001 - nothing may return into the code that forked
        line.send_bytes(f"!{type(error).__name__}: {error}".encode("utf-8", "replace"))
    finally:
        os._exit(0)
