"""Processes of ours, started, watched and ended by their id."""

import asyncio
import contextlib
import os
import socket
import sys
from collections.abc import AsyncIterator, Callable, Mapping
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


async def start(module: str, *arguments: str, log: Path, env: Mapping[str, str]) -> asyncio.subprocess.Process:
    """`python -m module arguments`, its output appended to `log`, its environment ours and `env`; it ends with us.

    In a process group of its own: Ctrl+C reaches us alone, and we end our children in the right order.
    """
    log.parent.mkdir(parents=True, exist_ok=True)
    with log.open("ab") as output:
        return await asyncio.create_subprocess_exec(
            sys.executable,
            "-m",
            "local.tied",
            module,
            *arguments,
            stdin=asyncio.subprocess.PIPE,
            stdout=output,
            stderr=output,
            env=os.environ | env,
            start_new_session=True,
        )


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


@contextlib.asynccontextmanager
async def server(
    module: str, port: int, *arguments: str, log: Path, env: Mapping[str, str]
) -> AsyncIterator[asyncio.subprocess.Process]:
    """A server process that accepts connections on `port` while the block runs.

    Raises:
        ChildFailed: it ended, or accepted nothing within READY_WITHIN_S.
    """
    process = await start(module, *arguments, log=log, env=env)
    try:
        await asyncio.wait_for(accepts(port, lambda: _ended(process, module, log)), READY_WITHIN_S)
        yield process
    except TimeoutError as error:
        raise ChildFailed(f"{module} did not start within {READY_WITHIN_S:.0f} s; see {log}") from error
    finally:
        await stop(process)


def _ended(process: asyncio.subprocess.Process, module: str, log: Path) -> str | None:
    return None if process.returncode is None else f"{module} ended with code {process.returncode}; see {log}"


async def accepts(port: int, failure: Callable[[], str | None]) -> None:
    """Return when something accepts connections on `port`. Raises ChildFailed as soon as `failure` gives a reason."""
    while True:
        if reason := failure():
            raise ChildFailed(reason)
        try:
            _, writer = await asyncio.open_connection("127.0.0.1", port)
        except ConnectionRefusedError:
            await asyncio.sleep(0.05)
        else:
            writer.close()
            return
