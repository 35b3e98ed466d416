"""The function behind everything that streams or reads: starts runs, replays and follows them, reads what is stored.

On AWS it is served by uvicorn behind the Lambda Web Adapter (run.sh); locally the front mounts it as it is.
"""

import asyncio
import contextlib
import json
import logging
import re
from collections.abc import AsyncIterator
from typing import Any

from drafthand import auth
from drafthand.capabilities import CAPABILITIES
from drafthand.errors import CallerError, not_found
from drafthand.ids import now
from drafthand.model import ModelSpec
from drafthand.runlog import follow
from drafthand.runs import AlreadyStarted, StartRun, start_run
from drafthand.services import services
from drafthand.session import Run, Session
from drafthand.sse import HEADERS, frames
from drafthand.store import Store
from drafthand.store.hosts import Host
from drafthand.working import resume, stop_working
from pydantic import ValidationError
from starlette.applications import Starlette
from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.responses import JSONResponse, Response, StreamingResponse
from starlette.routing import Route

logger = logging.getLogger("drafthand.run")

BODY_MAX_BYTES = 1_000_000
LAMBDA_CONTEXT = "x-amzn-lambda-context"
"""The header in which the Lambda Web Adapter tells of the invocation; `deadline` is in milliseconds."""
HANDOVER_MARGIN_S = 20.0
"""For the last writes: a turn or a wait is broken off at once."""
READ_MAX_BYTES = 4_000_000
"""One answer's share of a stored result: a function URL's response is uncapped in speed up to 6 MB."""


async def post_run(request: Request) -> Response:
    owner = auth.user(services().settings, request.headers)
    body, key, within_s = await _body(request), request.headers.get("idempotency-key"), _time_left(request)
    try:
        work = await start_run(services(), owner, body, within_s, key)
    except AlreadyStarted as before:
        return _followed(before.run, 0, within_s)
    return StreamingResponse(frames(work.log.live()), headers=HEADERS | {"X-Run-Id": work.run.id})


async def get_events(request: Request) -> Response:
    owner = auth.user(services().settings, request.headers)
    run = await asyncio.to_thread(services().store.sessions.run, owner, request.path_params["run"])
    after = _number(request, "after", request.headers.get("last-event-id") or "0")
    return _followed(run, after, _time_left(request))


def _followed(run: Run, after: int, within_s: float | None) -> Response:
    """Replay and follow; a reader sees to it that somebody works on the run."""
    chunks = follow(services().store, run, after, lambda: resume(services(), run, within_s), within_s)
    return StreamingResponse(frames(chunks), headers=HEADERS | {"X-Run-Id": run.id})


async def post_wake(request: Request) -> Response:
    """What an invocation without HTTP becomes: something has happened to a run that perhaps nobody works on.

    It tells its caller nothing, and does nothing that any reader of the run wouldn't do.
    """
    event = await _json(request)
    try:
        run = await asyncio.to_thread(services().store.sessions.run, str(event["owner"]), str(event["run"]))
    except (KeyError, TypeError) as error:
        raise CallerError(422, "Invalid request", "An event names `owner` and `run`.", "run") from error
    work = await resume(services(), run, _time_left(request))
    if work is not None and request.headers.get(LAMBDA_CONTEXT):
        await work.task  # an invocation ends with its answer, and its work with it
    return Response(status_code=202)


def _time_left(request: Request) -> float | None:
    """Seconds until this process has to hand its run over; None where it has time."""
    context = request.headers.get(LAMBDA_CONTEXT)
    if context is None:
        return services().settings.handover_s
    return max(0.0, json.loads(context)["deadline"] / 1000 - now() - HANDOVER_MARGIN_S)


async def get_models(request: Request) -> Response:
    auth.user(services().settings, request.headers)
    default = services().default()
    shown = [_shown_model(model, model == default) for model in services().available().values()]
    return JSONResponse({"models": shown})


async def get_hosts(request: Request) -> Response:
    owner = auth.user(services().settings, request.headers)
    hosts = await asyncio.to_thread(lambda: list(services().store.hosts.of_owner(owner)))
    return JSONResponse({"hosts": [_shown_host(host) for host in hosts]})


async def get_sessions(request: Request) -> Response:
    owner = auth.user(services().settings, request.headers)
    sessions = await asyncio.to_thread(lambda: list(services().store.sessions.of_owner(owner)))
    return JSONResponse({"sessions": [_shown_session(session) for session in sessions]})


async def get_session(request: Request) -> Response:
    owner = auth.user(services().settings, request.headers)
    store = services().store.sessions
    session = await asyncio.to_thread(store.get, owner, request.path_params["session"])
    runs = await asyncio.to_thread(store.runs, session)
    shown = [{"id": run.id, "state": run.state, "started_at": run.started_at} for run in runs]
    return JSONResponse({"session": _shown_session(session), "runs": shown})


async def get_audit(request: Request) -> Response:
    """JSON lines, one a dispatched command; `?bytes=1` adds the exact script and epilogue to each."""
    owner = auth.user(services().settings, request.headers)
    store = services().store
    session = await asyncio.to_thread(store.sessions.get, owner, request.path_params["session"])
    whole = _number(request, "bytes", "0") > 0
    lines = await asyncio.to_thread(lambda: [_line(store, line, whole) for line in store.sessions.audit(session)])
    return Response("".join(lines), media_type="application/jsonl")


def _line(store: Store, line: dict[str, Any], whole: bool) -> str:
    for name in ("script", "epilogue") if whole else ():
        sha256 = line[f"{name}_sha256"]
        line[name] = sha256 and store.scripts.get(line["owner"], sha256)
    return json.dumps(line, ensure_ascii=False) + "\n"


async def get_script(request: Request) -> Response:
    owner = auth.user(services().settings, request.headers)
    sha256 = request.path_params["sha256"]
    script = await asyncio.to_thread(services().store.scripts.get, owner, sha256)
    if script is None:
        raise not_found("Script", sha256)
    return Response(script.encode(), media_type="text/x-python; charset=utf-8")


async def get_result(request: Request) -> Response:
    """A stored output or picture, whole or `limit` bytes from `offset`; X-Total-Bytes tells how many there are."""
    owner = auth.user(services().settings, request.headers)
    sha256, blobs = request.path_params["sha256"], services().store.blobs
    info = await asyncio.to_thread(blobs.head, owner, sha256)
    if info is None:
        raise not_found("Result", sha256)
    offset = _number(request, "offset", "0")
    limit = min(_number(request, "limit", str(READ_MAX_BYTES)), READ_MAX_BYTES)
    data = await asyncio.to_thread(blobs.get, owner, sha256, offset, limit)
    headers = {"X-Total-Bytes": str(info.bytes), "Cache-Control": "private, max-age=31536000, immutable"}
    return Response(data, headers=headers, media_type=info.media_type)


async def _body(request: Request) -> StartRun:
    """The validated body. Raises CallerError naming the field at fault."""
    try:
        return StartRun.model_validate(await _json(request))
    except ValidationError as error:
        first = error.errors()[0]
        field = ".".join(map(str, first["loc"])) or "body"
        raise CallerError(422, "Invalid request", f"{field}: {first['msg']}.", field) from error


async def _json(request: Request) -> Any:
    data = b""
    async for piece in request.stream():
        data += piece
        if len(data) > BODY_MAX_BYTES:
            raise CallerError(413, "Too large", f"A body may have {BODY_MAX_BYTES:,} bytes. Send less.", "message")
    try:
        return json.loads(data)
    except (ValueError, RecursionError) as error:
        raise CallerError(400, "Not JSON", f"The body is not valid JSON: {error}.", "body") from error


def _number(request: Request, name: str, default: str) -> int:
    value = request.query_params.get(name, default)
    if not re.fullmatch(r"[0-9]{1,15}", value):
        raise CallerError(400, "Not a number", f"{name} must be a whole number from 0 up, not {value[:40]!r}.", name)
    return int(value)


def _shown_model(model: ModelSpec, default: bool) -> dict[str, Any]:
    names = {"id", "label", "vendor", "dialect", "rehearsal"}
    return model.model_dump(include=names) | {"default": default, "available": True}


def _shown_session(session: Session) -> dict[str, Any]:
    names = {"id", "title", "model", "host_id", "mode", "created_at", "updated_at", "active_run"}
    return session.model_dump(include=names)


def _shown_host(host: Host) -> dict[str, Any]:
    names = {"id", "application", "document", "last_seen_at", "busy_since"}
    capability = CAPABILITIES.get(host.application.get("name", ""))
    examples = capability.examples if capability else ()
    return host.model_dump(include=names) | {"online": host.online(now()), "examples": examples}


async def _problem(request: Request, error: Exception) -> Response:
    if isinstance(error, HTTPException):
        error = CallerError(error.status_code, error.detail, f"{request.method} {request.url.path}")
    elif not isinstance(error, CallerError):
        logger.error("%s %s failed", request.method, request.url.path, exc_info=error)
        error = CallerError(500, "Internal error", "Something went wrong on our side. Try again.")
    headers = error.headers()
    return JSONResponse(error.problem(), error.status, headers, media_type="application/problem+json")


@contextlib.asynccontextmanager
async def lifespan(app: Starlette) -> AsyncIterator[None]:
    preloading = asyncio.create_task(asyncio.to_thread(services().preload))
    yield
    await preloading
    await stop_working()


app = Starlette(
    lifespan=lifespan,
    routes=[
        Route("/events", post_wake, methods=["POST"]),
        Route("/api/runs", post_run, methods=["POST"]),
        Route("/api/runs/{run}/events", get_events),
        Route("/api/models", get_models),
        Route("/api/hosts", get_hosts),
        Route("/api/sessions", get_sessions),
        Route("/api/sessions/{session}", get_session),
        Route("/api/sessions/{session}/audit", get_audit),
        Route("/api/scripts/{sha256}", get_script),
        Route("/api/results/{sha256}", get_result),
    ],
    exception_handlers={CallerError: _problem, HTTPException: _problem, Exception: _problem},
)
