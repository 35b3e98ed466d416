"""`drafthand`: everything a person or a script does from a terminal.

Exit codes: 0 complete, 1 error, 2 usage, 3 limit reached, 130 stopped.
"""

import json
import os
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Annotated, Any, NoReturn

import httpx2
import typer
from rich.console import Console
from rich.table import Table

from clients.cli.api import Address, Api, ApiError, Chunk, NoServer, find_server
from clients.cli.show import Printer

app = typer.Typer(help="Drafthand: say what you want changed in a building model.", no_args_is_help=True)
PLAIN = Console(markup=False)
"""What users and models write is shown as it is, never read as markup."""
FOLDER = Path(".drafthand")
DEMO_MESSAGE = "Renumber every door on level 2, left to right from the north"
HOST_WITHIN_S = 60.0

Folder = Annotated[Path, typer.Option(help="Folder of the local server.")]
Json = Annotated[bool, typer.Option("--json", help="Print chunks as JSON lines.")]


def fail(message: str, code: int = 1) -> NoReturn:
    Console(stderr=True).print(message, style="red", highlight=False, markup=False)
    raise typer.Exit(code)


def connect(folder: Path) -> Api:
    try:
        return Api(find_server(folder))
    except NoServer as error:
        fail(str(error))


def ask(api: Api, path: str) -> Any:
    """GET, with every failure told in one line."""
    try:
        return api.get(path)
    except ApiError as error:
        fail(str(error))
    except httpx2.TransportError as error:
        fail(f"The server can't be reached: {error}")


def play(api: Api, chunks: Iterator[Chunk], *, as_json: bool, pictures: Path) -> int:
    """Show a run to its end; the exit code it stands for. Ctrl+C asks for the run's end and still shows it."""
    printer = Printer(PLAIN, api, pictures)
    stopped = signal.signal(signal.SIGINT, lambda *_: api.run_id and api.cancel(api.run_id))
    last: Chunk = {"type": "Error", "metadata": {"code": "none"}}
    try:
        for last in chunks:
            if as_json:
                print(json.dumps(last, ensure_ascii=False), flush=True)
            else:
                printer.show(last)
    except ApiError as error:
        fail(str(error), 2 if error.problem["status"] in (400, 404, 413, 422) else 1)
    except (NoServer, httpx2.TransportError) as error:
        fail(f"The server can't be reached: {error}")
    finally:
        signal.signal(signal.SIGINT, stopped)
    if last["type"] == "Complete":
        return 3 if last["metadata"]["limit"] else 0
    code = last["metadata"]["code"]
    return 130 if code == "cancelled" else 3 if code == "turn_limit" else 1


@app.command(context_settings={"allow_extra_args": True, "ignore_unknown_options": True, "help_option_names": []})
def up(context: typer.Context) -> None:
    """Run everything on this machine: store, functions, page, rehearsal model, IFC host. See `up --help`."""
    os.execv(sys.executable, [sys.executable, "-m", "local.up", *context.args])


@app.command(context_settings={"allow_extra_args": True, "ignore_unknown_options": True, "help_option_names": []})
def replay(context: typer.Context) -> None:
    """Turn a recorded stream of a model vendor into the turn it became. See `replay --help`."""
    os.execv(sys.executable, [sys.executable, "-m", "drafthand.replay", *context.args])


@app.command()
def run(
    message: str,
    model: Annotated[str | None, typer.Option(help="Model id; the server's default if left out.")] = None,
    session: Annotated[str | None, typer.Option(help="Session to go on with.")] = None,
    mode: Annotated[str | None, typer.Option(help="auto or read_only.")] = None,
    as_json: Json = False,
    folder: Folder = FOLDER,
) -> None:
    """Ask for a change or a question, and watch it being done."""
    api = connect(folder)
    chunks = started(api, message, model=model, session_id=session, mode=mode)
    raise typer.Exit(play(api, chunks, as_json=as_json, pictures=folder / "pictures"))


def started(api: Api, message: str, *, model: str | None, **request: Any) -> Iterator[Chunk]:
    offered = api.get("/models")["models"]
    chosen = model or next((each["id"] for each in offered if each["default"]), None)
    if chosen is None:
        raise ApiError({"title": "No model", "detail": "The server offers none. Set a vendor's key.", "status": 422})
    yield from api.run(message, model=chosen, **request)


@app.command()
def watch(run_id: str, as_json: Json = False, folder: Folder = FOLDER) -> None:
    """Show a run from its beginning, and follow it to its end."""
    api = connect(folder)
    raise typer.Exit(play(api, api.follow(run_id), as_json=as_json, pictures=folder / "pictures"))


@app.command()
def stop(run_id: str, folder: Folder = FOLDER) -> None:
    """Ask for a run's end."""
    try:
        connect(folder).cancel(run_id)
    except ApiError as error:
        fail(str(error), 2)


@app.command()
def say(run_id: str, message: str, folder: Folder = FOLDER) -> None:
    """Add something to what a run works on; the model reads it with its next turn."""
    try:
        connect(folder).say(run_id, message)
    except ApiError as error:
        fail(str(error), 2)


@app.command()
def sessions(folder: Folder = FOLDER) -> None:
    """List your sessions, newest first."""
    table = Table()
    for name in ("session", "title", "model", "host", "working"):
        table.add_column(name, overflow="fold" if name in ("session", "host", "working") else "ellipsis")
    for each in ask(connect(folder), "/sessions")["sessions"]:
        table.add_row(each["id"], each["title"], each["model"], each["host_id"] or "", each["active_run"] or "")
    PLAIN.print(table)


@app.command()
def audit(
    session_id: str,
    with_bytes: Annotated[bool, typer.Option("--bytes", help="Add each line's exact script and epilogue.")] = False,
    folder: Folder = FOLDER,
) -> None:
    """Print who had which script run where, and what became of it, as JSON lines."""
    try:
        lines = connect(folder).download(f"/sessions/{session_id}/audit?bytes={int(with_bytes)}")
    except ApiError as error:
        fail(str(error), 2)
    sys.stdout.buffer.write(lines)


@app.command()
def hosts(folder: Folder = FOLDER) -> None:
    """List your hosts."""
    table = Table("host", "application", "document", "online")
    for each in ask(connect(folder), "/hosts")["hosts"]:
        document = (each["document"] or {}).get("title", "")
        application = " ".join(each["application"].values())
        table.add_row(each["id"], application, document, "yes" if each["online"] else "no")
    PLAIN.print(table)


@app.command()
def demo(
    model: Annotated[Path | None, typer.Option(envvar="MODEL", help="An IFC file; the sample if left out.")] = None,
    pace: Annotated[float, typer.Option(help="Tokens per second of the rehearsal; 0 is as fast as it goes.")] = 400.0,
    folder: Folder = FOLDER / "demo",
) -> None:
    """Play the bundled rehearsal against a copy of a model, in a server of its own, without any key."""
    folder.mkdir(parents=True, exist_ok=True)
    copy = folder / "demo.ifc"
    if model is not None and not model.is_file():
        fail(f"There is no file {model}.", 2)
    if model is not None and b"ISO-10303-21" not in model.read_bytes()[:1000]:
        fail(f"{model} is not an IFC file in STEP format.", 2)
    if model is not None and model.resolve() != copy.resolve():
        copy.write_bytes(model.read_bytes())
    arguments = ["--port", "0", "--folder", str(folder), "--pace", str(pace)]
    arguments += ["--model", str(copy)] if model else ["--fresh-sample", str(copy)]
    server = subprocess.Popen([sys.executable, "-m", "local.up", *arguments], start_new_session=True)
    try:
        api = Api(wait_for_server(server, folder))
        wait_for_host(api)
        chunks = started(api, DEMO_MESSAGE, model="rehearsal")
        code = play(api, chunks, as_json=False, pictures=folder / "pictures")
        PLAIN.print(f"run {api.run_id}\nmodel {copy}", highlight=False, soft_wrap=True)
    finally:
        server.terminate()
        server.wait()
    raise typer.Exit(code)


def wait_for_server(server: subprocess.Popen[bytes], folder: Path) -> Address:
    """The server's address, as soon as it is this server's: one that was killed may have left its own."""
    while server.poll() is None:
        if (folder / "local.json").exists():
            address = find_server(folder)
            if address.pid == server.pid:
                return address
        time.sleep(0.1)
    fail(f"The server ended with code {server.returncode}. Its logs: {folder / 'logs'}")


def wait_for_host(api: Api) -> None:
    until = time.monotonic() + HOST_WITHIN_S
    while not any(host["online"] for host in api.get("/hosts")["hosts"]):
        if time.monotonic() > until:
            fail("The IFC host did not come online.")
        time.sleep(0.1)


if __name__ == "__main__":
    app()
