"""Everything on one machine: store, rehearsal model, the three functions and the page, an IFC host."""

from __future__ import annotations

import argparse
import asyncio
import contextlib
import fcntl
import hashlib
import json
import os
import secrets
import signal
import socket
import sys
from collections.abc import AsyncIterator, Iterator
from contextlib import AsyncExitStack
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, NoReturn

from local import children
from local.children import Child

if TYPE_CHECKING:
    from starlette.applications import Starlette

NAME = "drafthand"
"""Of the embedded store's table and bucket."""
HOST_ID = "host_ifc"
HOST_RESTART_S = 1.0
NOT_USABLE = 2
"""Our exit code for what can't be worked with."""
NOT_A_MODEL = 2
"""The IFC host's exit code for a file that it can't open."""


class Unusable(Exception):
    """What was given can't be worked with; the text says what, and what to do."""


@dataclass(frozen=True)
class Options:
    """`folder` holds everything that is kept; `pace` is the rehearsal's tokens per second, 0 for as fast as it goes;
    `rehearsals` is a folder of scripts to play instead of the bundled ones."""

    port: int
    folder: Path
    model: Path | None
    fresh_sample: Path | None
    pace: float
    rehearsals: Path | None
    store: str


def parse(arguments: list[str] | None = None) -> Options:
    parser = argparse.ArgumentParser(prog="drafthand up", description=__doc__)
    parser.add_argument("--port", type=int, default=8787)
    parser.add_argument("--folder", type=Path, default=Path(".drafthand"))
    parser.add_argument("--model", type=Path, default=os.environ.get("MODEL") or None)
    parser.add_argument("--fresh-sample", type=Path, help="write the sample building here, and use it")
    parser.add_argument("--pace", type=float, default=60.0)
    parser.add_argument("--rehearsals", type=Path)
    parser.add_argument("--store", choices=["embedded", "aws"], default=os.environ.get("STORE", "embedded"))
    return Options(**vars(parser.parse_args(arguments)))


def the_model(options: Options) -> Path:
    """The file that was named, or the sample building, made by our own script on first use."""
    path = options.model or options.fresh_sample or options.folder / "sample.ifc"
    if options.model is None and (options.fresh_sample or not path.exists()):
        from hosts.ifc.sample import build_sample

        unfinished = path.with_suffix(".new.ifc")  # what is stopped half-way must not be taken for the sample
        build_sample(unfinished)
        unfinished.replace(path)
    return path.resolve()


def listen(port: int) -> socket.socket:
    """A socket that is ours before anything is started or announced. Raises SystemExit for a port that is taken."""
    listener = socket.socket()
    listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    try:
        listener.bind(("127.0.0.1", port))
    except OSError as error:
        raise SystemExit(f"Port {port} can't be used: {error.strerror}. Choose another with --port.") from None
    listener.listen(128)
    return listener


def write_private(path: Path, text: str) -> None:
    """Readable by its owner only, and never half-written."""
    unfinished = path.with_suffix(".new")
    with open(os.open(unfinished, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600), "w") as file:
        file.write(text)
    unfinished.replace(path)


def user_token(folder: Path) -> str:
    """The one user's token, made on first use."""
    path = folder / "token"
    if not path.exists():
        write_private(path, secrets.token_urlsafe(24))
    return path.read_text()


async def start_store(options: Options, running: AsyncExitStack) -> Child:
    """The embedded store, and its address in the environment."""
    port = children.free_port()
    os.environ |= {
        "DRAFTHAND_ENDPOINT_URL": f"http://127.0.0.1:{port}",
        "DRAFTHAND_TABLE": NAME,
        "DRAFTHAND_BUCKET": NAME,
        "AWS_ACCESS_KEY_ID": "local",
        "AWS_SECRET_ACCESS_KEY": "local",
        "AWS_DEFAULT_REGION": "us-east-1",
    }
    log = options.folder / "logs" / "store.log"
    arguments = [str(port), str(options.folder / "store")]
    return await running.enter_async_context(children.child("local.store_server", *arguments, log=log, port=port))


async def start_rehearsal(options: Options, running: AsyncExitStack) -> Child:
    port = children.free_port()
    os.environ["DRAFTHAND_REHEARSAL_URL"] = f"http://127.0.0.1:{port}"
    arguments = ["--port", str(port), "--tokens-per-second", str(options.pace)]
    arguments += ["--scripts", str(options.rehearsals)] if options.rehearsals else []
    log = options.folder / "logs" / "rehearsal.log"
    return await running.enter_async_context(children.child("local.rehearsal", *arguments, log=log, port=port))


async def keep_host(options: Options, model: Path, url: str) -> None:
    """The IFC host, started again when it dies; returns when the file can't be opened."""
    from drafthand.auth import LOCAL_OWNER
    from drafthand.services import services

    _, token = await asyncio.to_thread(services().store.hosts.create, LOCAL_OWNER, HOST_ID)
    arguments = [str(model), "--url", url, "--journal", str(options.folder / "journal")]
    log = options.folder / "logs" / "host.log"
    while True:
        async with children.child("hosts.ifc", *arguments, log=log, env={"DRAFTHAND_HOST_TOKEN": token}) as host:
            code = await host.process.wait()
        if code == NOT_A_MODEL:
            print(f"The IFC host could not open {model}: see {log}.", flush=True)
            return
        print(f"The IFC host ended with code {code}; starting it again. Its log: {log}.", flush=True)
        await asyncio.sleep(HOST_RESTART_S)


def load(options: Options, port: int) -> tuple[Path, Starlette]:
    """The document, and the functions and the page ready to be served. What takes seconds to import is imported here.

    Raises:
        Unusable: the user's own models file can't be used, or another setting.
    """
    from drafthand.services import BadSetting, services
    from drafthand.vendors.models import BadModelFile

    from local.front import make_app

    try:
        services().available()
    except (BadModelFile, BadSetting) as error:
        raise Unusable(str(error)) from None
    return the_model(options), make_app(port)


@contextlib.asynccontextmanager
async def serving(app: Starlette, listener: socket.socket) -> AsyncIterator[asyncio.Task[None]]:
    """The functions and the page, served while the block runs."""
    import uvicorn

    class Server(uvicorn.Server):
        """Leaves signals to us: uvicorn would raise them again after its own end, before ours."""

        @contextlib.contextmanager
        def capture_signals(self) -> Iterator[None]:
            yield

    server = Server(uvicorn.Config(app, log_level="warning", timeout_graceful_shutdown=3))
    task = asyncio.create_task(server.serve([listener]))
    try:
        yield task
    finally:
        server.should_exit = True
        await asyncio.wait({task})


@contextlib.asynccontextmanager
async def hosting(options: Options, model: Path, url: str) -> AsyncIterator[None]:
    """The IFC host, kept while the block runs."""
    task = asyncio.create_task(keep_host(options, model, url))
    try:
        yield
    finally:
        task.cancel()
        await asyncio.wait({task})


@contextlib.contextmanager
def findable(folder: Path, url: str, token: str) -> Iterator[None]:
    """The file in which the command line finds this server."""
    path = folder / "local.json"
    write_private(path, json.dumps({"url": url, "token": token, "pid": os.getpid()}))
    try:
        yield
    finally:
        path.unlink()


@contextlib.contextmanager
def sole_user(folder: Path) -> Iterator[None]:
    """Holds the folder's lock: two stores in one folder would write over each other."""
    folder.mkdir(parents=True, exist_ok=True)
    with (folder / "lock").open("w") as lock:
        try:
            fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            raise SystemExit(f"Another server runs from {folder}. Stop it, or choose another --folder.") from None
        yield


def announce(options: Options, model: Path, url: str, token: str) -> None:
    from drafthand.services import services

    offered = ", ".join(spec.label for spec in services().available().values())
    print(f"Drafthand is up: {url}/#token={token}")
    print(f"  document   {model}")
    print(f"  models     {offered}")
    print(f"  kept in    {options.folder} (a hard kill loses at most the last minute; STORE=aws is the durable one)")
    print("  stop       Ctrl+C", flush=True)


async def run(options: Options, listener: socket.socket) -> NoReturn:
    """Everything, until cancelled: what was started by then is stopped, the store last.

    Raises:
        Unusable: the user's own models file can't be used, or another setting.
        ChildFailed: a part did not start, or was lost.
    """
    token = user_token(options.folder)
    port = listener.getsockname()[1]
    url = f"http://127.0.0.1:{port}"
    os.environ["DRAFTHAND_LOCAL_TOKEN_SHA256"] = hashlib.sha256(token.encode()).hexdigest()
    os.environ["DRAFTHAND_WAKE_URL"] = f"{url}/events"
    os.environ["DRAFTHAND_POLL_HOLD_S"] = "2"  # on loopback a poll costs nothing, and a stop is not kept waiting
    async with AsyncExitStack() as running:
        parts = [await start_store(options, running)] if options.store == "embedded" else []
        parts.append(await start_rehearsal(options, running))
        model, app = await asyncio.to_thread(load, options, port)  # while they start
        for part in parts:
            await children.ready(part)
        if options.store == "embedded":
            from local import stack

            await asyncio.to_thread(stack.create, os.environ["DRAFTHAND_ENDPOINT_URL"], NAME, NAME)
        await running.enter_async_context(hosting(options, model, url))
        server = await running.enter_async_context(serving(app, listener))
        with findable(options.folder, url, token):
            announce(options, model, url, token)
            lost = [asyncio.create_task(part.process.wait()) for part in parts]
            await asyncio.wait({server, *lost}, return_when=asyncio.FIRST_COMPLETED)
    raise children.ChildFailed(f"a part of it was lost; see {options.folder / 'logs'}")


async def up(options: Options, listener: socket.socket, stopped: int) -> NoReturn:
    """Run until SIGINT or SIGTERM, at whatever moment it comes; then end the process: with 0, or `stopped` on SIGINT.

    Raises as `run` does.
    """
    loop = asyncio.get_running_loop()
    asked: asyncio.Queue[int] = asyncio.Queue()
    loop.add_signal_handler(signal.SIGINT, asked.put_nowait, stopped)
    loop.add_signal_handler(signal.SIGTERM, asked.put_nowait, 0)
    running = asyncio.create_task(run(options, listener))
    stop = asyncio.create_task(asked.get())
    await asyncio.wait({running, stop}, return_when=asyncio.FIRST_COMPLETED)
    if stop.done():
        running.cancel()
        await asyncio.wait({running})
        if running.cancelled():
            sys.stdout.flush()
            # A thread may still be importing, or asking a store that has ended; it must not hold the end up.
            os._exit(stop.result())
    running.result()
    raise AssertionError("it runs until it is stopped")


def main(stopped: int) -> None:
    options = parse()
    with sole_user(options.folder):
        try:
            asyncio.run(up(options, listen(options.port), stopped))
        except children.ChildFailed as error:
            raise SystemExit(f"Drafthand has ended: {error}") from None
        except Unusable as error:
            print(error, file=sys.stderr)
            raise SystemExit(NOT_USABLE) from None
