"""The two plain functions as Lambda runs them: Amazon's own emulator, real function-URL events, ministack."""

import base64
import contextlib
import json
import os
import platform
import subprocess
import sys
import time
from collections.abc import Iterator
from typing import Any

import httpx2
import pytest
from drafthand import rendezvous
from drafthand.commands import Command, HostResult
from drafthand.store import Store

from local.children import free_port
from tests import stores
from tests.contract.test_store import make_run, make_session
from tests.paths import ROOT

ARCHITECTURE = {"aarch64": "arm64", "arm64": "arm64"}.get(platform.machine(), "x86_64")
EMULATORS = list(ROOT.glob(f".venv-aws/lib/python*/site-packages/samcli/local/rapid/aws-lambda-rie-{ARCHITECTURE}"))
pytestmark = pytest.mark.skipif(
    not EMULATORS or sys.platform != "linux", reason="the Lambda emulator of aws-sam-cli is not installed (Linux only)"
)


@pytest.fixture(scope="module")
def store(ministack_url: str) -> Store:
    return stores.fresh_store(ministack_url)


@contextlib.contextmanager
def emulated(function: str, store: Store) -> Iterator[str]:
    """The function under the emulator; the address that invokes it."""
    front, runtime_api = free_port(), free_port()
    settings = {
        "DRAFTHAND_TABLE": store.table.name,
        "DRAFTHAND_BUCKET": store.blobs.bucket,
        "DRAFTHAND_ENDPOINT_URL": store.table.client.meta.endpoint_url,
        "DRAFTHAND_POLL_HOLD_S": "0.2",
        "AWS_LAMBDA_FUNCTION_TIMEOUT": "20",
        "AWS_LAMBDA_FUNCTION_NAME": function,
    }
    addresses = ["--runtime-interface-emulator-address", f"127.0.0.1:{front}"]
    addresses += ["--runtime-api-address", f"127.0.0.1:{runtime_api}"]
    command = [str(EMULATORS[0]), *addresses, sys.executable, "-m", "awslambdaric", "handler.handle"]
    process = subprocess.Popen(
        command, cwd=ROOT / "functions" / function, env=os.environ | settings, stderr=subprocess.DEVNULL
    )
    try:
        yield f"http://127.0.0.1:{front}/2015-03-31/functions/function/invocations"
    finally:
        process.terminate()
        process.wait()


def invoke(address: str, path: str, token: str, body: Any) -> tuple[int, dict[str, Any]]:
    """POST through a function-URL event; the status and the parsed answer."""
    event = {
        "version": "2.0",
        "routeKey": "$default",
        "rawPath": path,
        "rawQueryString": "",
        "headers": {"authorization": f"Bearer {token}", "content-type": "application/json"},
        "requestContext": {
            "http": {"method": "POST", "path": path, "protocol": "HTTP/1.1", "sourceIp": "127.0.0.1", "userAgent": "t"},
            "domainName": "abc.lambda-url.eu-central-1.on.aws",
            "requestId": "1",
            "stage": "$default",
        },
        "isBase64Encoded": True,
        "body": base64.b64encode(body if isinstance(body, bytes) else json.dumps(body).encode()).decode(),
    }
    until = time.monotonic() + 20
    while True:
        try:
            answer = httpx2.post(address, json=event, timeout=30).json()
        except httpx2.ConnectError:
            if time.monotonic() > until:
                raise
            time.sleep(0.05)
        else:
            return answer["statusCode"], json.loads(answer["body"])


def test_a_host_polls_uploads_and_answers_through_the_emulated_functions(store: Store) -> None:
    session = make_session(store)
    run = make_run(store, session)
    _, token = store.hosts.create("ann")
    host = store.hosts.by_token(token)
    assert host is not None
    command = Command(id="call_1", run=run.id, session=session.id, mode="read", script="print(1)")
    call = rendezvous.dispatch(store, command, host)
    poll = {"document": {"id": "d", "title": "a.ifc", "version": "1"}, "application": {"name": "ifc", "version": "1"}}
    error = {"type": "OSError", "message": "no file named \udcff", "line": 1}
    result = HostResult(id="call_1", outcome="failed", stdout="1\n").model_dump(mode="json") | {"error": error}

    with emulated("host_poll", store) as address:
        status, told = invoke(address, "/api/hosts/poll", token, poll)
        assert (status, told["command"]["script"]) == (200, "print(1)")
        heartbeat = poll | {"busy_since": 1.0, "command_id": "call_1"}
        assert invoke(address, "/api/hosts/poll", token, heartbeat)[1]["cancelled"] is False
        upload = {"sha256": "0" * 64, "bytes": 3, "media_type": "image/png"}
        status, place = invoke(address, "/api/hosts/uploads", token, upload)
        assert (status, place["method"]) == (200, "PUT")
        assert place["url"].startswith("http://127.0.0.1")
        assert invoke(address, "/api/hosts/poll", "host_x.y", poll)[0] == 401
        assert invoke(address, "/api/hosts/uploads", token, upload | {"sha256": "zz"})[1]["field"] == "sha256"

    path = f"/api/runs/{run.id}/calls/call_1/result"
    with emulated("tool_result", store) as address:
        assert invoke(address, path, token, b"{half")[1]["title"] == "Not JSON"
        assert invoke(address, path, token, result | {"outcome": "fine"})[1]["field"] == "outcome"
        assert invoke(address, path, token, result | {"id": "call_2"})[1]["title"] == "Wrong call"
        assert invoke(address, path, token, result)[0] == 202
        assert invoke(address, path, token, result)[0] == 200
        assert invoke(address, path, token, result | {"stdout": "2\n"})[0] == 409
        assert invoke(address, f"/api/runs/{run.id}/calls/call_9/result", token, result | {"id": "call_9"})[0] == 404
        assert invoke(address, "/api/nowhere", token, {})[0] == 404

    kept = rendezvous.read_result(store, call)
    assert kept.stdout == "1\n"
    assert kept.error is not None
    assert kept.error.message == "no file named ?", "a lone surrogate is legal in JSON's escapes and nowhere else"
