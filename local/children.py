"""Processes of ours, started, watched and ended by their id."""

import asyncio
import contextlib
import os
import socket
import sys
import time
from collections.abc import AsyncIterator, Mapping
from dataclasses import dataclass
from pathlib import Path

STOP_WITHIN_S = 10.0
READY_WITHIN_S = 30.0


class ChildFailed(Exception):
    """A process ended before it was ready; the text names its log."""


def free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port: int = probe.getsockname()[1]
        return port


@dataclass(frozen=True)
class Child:
    """`port` is where it will accept connections, where it does."""

    module: str
    log: Path
    process: asyncio.subprocess.Process
    port: int | None = None


@contextlib.asynccontextmanager
async def child(
    module: str, *arguments: str, log: Path, port: int | None = None, env: Mapping[str, str] | None = None
) -> AsyncIterator[Child]:
    """`python -m module arguments` while the block runs, its output appended to `log`, its environment ours and `env`.

    It ends with us, even when we are killed. It is in a process group of its own: Ctrl+C reaches us alone, and we end
    our children in the right order.
    """
    log.parent.mkdir(parents=True, exist_ok=True)
    with log.open("ab") as output:
        process = await asyncio.create_subprocess_exec(
            sys.executable,
            "-m",
            "local.tied",
            module,
            *arguments,
            stdin=asyncio.subprocess.PIPE,
            stdout=output,
            stderr=output,
            env=os.environ | (env or {}),
            start_new_session=True,
        )
    try:
        yield Child(module, log, process, port)
    finally:
        await stop(process)


async def stop(process: asyncio.subprocess.Process) -> None:
    """SIGTERM, then SIGKILL when it doesn't end within STOP_WITHIN_S."""
    if process.returncode is not None:
        return
    process.terminate()
    try:
        await asyncio.wait_for(process.wait(), STOP_WITHIN_S)
    except TimeoutError:
        process.kill()
        await process.wait()


async def ready(child: Child) -> None:
    """Return when it accepts connections.

    Raises:
        ChildFailed: it ended, or accepted nothing within READY_WITHIN_S.
    """
    until = time.monotonic() + READY_WITHIN_S
    while time.monotonic() < until:
        if child.process.returncode is not None:
            raise ChildFailed(f"{child.module} ended with code {child.process.returncode}; see {child.log}")
        try:
            _, writer = await asyncio.open_connection("127.0.0.1", child.port)
        except ConnectionRefusedError:
            await asyncio.sleep(0.02)
        else:
            writer.close()
            return
    raise ChildFailed(f"{child.module} did not start within {READY_WITHIN_S:.0f} s; see {child.log}")
