"""From a posted message to a run that is being worked on, whoever watches: a stream that closes never ends it."""

from __future__ import annotations

import asyncio
from typing import Any

from pydantic import BaseModel, ConfigDict, Field

from drafthand import rendezvous
from drafthand.errors import CallerError, ConditionFailed
from drafthand.ids import new_id, now, sha256_hex
from drafthand.late import late_text
from drafthand.model import ModelSpec
from drafthand.runlog import RunLog
from drafthand.services import Services
from drafthand.session import Limits, Mode, Progress, Run, Session
from drafthand.store import Store
from drafthand.store.table import Write
from drafthand.transcript import Message, Text
from drafthand.working import Work

MESSAGE_MAX_CHARS = 100_000
TITLE_CHARS = 60


class StartRun(BaseModel):
    """Body of POST /runs."""

    model_config = ConfigDict(extra="forbid")

    message: str = Field(max_length=MESSAGE_MAX_CHARS)
    model: str
    session_id: str | None = None
    host_id: str | None = None
    mode: Mode | None = None
    limits: Limits | None = None
    """None: those of the session."""


class AlreadyStarted(Exception):
    """The same request came before, under the same Idempotency-Key: this is its run."""

    def __init__(self, run: Run) -> None:
        super().__init__(run.id)
        self.run = run


async def start_run(
    services: Services, owner: str, request: StartRun, within_s: float | None = None, key: str | None = None
) -> Work:
    """Begin to work on a message; after `within_s` seconds the run is handed over.

    Args:
        key: the request's Idempotency-Key; the same request under it begins one run only, for a day.

    Raises:
        CallerError: 422 for an empty message or a model that isn't offered, 404 for a session or host that isn't the
            owner's, 409 with `active_run` where the session is busy, 409 for a key that stands for another request.
        AlreadyStarted: the request came before.
    """
    if not request.message.strip():
        raise CallerError(422, "Empty message", "Say what you want done.", "message")
    spec = services.available().get(request.model)
    if spec is None:
        offered = ", ".join(services.available()) or "none: no vendor key is set"
        raise CallerError(422, "Unknown model", f"{request.model!r} is not offered here. Offered: {offered}.", "model")
    session, run = await asyncio.to_thread(_begin, services.store, owner, request, spec, key)
    work = Work(services, run, session, spec, RunLog(services.store, session, run), within_s)
    work.begin()
    return work


def _begin(store: Store, owner: str, request: StartRun, spec: ModelSpec, key: str | None) -> tuple[Session, Run]:
    """The session, made the run's own."""
    at = now()
    body = request.model_dump_json()
    _check_new(store, owner, key, body)
    if request.host_id is not None:
        store.hosts.get(owner, request.host_id)
    session = _session(store, owner, request, spec, at)
    late = rendezvous.late_answers(store, session.id)
    run = Run(
        id=new_id("run"),
        session_id=session.id,
        owner=owner,
        model=spec.id,
        host_id=request.host_id or session.host_id,
        message=request.message,
        late=tuple(call.id for call, _ in late),
        state="running",
        started_at=at,
    )
    changes: dict[str, Any] = {"model": spec.id, "progress": Progress(started_at=at)}
    if request.limits is not None:
        changes["limits"] = request.limits
    if request.mode is not None:
        changes["mode"] = request.mode
    if request.host_id is not None and request.host_id != session.host_id:
        changes |= {"host_id": request.host_id, "document_id": None}
    if session.model != spec.id:
        changes["context_tokens"] = 0  # another vendor's count
    told = [late_text(store, call, result) for call, result in late]
    left = store.sessions.inbox(session)  # said to a run that had ended in that moment
    texts = [*told, *(text for text, _ in left), request.message]
    message = Message(role="user", parts=tuple(Text(text=text) for text in texts))
    also: list[Write] = [
        *rendezvous.told(late),
        *(taken for _, taken in left),
        *([] if key is None else [store.sessions.key_of(run, key, body)]),
    ]
    try:
        session = store.sessions.start_run(session, run, message, *also, **changes)
    except ConditionFailed as error:
        _check_new(store, owner, key, body)
        active = store.sessions.get(owner, session.id).active_run
        detail = "This session is working on another message. Follow that run, stop it, or wait for its end."
        raise CallerError(409, "Session is busy", detail, "session_id", active_run=active) from error
    return session, run


def _check_new(store: Store, owner: str, key: str | None, body: str) -> None:
    """Raises AlreadyStarted or CallerError where the key is known."""
    found = None if key is None else store.sessions.by_key(owner, key)
    if found is None:
        return
    run_id, digest = found
    if digest != sha256_hex(body.encode()):
        detail = "This Idempotency-Key stands for another request. Send a new key with a new request."
        raise CallerError(409, "Key used before", detail, "Idempotency-Key")
    raise AlreadyStarted(store.sessions.run(owner, run_id))


def _session(store: Store, owner: str, request: StartRun, spec: ModelSpec, at: float) -> Session:
    if request.session_id is not None:
        return store.sessions.get(owner, request.session_id)
    title = " ".join(request.message.split())[:TITLE_CHARS]
    facts: dict[str, Any] = {
        "title": title,
        "model": spec.id,
        "host_id": request.host_id,
        "created_at": at,
        "updated_at": at,
    }
    session = Session(id=new_id("ses"), owner=owner, **facts)
    store.sessions.create(session)
    return session
