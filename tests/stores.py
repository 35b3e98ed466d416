"""Two independent implementations of DynamoDB and S3, each with the table and bucket of template.yaml."""

import contextlib
import os
import subprocess
import sys
import threading
import time
import urllib.error
import urllib.request
import uuid
from collections.abc import Callable, Iterable, Iterator
from functools import cache
from pathlib import Path
from typing import Any

from drafthand.store import Store, open_store, store_over
from moto.moto_server.werkzeug_app import DomainDispatcherApplication, MotoRequestHandler, create_backend_app
from werkzeug.serving import make_server

from local import stack
from local.children import free_port

CREDENTIALS = {"AWS_ACCESS_KEY_ID": "test", "AWS_SECRET_ACCESS_KEY": "test", "AWS_DEFAULT_REGION": "us-east-1"}


class OneAtATime:
    """moto checks conditions and writes without a lock between; DynamoDB's transactions are serial."""

    def __init__(self, app: Callable[..., Iterable[bytes]]) -> None:
        self.app = app
        self.lock = threading.Lock()

    def __call__(self, environ: dict[str, Any], start_response: Any) -> list[bytes]:
        with self.lock:
            return list(self.app(environ, start_response))


@contextlib.contextmanager
def moto() -> Iterator[str]:
    app = OneAtATime(DomainDispatcherApplication(create_backend_app))
    server = make_server("127.0.0.1", 0, app, threaded=True, request_handler=MotoRequestHandler)
    serving = threading.Thread(target=server.serve_forever)
    serving.start()
    try:
        yield f"http://127.0.0.1:{server.server_port}"
    finally:
        server.shutdown()
        serving.join()


@contextlib.contextmanager
def ministack(folder: Path) -> Iterator[str]:
    port = free_port()
    server = subprocess.Popen([sys.executable, "-m", "local.store_server", str(port), str(folder)])
    url = f"http://127.0.0.1:{port}"
    try:
        wait_until_up(server, f"{url}/_ministack/health")
        yield url
    finally:
        server.terminate()
        server.wait()


def wait_until_up(server: subprocess.Popen[bytes], url: str) -> None:
    while server.poll() is None:
        try:
            urllib.request.urlopen(url, timeout=5).close()
        except urllib.error.URLError:
            time.sleep(0.05)
        else:
            return
    raise RuntimeError(f"the server ended with code {server.returncode}")


def fresh_store(endpoint_url: str) -> Store:
    """A store with a table and a bucket of its own."""
    os.environ.update(CREDENTIALS)
    name = f"t{uuid.uuid4().hex}"
    stack.create(endpoint_url, name, name)
    shared = opened(endpoint_url)
    return store_over(shared.table.client, shared.blobs.client, name, name)


@cache
def opened(endpoint_url: str) -> Store:
    """One for all tests: the SDK's clients cost a tenth of a second and megabytes, and are hardly ever let go."""
    return open_store("none", "none", endpoint_url)
