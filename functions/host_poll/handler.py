"""The function behind everything a host asks for: its next command, a place to upload to."""

import time
from typing import Annotated, Any

from aws_lambda_powertools.event_handler import Response
from drafthand import auth, rendezvous
from drafthand.commands import DocumentState, Sha256
from drafthand.ids import now
from drafthand.resolver import body, headers, json_response, make_resolver
from drafthand.services import services
from drafthand.store import Store
from drafthand.store.hosts import Host
from pydantic import BaseModel, Field

app = make_resolver()

LOOK_EVERY_S = 0.25
BEAT_S = 5.0
"""How long the heartbeat of a busy host is held: it is answered at once when its command is no longer wanted."""
UPLOAD_MAX_BYTES = 200_000_000


class Application(BaseModel):
    name: str = Field(pattern=r"^[a-z0-9_]{1,40}$")
    version: str = Field(max_length=100)


class Poll(BaseModel):
    """`busy_since` and `command_id` are set while a command runs: then this is a heartbeat."""

    document: DocumentState | None
    application: Application
    busy_since: float | None = None
    command_id: str | None = None


class Upload(BaseModel):
    sha256: Sha256
    bytes: Annotated[int, Field(ge=0, le=UPLOAD_MAX_BYTES)]
    media_type: str = Field(pattern=r"^[\w.+-]+/[\w.+-]+(; ?charset=utf-8)?$")


@app.post("/api/hosts/poll")
def post_poll() -> Response[str]:
    store = services().store
    host = auth.host(store, headers(app))
    poll = body(app, Poll)
    document = poll.document.model_dump() if poll.document else None
    facts = {"application": poll.application.model_dump(), "document": document, "busy_since": poll.busy_since}
    store.hosts.seen(host, **facts)
    if poll.busy_since is not None:
        hold_s = min(BEAT_S, services().settings.poll_hold_s)
        cancelled = poll.command_id is not None and _withdrawn(store, host, poll.command_id, hold_s)
        return _told(None, BEAT_S - hold_s, cancelled=cancelled)
    # A host that has just come is answered at once: so it knows that it is connected.
    hold_s = services().settings.poll_hold_s if host.online(now()) else 0.0
    return _told(_wait_for_command(store, host, hold_s), 0.0, cancelled=False)


def _wait_for_command(store: Store, host: Host, hold_s: float) -> dict[str, Any] | None:
    """The next command, or None when the poll has been held for `hold_s` seconds."""
    until = now() + hold_s
    while (command := rendezvous.claim(store, host)) is None:
        if now() > until:
            return None
        time.sleep(LOOK_EVERY_S)
    return command.model_dump(mode="json")


def _withdrawn(store: Store, host: Host, call_id: str, hold_s: float) -> bool:
    """Whether the host's command is no longer wanted; waits `hold_s` seconds for that to happen."""
    until = now() + hold_s
    while rendezvous.wanted(store, host, call_id):
        if now() > until:
            return False
        time.sleep(LOOK_EVERY_S)
    return True


def _told(command: dict[str, Any] | None, next_poll_s: float, *, cancelled: bool) -> Response[str]:
    return json_response(200, {"command": command, "next_poll_s": next_poll_s, "cancelled": cancelled})


@app.post("/api/hosts/uploads")
def post_upload() -> Response[str]:
    """A presigned PUT for bytes of this hash; `url` is null where the store has them already."""
    store = services().store
    host = auth.host(store, headers(app))
    upload = body(app, Upload)
    if store.blobs.head(host.owner, upload.sha256) is not None:
        return json_response(200, {"url": None, "headers": {}, "method": "PUT"})
    url, needed = store.blobs.upload(host.owner, upload.sha256, upload.media_type)
    return json_response(200, {"url": url, "headers": needed, "method": "PUT"})


def handle(event: dict[str, Any], context: Any) -> dict[str, Any]:
    return app.resolve(event, context)
