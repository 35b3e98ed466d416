"""Everything on one machine: store, rehearsal model, the three functions and the page, an IFC host.

`python -m local.up --help`; the command line's `drafthand up` runs the same.
"""

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
from asyncio.subprocess import Process
from collections.abc import AsyncIterator, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path

import uvicorn
from drafthand.auth import LOCAL_OWNER
from drafthand.services import services

from local import children, stack

HOST_ID = "host_ifc"
HOST_RESTART_S = 1.0
NOT_A_MODEL = 2
"""The IFC host's exit code for a file that it can't open."""


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
    parser = argparse.ArgumentParser(prog="drafthand up", description=__doc__.splitlines()[0] if __doc__ else "")
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

        build_sample(path)
    return path


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


def user_token(folder: Path) -> str:
    """The one user's token, made on first use and readable by its owner only."""
    path = folder / "token"
    if not path.exists():
        with open(os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600), "w") as file:
            file.write(secrets.token_urlsafe(24))
    return path.read_text()


@contextlib.asynccontextmanager
async def store_server(options: Options) -> AsyncIterator[Process | None]:
    """The store's address in the environment while the block runs; on AWS there is nothing to start."""
    if options.store == "aws":
        yield None
        return
    port = children.free_port()
    os.environ |= {
        "DRAFTHAND_ENDPOINT_URL": f"http://127.0.0.1:{port}",
        "DRAFTHAND_TABLE": stack.TABLE,
        "DRAFTHAND_BUCKET": stack.BUCKET,
        "AWS_ACCESS_KEY_ID": "local",
        "AWS_SECRET_ACCESS_KEY": "local",
        "AWS_DEFAULT_REGION": "us-east-1",
    }
    log = options.folder / "logs" / "store.log"
    folder = str(options.folder / "store")
    async with children.server("local.store_server", port, str(port), folder, log=log, env={}) as process:
        await asyncio.to_thread(stack.create, os.environ["DRAFTHAND_ENDPOINT_URL"])
        yield process


@contextlib.asynccontextmanager
async def rehearsal_server(options: Options) -> AsyncIterator[Process]:
    port = children.free_port()
    os.environ["DRAFTHAND_REHEARSAL_URL"] = f"http://127.0.0.1:{port}"
    arguments = ["--port", str(port), "--tokens-per-second", str(options.pace)]
    arguments += ["--scripts", str(options.rehearsals)] if options.rehearsals else []
    log = options.folder / "logs" / "rehearsal.log"
    async with children.server("local.rehearsal", port, *arguments, log=log, env={}) as process:
        yield process


async def keep_host(options: Options, model: Path, url: str) -> None:
    """The IFC host, started again when it dies; returns when the file can't be opened."""
    _, token = await asyncio.to_thread(services().store.hosts.create, LOCAL_OWNER, HOST_ID)
    arguments = [str(model), "--url", url, "--journal", str(options.folder / "journal")]
    log = options.folder / "logs" / "host.log"
    while True:
        process = await children.start("hosts.ifc", *arguments, log=log, env={"DRAFTHAND_HOST_TOKEN": token})
        try:
            code = await process.wait()
        finally:
            await children.stop(process)
        if code == NOT_A_MODEL:
            print(f"The IFC host could not open {model}: see {log}.", flush=True)
            return
        print(f"The IFC host ended with code {code}; starting it again. Its log: {log}.", flush=True)
        await asyncio.sleep(HOST_RESTART_S)


class Server(uvicorn.Server):
    """Leaves signals to us: uvicorn would raise them again after its own end, before ours."""

    @contextlib.contextmanager
    def capture_signals(self) -> Iterator[None]:
        yield


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


def write_address(folder: Path, address: Mapping[str, str | int]) -> None:
    """Where the command line finds this server; readable by its owner only, and never half-written."""
    unfinished = folder / "local.json.new"
    with open(os.open(unfinished, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600), "w") as file:
        json.dump(address, file)
    unfinished.replace(folder / "local.json")


def announce(options: Options, model: Path, url: str, token: str) -> None:
    offered = ", ".join(spec.label for spec in services().available().values())
    print(f"Drafthand is up: {url}/#token={token}")
    print(f"  document   {model}")
    print(f"  models     {offered}")
    print(f"  kept in    {options.folder} (a hard kill loses at most the last minute; STORE=aws is the durable one)")
    print("  stop       Ctrl+C", flush=True)


async def up(options: Options) -> None:
    """Run until SIGINT or SIGTERM; everything that was started is then stopped, the store last."""
    model = the_model(options).resolve()
    token = user_token(options.folder)
    listener = listen(options.port)
    port = listener.getsockname()[1]
    url = f"http://127.0.0.1:{port}"
    os.environ["DRAFTHAND_LOCAL_TOKEN_SHA256"] = hashlib.sha256(token.encode()).hexdigest()
    os.environ["DRAFTHAND_WAKE_URL"] = f"{url}/events"
    os.environ["DRAFTHAND_POLL_HOLD_S"] = "2"  # on loopback a poll costs nothing, and a stop is not kept waiting
    async with contextlib.AsyncExitStack() as running:
        servers = await asyncio.gather(
            running.enter_async_context(store_server(options)),
            running.enter_async_context(rehearsal_server(options)),
        )
        from local.front import make_app

        stopping = asyncio.Event()
        for signal_number in (signal.SIGINT, signal.SIGTERM):
            asyncio.get_running_loop().add_signal_handler(signal_number, stopping.set)
        app = make_app(port)
        server = Server(
            uvicorn.Config(app, host="127.0.0.1", port=port, log_level="warning", timeout_graceful_shutdown=3)
        )
        serving = asyncio.create_task(server.serve([listener]))
        await children.accepts(port, lambda: None)
        write_address(options.folder, {"url": url, "token": token, "pid": os.getpid()})
        announce(options, model, url, token)
        host = asyncio.create_task(keep_host(options, model, url))
        lost = [asyncio.create_task(each.wait()) for each in servers if each is not None]
        stop = asyncio.create_task(stopping.wait())
        await asyncio.wait({serving, stop, *lost}, return_when=asyncio.FIRST_COMPLETED)
        asked = stop.done()
        server.should_exit = True
        await serving
        host.cancel()
        await asyncio.wait({host})
        (options.folder / "local.json").unlink()
        if not asked:
            raise children.ChildFailed(f"a part of it was lost; see {options.folder / 'logs'}")


def main() -> None:
    options = parse()
    with sole_user(options.folder):
        try:
            asyncio.run(up(options))
        except children.ChildFailed as error:
            raise SystemExit(f"Drafthand has ended: {error}") from None
        except KeyboardInterrupt:
            raise SystemExit(130) from None


if __name__ == "__main__":
    main()
