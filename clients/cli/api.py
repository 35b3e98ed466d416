"""The HTTP API as the command line uses it: a run is one iterator of chunks, whatever happens to the connection."""

import json
import os
import time
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import httpx2

ENDS_RUN = ("Complete", "Error")
BACKOFF_S = (0.5, 1, 2, 4, 8)
SILENCE_S = 45.0
"""Three keepalives missed: the connection is dead, whatever TCP says."""

Chunk = dict[str, Any]


class ApiError(Exception):
    """The server refused; `problem` is its RFC 9457 document."""

    def __init__(self, problem: dict[str, Any]) -> None:
        super().__init__(f"{problem['title']}: {problem['detail']}")
        self.problem = problem


class NoServer(Exception):
    """No server is known or it doesn't answer."""


@dataclass(frozen=True)
class Address:
    url: str
    token: str
    pid: int | None = None


def find_server(folder: Path) -> Address:
    """DRAFTHAND_URL and DRAFTHAND_TOKEN, else the local server that runs from `folder`."""
    url, token = os.environ.get("DRAFTHAND_URL"), os.environ.get("DRAFTHAND_TOKEN")
    if url and token:
        return Address(url, token)
    path = folder / "local.json"
    if not path.exists():
        raise NoServer(f"No server runs from {folder}. Start one with `drafthand up`, or set DRAFTHAND_URL and _TOKEN.")
    return Address(**json.loads(path.read_text()))


class Api:
    def __init__(self, address: Address) -> None:
        self.client = httpx2.Client(
            base_url=f"{address.url}/api",
            headers={"Authorization": f"Bearer {address.token}"},
            timeout=httpx2.Timeout(30, read=SILENCE_S),
        )
        self.run_id: str | None = None

    def get(self, path: str) -> Any:
        return self._checked(self.client.get(path)).json()

    def download(self, path: str) -> bytes:
        """The bytes of a result or script. `path` as chunks give it, with its /api."""
        return self._checked(self.client.get(path.removeprefix("/api"))).content

    def cancel(self, run_id: str) -> None:
        self._checked(self.client.post(f"/runs/{run_id}/cancel"))

    def say(self, run_id: str, message: str) -> None:
        self._checked(self.client.post(f"/runs/{run_id}/messages", json={"message": message}))

    def run(self, message: str, **request: Any) -> Iterator[Chunk]:
        """Start a run and yield its chunks to the last. A dropped connection is followed up, never posted again."""
        body = {"message": message} | {name: value for name, value in request.items() if value is not None}
        seq = 0
        try:
            with self.client.stream("POST", "/runs", json=body) as response:
                self.run_id = self._checked(response).headers["X-Run-Id"]
                for numbered in self._events(response):
                    seq, chunk = numbered
                    yield chunk
                    if chunk["type"] in ENDS_RUN:
                        return
        except httpx2.TransportError:
            if self.run_id is None:
                raise
        yield from self.follow(self.run_id, seq)

    def follow(self, run_id: str, seq: int = 0) -> Iterator[Chunk]:
        """The chunks of a run numbered above `seq`, to the last."""
        self.run_id = run_id
        failures = 0
        while True:
            try:
                with self.client.stream("GET", f"/runs/{run_id}/events", params={"after": seq}) as response:
                    for numbered in self._events(self._checked(response)):
                        seq, chunk = numbered
                        failures = 0
                        yield chunk
                        if chunk["type"] in ENDS_RUN:
                            return
            except httpx2.TransportError as error:
                if failures >= len(BACKOFF_S):
                    raise NoServer(f"The server has gone: {error}") from error
            time.sleep(BACKOFF_S[min(failures, len(BACKOFF_S) - 1)])
            failures += 1

    @staticmethod
    def _events(response: httpx2.Response) -> Iterator[tuple[int, Chunk]]:
        for event in httpx2.EventSource(response):
            yield int(event.id), json.loads(event.data)

    @staticmethod
    def _checked(response: httpx2.Response) -> httpx2.Response:
        if response.status_code >= 400:
            response.read()
            kind = response.headers.get("content-type", "")
            text = response.text[:500]
            plain = {"title": f"HTTP {response.status_code}", "detail": text, "status": response.status_code}
            raise ApiError(response.json() if kind.startswith("application/problem+json") else plain)
        return response
