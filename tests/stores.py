"""Two independent implementations of DynamoDB and S3, each with the table and bucket of template.yaml."""

import contextlib
import os
import subprocess
import sys
import time
import urllib.error
import urllib.request
import uuid
from collections.abc import Iterator
from pathlib import Path

from drafthand.store import Store, open_store
from moto.server import ThreadedMotoServer

from local import stack
from local.children import free_port

CREDENTIALS = {"AWS_ACCESS_KEY_ID": "test", "AWS_SECRET_ACCESS_KEY": "test", "AWS_DEFAULT_REGION": "us-east-1"}


@contextlib.contextmanager
def moto() -> Iterator[str]:
    server = ThreadedMotoServer(ip_address="127.0.0.1", port=0, verbose=False)
    server.start()
    host, port = server.get_host_and_port()
    try:
        yield f"http://{host}:{port}"
    finally:
        server.stop()


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
    return open_store(name, name, endpoint_url)
