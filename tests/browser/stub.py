"""A stub of the HTTP API: plays recorded event logs to the built page over a real socket. Not the product's server.

A log is a JSON file in `fixtures/`. Its `events` are chunks (a `since` below zero is that many seconds ago), and three
kinds of entry that are not chunks:
`{"write": {...}}` is a tool's input cut into deltas of twelve characters; `{"hold": name}` waits until the test
releases that name (a cancel releases "cancel"); `{"drop": "cut" | "clean"}` ends the connection there, once.
A result's `report` may be `{"of": n}`: the head of a report of n elements, whose whole is a result `{"report": n}`.
"""

from __future__ import annotations

import asyncio
import json
import socket
import struct
import threading
import time
import zlib
from collections.abc import AsyncIterator
from dataclasses import dataclass, field
from functools import cache
from pathlib import Path
from typing import Any

import uvicorn
from starlette.applications import Starlette
from starlette.middleware import Middleware
from starlette.requests import Request
from starlette.responses import JSONResponse, Response, StreamingResponse
from starlette.routing import Mount, Route
from starlette.staticfiles import StaticFiles
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from tests.browser.reports import head_of, long_report

DIST = Path(__file__).parents[2] / "clients" / "web" / "dist"
FIXTURES = Path(__file__).parent / "fixtures"
TOKEN = "stub-token"
POLICY = (
    "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' blob:; connect-src 'self'; "
    "base-uri 'none'; form-action 'none'; frame-ancestors 'none'; require-trusted-types-for 'script'"
)
MODELS = [
    {"id": "rehearsal", "label": "Rehearsal", "vendor": "Drafthand", "dialect": "messages", "rehearsal": True},
    {"id": "claude", "label": "Claude Opus", "vendor": "Anthropic", "dialect": "messages", "rehearsal": False},
    {"id": "gpt", "label": "GPT", "vendor": "OpenAI", "dialect": "responses", "rehearsal": False},
]
HOST = {
    "id": "h1",
    "application": {"name": "ifc", "version": "0.9.0"},
    "document": {"id": "d1", "title": "Duplex_A.ifc", "version": "1"},
    "online": True,
    "last_seen_at": 1_700_000_000.0,
    "busy_since": None,
    "examples": [
        "Renumber every door on level 2, left to right from the north",
        "Set the fire rating EI60 on all doors of one type",
        "Which windows and doors are not hosted in a wall?",
        "What is the total floor area of the spaces?",
        "How many stairs are there?",
    ],
}


class Cut(Exception):
    """Raised inside a response to break its connection off."""


@dataclass
class Scenario:
    """What the stub answers during one test, and what it was asked."""

    log: dict[str, Any]
    started: bool = False
    ended: bool = False
    model: str = "claude"
    host: dict[str, Any] = field(default_factory=lambda: dict(HOST))
    requests: list[tuple[str, str, dict[str, str]]] = field(default_factory=list)
    posts: list[dict[str, Any]] = field(default_factory=list)
    dropped: set[int] = field(default_factory=set)
    released: dict[str, asyncio.Event] = field(default_factory=dict)

    @property
    def run_id(self) -> str:
        return str(self.log["run"])

    def event(self, name: str) -> asyncio.Event:
        return self.released.setdefault(name, asyncio.Event())

    def asked(self, method: str, path: str) -> list[dict[str, str]]:
        """Headers of the requests for a path, in their order."""
        return [headers for verb, asked, headers in self.requests if (verb, asked) == (method, path)]


def load(name: str) -> dict[str, Any]:
    """A fixture with its `write` entries made into deltas."""
    log: dict[str, Any] = json.loads((FIXTURES / f"{name}.json").read_text("utf-8"))
    log["events"] = [piece for entry in log["events"] for piece in _deltas(entry)]
    return log


def _deltas(entry: dict[str, Any]) -> list[dict[str, Any]]:
    if "write" not in entry:
        facts = entry.get("metadata", {})
        for name in ("since", "busy_since"):
            if (facts.get(name) or 0) < 0:
                facts[name] += time.time()
        if "of" in (facts.get("report") or {}):
            facts["report"] = head_of(long_report(facts["report"]["of"]))
        return [entry]
    write = entry["write"]
    text = json.dumps(write["input"], ensure_ascii=False)[: write.get("stop_at")][write.get("from", 0) :]
    metadata = {"call_id": write["call_id"], "tool": write["tool"]}
    pieces = [text[at : at + 12] for at in range(0, len(text), 12)]
    return [{"type": "ToolInputDelta", "content": piece, "metadata": metadata} for piece in pieces]


class Stub:
    """The server, in a thread of its own. `scenario` is replaced by each test."""

    def __init__(self) -> None:
        self.scenario = Scenario(load("doors"))
        routes = [
            Route("/api/models", self.models),
            Route("/api/hosts", self.hosts),
            Route("/api/sessions", self.sessions),
            Route("/api/sessions/{id}", self.session),
            Route("/api/runs", self.start, methods=["POST"]),
            Route("/api/runs/{id}/events", self.events),
            Route("/api/runs/{id}/cancel", self.cancel, methods=["POST"]),
            Route("/api/scripts/{sha256}", self.script),
            Route("/api/results/{sha256}", self.result),
            Mount("/", StaticFiles(directory=DIST, html=True)),
        ]
        app = Starlette(routes=routes, middleware=[Middleware(Gate, stub=self)])
        config = uvicorn.Config(app, host="127.0.0.1", port=0, log_level="critical", timeout_graceful_shutdown=1)
        self.server = uvicorn.Server(config)
        listener = socket.create_server(("127.0.0.1", 0))
        self.url = f"http://127.0.0.1:{listener.getsockname()[1]}"
        self.loop = asyncio.new_event_loop()
        serve = self.server.serve([listener])
        self.thread = threading.Thread(target=lambda: self.loop.run_until_complete(serve), daemon=True)
        self.thread.start()

    def close(self) -> None:
        self.server.should_exit = True
        self.thread.join(10)

    def release(self, name: str) -> None:
        """Lets the log go on past its hold of that name. Called from the test's thread."""
        scenario = self.scenario
        self.loop.call_soon_threadsafe(lambda: scenario.event(name).set())

    async def models(self, _: Request) -> Response:
        chosen = self.scenario.model
        models = [{**model, "available": model["id"] != "gpt", "default": model["id"] == chosen} for model in MODELS]
        return JSONResponse({"models": models})

    async def hosts(self, _: Request) -> Response:
        return JSONResponse({"hosts": [self.scenario.host]})

    async def sessions(self, _: Request) -> Response:
        older = {**self._session(), "id": "s0", "title": "What is in this model?", "active_run": None}
        return JSONResponse({"sessions": [older, *([self._session()] if self.scenario.started else [])]})

    async def session(self, request: Request) -> Response:
        session = self._session()
        if request.path_params["id"] != session["id"]:
            return JSONResponse({"session": {**session, "id": "s0", "active_run": None}, "runs": []})
        state = "complete" if self.scenario.ended else "running"
        runs = [{"id": self.scenario.run_id, "state": state, "started_at": 1_700_000_000.0}]
        return JSONResponse({"session": session, "runs": runs if self.scenario.started else []})

    def _session(self) -> dict[str, Any]:
        facts = next(event["metadata"] for event in self.scenario.log["events"] if event.get("type") == "Metadata")
        return {
            "id": facts["session_id"],
            "title": facts["title"],
            "model": self.scenario.model,
            "host_id": "h1",
            "mode": facts["mode"],
            "created_at": 1_700_000_000.0,
            "updated_at": 1_700_000_000.0,
            "active_run": self.scenario.run_id if self.scenario.started and not self.scenario.ended else None,
        }

    async def start(self, request: Request) -> Response:
        self.scenario.posts.append(await request.json())
        self.scenario.started = True
        return self._stream(0)

    async def events(self, request: Request) -> Response:
        return self._stream(int(request.headers.get("last-event-id", "0")))

    def _stream(self, after: int) -> Response:
        headers = {"X-Run-Id": self.scenario.run_id, "Cache-Control": "no-cache, no-transform"}
        return StreamingResponse(play(self.scenario, after), media_type="text/event-stream", headers=headers)

    async def cancel(self, _: Request) -> Response:
        self.scenario.event("cancel").set()
        return Response(status_code=202)

    async def script(self, request: Request) -> Response:
        return Response(self.scenario.log["scripts"][request.path_params["sha256"]], media_type="text/x-python")

    async def result(self, request: Request) -> Response:
        stored = self.scenario.log["results"][request.path_params["sha256"]]
        if "png" in stored:
            return Response(drawing(*stored["png"]), media_type="image/png")
        offset, limit = int(request.query_params["offset"]), int(request.query_params["limit"])
        if "report" in stored:
            body = json.dumps(long_report(stored["report"]), ensure_ascii=False).encode()
            return Response(body[offset : offset + limit], media_type="application/json")
        body = "".join(f"{stored['line']} {number}\n" for number in range(1, stored["lines"] + 1)).encode()
        return Response(body[offset : offset + limit], media_type="text/plain; charset=utf-8")


async def play(scenario: Scenario, after: int) -> AsyncIterator[str]:
    """The log after a place in it, held and dropped where its entries say so."""
    yield ": hello\n\n"
    seq = 0
    for place, entry in enumerate(scenario.log["events"]):
        if "hold" in entry:
            await scenario.event(entry["hold"]).wait()
        elif "drop" in entry:
            if place in scenario.dropped:
                continue
            scenario.dropped.add(place)
            if entry["drop"] == "clean":
                return
            raise Cut
        else:
            seq += 1
            scenario.ended |= entry["type"] in ("Complete", "Error")
            if seq > after:
                yield f"id: {seq}\nevent: {entry['type']}\ndata: {json.dumps(entry)}\n\n"


class Gate:
    """Writes down what is asked, checks the token, sets the page's policy."""

    def __init__(self, app: ASGIApp, stub: Stub) -> None:
        self.app = app
        self.stub = stub

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http":
            await self.app(scope, receive, send)
            return
        headers = {name.decode(): value.decode() for name, value in scope["headers"]}
        self.stub.scenario.requests.append((scope["method"], scope["path"], headers))

        async def send_with_policy(message: Message) -> None:
            if message["type"] == "http.response.start":
                message["headers"] = [*message["headers"], (b"content-security-policy", POLICY.encode())]
            await send(message)

        if scope["path"].startswith("/api/") and headers.get("authorization") != f"Bearer {TOKEN}":
            problem = {"type": "about:blank", "title": "Not signed in", "status": 401, "detail": "No such token."}
            response = JSONResponse(problem, 401, media_type="application/problem+json")
            await response(scope, receive, send_with_policy)
            return
        await self.app(scope, receive, send_with_policy)


@cache
def drawing(width: int, height: int) -> bytes:
    """A PNG of a plan-like drawing: white paper, grey walls, one blue room."""
    grey, white, blue = b"\x50\x55\x60", b"\xff\xff\xff", b"\x8d\xb8\xf5"
    bay = grey * 6 + white * (width // 4 - 6)
    room = grey * 6 + blue * (width // 4 - 6)
    wall = b"\0" + grey * width
    rows = [b"\0" + bay * 4, b"\0" + bay + room + bay * 2, b"\0" + bay * 4]
    pixels = b"".join(wall * 6 + row * (height // 3 - 6) for row in rows)
    header = struct.pack(">IIBBBBB", width, height, 8, 2, 0, 0, 0)
    chunks = [(b"IHDR", header), (b"IDAT", zlib.compress(pixels)), (b"IEND", b"")]
    parts = [
        struct.pack(">I", len(data)) + kind + data + struct.pack(">I", zlib.crc32(kind + data)) for kind, data in chunks
    ]
    return b"\x89PNG\r\n\x1a\n" + b"".join(parts)
