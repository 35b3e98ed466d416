"""A whole run in one process, in a fraction of a second: everything is real but the sockets of our own servers.

The link calls the functions' handlers with the events that a function URL makes of its requests; the vendors' SDKs
reach the rehearsal server as an ASGI application; DynamoDB and S3 are moto's, below the AWS SDK. The loop, the store's
code, the link and the IFC host with its worker are what they are everywhere.
"""

import asyncio
import contextlib
import json
import shutil
import threading
import uuid
from collections.abc import Callable, Coroutine, Iterator, Sequence
from functools import cache
from pathlib import Path
from typing import Any, Protocol, TypeVar

import httpx2
import pytest
import requests
from drafthand.model import ModelClient, ModelSpec
from drafthand.runs import StartRun, start_run
from drafthand.services import Services, services
from drafthand.vendors import client_of
from moto import mock_aws
from moto.core.botocore_stubber import BotocoreStubber
from starlette.requests import Request

from functions.host_poll.handler import handle as host_poll
from functions.tool_result.handler import handle as tool_result
from hosts.ifc.supervisor import IfcHost, default_strategy
from hosts.runtime.journal import Journal
from hosts.runtime.link import Link
from hosts.runtime.transport import Transport
from local import stack
from local.front import function_url_event, response_of
from local.rehearsal.script import Script, load, parse
from local.rehearsal.server import create_app

POLL_HOLD_S = 0.2
"""An idle poll can't be broken off, so that it must be short for a bench to close at once."""
CONNECTED_WITHIN_S = 30.0
STORE_LOCK = threading.RLock()
FALLBACK = "{name: fallback, title: Nothing else, turns: [{name: only, say: 'No script matches this request.'}]}"

Chunk = dict[str, Any]
Result = TypeVar("Result")


class Host(Protocol):
    """A host as the link knows it; one that a test scripts makes histories which no IFC file produces."""

    def document(self) -> dict[str, Any]: ...

    def application(self) -> dict[str, Any]: ...

    def run(self, command: dict[str, Any]) -> dict[str, Any]: ...

    def cancel(self, command_id: str) -> None: ...


class InProcess(Transport):
    """The host's transport without the way between: posts go to the handlers, uploads to moto's S3."""

    def __init__(self, token: str) -> None:
        super().__init__("http://127.0.0.1", token)
        self._headers = [(b"authorization", f"Bearer {token}".encode()), (b"content-type", b"application/json")]

    def post(self, path: str, body: dict[str, Any], timeout_s: float) -> tuple[int, Any]:
        scope = {"type": "http", "method": "POST", "scheme": "http", "server": ("127.0.0.1", 80), "query_string": b""}
        request = Request(scope | {"path": path, "headers": self._headers, "client": ("127.0.0.1", 0)})
        event = function_url_event(request, json.dumps(body).encode("ascii"))
        handle = host_poll if path.startswith("/api/hosts/") else tool_result
        answer = response_of(handle(event, None))
        return answer.status_code, json.loads(answer.body)

    def put(self, url: str, data: bytes, headers: dict[str, str], timeout_s: float) -> int:
        return requests.put(url, data, headers=headers, timeout=timeout_s).status_code  # urllib would leave the machine


class Rehearsed(Services):
    """The services of this process, with the rehearsal's clients brought to an application instead of an address."""

    def __init__(self, scripts: Sequence[Script]) -> None:
        shared = shared_services()
        super().__init__(shared.settings, shared.store)
        self.http = httpx2.AsyncClient(transport=httpx2.ASGITransport(app=create_app(scripts)))

    def client(self, model: ModelSpec) -> ModelClient:
        access = self.access(model)
        assert model.rehearsal, f"{model.id} is not a rehearsal"
        assert access is not None
        if model.id not in self._clients:
            self._clients[model.id] = client_of(model.dialect, access, self.http)
        return self._clients[model.id]


class Bench:
    """One host at one server, for one user of its own.

    `model` is the file that the host works on, None with a host that was given; `log` holds what the link told.
    """

    def __init__(self, folder: Path, model_path: Path | None, scripts: Sequence[Script], host: Host | None) -> None:
        self.services = Rehearsed(scripts)
        self.owner = f"bench_{uuid.uuid4().hex[:12]}"
        self.host_id, token = self.services.store.hosts.create(self.owner)
        self.journal = Journal(str(folder / "journal"))
        self.model = None if model_path is None else _copied(model_path, folder / "model")
        self.log: list[str] = []
        self._own = None if self.model is None else IfcHost(self.model, self.journal, default_strategy())
        self.host = host or self._own
        self._connected = threading.Event()
        self._failures: list[BaseException] = []
        self._link = Link(self.host, self.journal, InProcess(token), self.log.append, self._connected.set)
        self._thread = threading.Thread(target=self._serve, name=self.host_id)
        self._loop = asyncio.Runner()

    def start(self) -> None:
        """Returns when the host is online."""
        if self._own is not None:
            self._own.start()
        self._thread.start()
        if not self._connected.wait(CONNECTED_WITHIN_S):
            raise RuntimeError(f"the host did not come online: {self.log}")

    def run(self, message: str, *, model: str = "rehearsal", **request: Any) -> list[Chunk]:
        """Every chunk of one run, as a client gets them; `request` are other fields of StartRun. Raises CallerError as
        a POST would answer it."""
        return self._loop.run(self._run(StartRun(message=message, model=model, host_id=self.host_id, **request)))

    def wait(self, work: Coroutine[Any, Any, Result]) -> Result:
        """Run something of the bench's event loop to its end."""
        return self._loop.run(work)

    def blob(self, url: str) -> bytes:
        """The bytes behind the URL of an output, a report or a picture."""
        data = self.services.store.blobs.get(self.owner, url.rsplit("/", 1)[1])
        assert data is not None, url
        return data

    def close(self) -> None:
        """End link and worker. Raises what the link died of, if it did."""
        self._link.stop()
        if self._thread.ident is not None:
            self._thread.join()
        if self._own is not None:
            self._own.close()
        self._loop.run(self.services.http.aclose())
        self._loop.close()
        if self._failures:
            raise self._failures[0]

    async def _run(self, request: StartRun) -> list[Chunk]:
        work = await start_run(self.services, self.owner, request)
        chunks = [chunk.model_dump(mode="json") async for _, chunk in work.log.live()]
        await work.task
        return chunks

    def _serve(self) -> None:
        try:
            self._link.run()
        except BaseException as error:  # noqa: BLE001 - raised again by `close`, in the thread of the test
            self._failures.append(error)


@contextlib.contextmanager
def bench(
    folder: Path,
    model_path: Path | None = None,
    scripts: Sequence[str] | None = None,
    *,
    host: Host | None = None,
) -> Iterator[Bench]:
    """A bench on a copy of `model_path`, or with a scripted `host`; everything it writes lies in `folder`.

    Args:
        scripts: rehearsals as YAML texts; a fallback is added where none is among them. None: the bundled ones.
    """
    assert (model_path is None) != (host is None), "either a model for the IFC host, or a host"
    with aws():
        made = Bench(folder, model_path, load() if scripts is None else scripts_of(scripts), host)
        try:
            made.start()
            yield made
        finally:
            made.close()


def scripts_of(texts: Sequence[str]) -> list[Script]:
    """The scripts in YAML texts, the fallback last."""
    scripts = [parse(text, f"script {number}") for number, text in enumerate(texts, start=1)]
    fallbacks = [script for script in scripts if script.match is None] or [parse(FALLBACK, "fallback")]
    return [script for script in scripts if script.match is not None] + fallbacks


@contextlib.contextmanager
def aws() -> Iterator[None]:
    """AWS inside this process. What was stored stays: the benches of a process share one store."""
    inside, serve = mock_aws(), BotocoreStubber.process_request
    inside.start(reset=False)
    try:
        with pytest.MonkeyPatch.context() as patch:
            patch.setattr(BotocoreStubber, "process_request", one_at_a_time(serve))
            yield
    finally:
        inside.stop(remove_data=False)


def one_at_a_time(serve: Callable[..., Any]) -> Callable[..., Any]:
    """moto copies and writes its tables without a lock; DynamoDB's writes are serial."""

    def locked(*arguments: Any) -> Any:
        with STORE_LOCK:
            return serve(*arguments)

    return locked


@cache
def shared_services() -> Services:
    """The services that the functions of this process use, for all benches: each has a user and a host of its own.

    They are made from an environment, as everywhere; it is there only for that moment.
    """
    name = f"bench{uuid.uuid4().hex}"
    variables = {
        "AWS_DEFAULT_REGION": "us-east-1",
        "DRAFTHAND_TABLE": name,
        "DRAFTHAND_BUCKET": name,
        "DRAFTHAND_REHEARSAL_URL": "http://rehearsal",
        "DRAFTHAND_POLL_HOLD_S": str(POLL_HOLD_S),
    }
    with pytest.MonkeyPatch.context() as environment:
        environment.delenv("DRAFTHAND_ENDPOINT_URL", raising=False)
        for variable, value in variables.items():
            environment.setenv(variable, value)
        stack.create(None, name, name)
        services.cache_clear()
        return services()


def _copied(path: Path, folder: Path) -> Path:
    """A writable copy: files that many tests read are write-protected."""
    folder.mkdir(parents=True)
    return Path(shutil.copyfile(path, folder / path.name))
