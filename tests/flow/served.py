"""A whole local server in a process of its own, and a client for it."""

import contextlib
import json
import os
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import httpx2

from clients.cli.api import Address, Api, Chunk, find_server

READY_WITHIN_S = 60.0


@dataclass
class Served:
    process: subprocess.Popen[bytes]
    folder: Path
    model: Path
    address: Address
    api: Api

    @property
    def http(self) -> httpx2.Client:
        return self.api.client

    def run(self, message: str, **request: Any) -> list[Chunk]:
        return list(self.api.run(message, **({"model": "rehearsal"} | request)))

    def log(self, name: str) -> str:
        return (self.folder / "logs" / f"{name}.log").read_text()


@contextlib.contextmanager
def serve(
    folder: Path, model: Path, *, host: bool = True, rehearsals: Path | None = None, pace: float = 0
) -> Iterator[Served]:
    """A server with its state in `folder`; returns when its IFC host is online, or at once where `host` is False."""
    arguments = ["--port", "0", "--folder", str(folder), "--model", str(model), "--pace", str(pace)]
    arguments += ["--rehearsals", str(rehearsals)] if rehearsals else []
    environment = {name: value for name, value in os.environ.items() if not name.endswith("_API_KEY")}
    process = subprocess.Popen([sys.executable, "-m", "local.up", *arguments], env=environment, start_new_session=True)
    try:
        until = time.monotonic() + READY_WITHIN_S
        wait_until(lambda: announced(folder, process), process, until)
        address = find_server(folder)
        served = Served(process, folder, model, address, Api(address))
        if host:
            wait_until(lambda: any(each["online"] for each in served.api.get("/hosts")["hosts"]), process, until)
        yield served
    finally:
        process.send_signal(signal.SIGTERM)
        process.wait()


def announced(folder: Path, process: subprocess.Popen[bytes]) -> bool:
    """Whether the address in the folder is this server's: one that was killed leaves its own."""
    return (folder / "local.json").exists() and find_server(folder).pid == process.pid


def wait_until(met: Any, process: subprocess.Popen[bytes], until: float) -> None:
    while not met():
        if process.poll() is not None:
            raise RuntimeError(f"the server ended with code {process.returncode}")
        if time.monotonic() > until:
            raise RuntimeError("the server or its host was not ready in time")
        time.sleep(0.05)


def kinds(chunks: list[Chunk], kind: str) -> list[dict[str, Any]]:
    """The facts of all Metadata chunks of a kind."""
    return [chunk["metadata"] for chunk in chunks if chunk["metadata"].get("kind") == kind]


def text(chunks: list[Chunk], of_type: str) -> str:
    return "".join(chunk["content"] for chunk in chunks if chunk["type"] == of_type)


def dump(chunks: list[Chunk]) -> str:
    return "\n".join(json.dumps(chunk) for chunk in chunks)
