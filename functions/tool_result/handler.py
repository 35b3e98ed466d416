"""The function behind everything that is written INTO a waiting run: a host's result, a person's stop."""

from typing import Any

from aws_lambda_powertools.event_handler import Response
from drafthand import auth, rendezvous
from drafthand.commands import HostResult
from drafthand.errors import CallerError
from drafthand.resolver import body, headers, json_response, make_resolver
from drafthand.services import services
from pydantic import BaseModel, ConfigDict, Field

app = make_resolver()

MESSAGE_MAX_CHARS = 100_000
STATUS = {"stored": 202, "late": 202, "same": 200}


@app.post("/api/runs/<run>/calls/<call>/result")
def post_result(run: str, call: str) -> Response[str]:
    store = services().store
    host = auth.host(store, headers(app))
    result = body(app, HostResult)
    if result.id != call:
        raise CallerError(422, "Wrong call", f"The body is of call {result.id!r}, the path names {call!r}.", "id")
    taken = rendezvous.answer(store, host, run, result)
    if taken == "stored":
        services().wake_if_idle(store.sessions.run(host.owner, run))
    return json_response(STATUS[taken], {"status": taken})


@app.post("/api/runs/<run>/cancel")
def post_cancel(run: str) -> Response[str]:
    """Ask for the run's end. A run that has ended stays as it is."""
    sessions = services().store.sessions
    found = sessions.run(auth.user(services().settings, headers(app)), run)
    if found.state == "running":
        sessions.cancel_run(found)
        services().wake_if_idle(found)
    return json_response(202, {"state": found.state})


class Said(BaseModel):
    model_config = ConfigDict(extra="forbid")

    message: str = Field(min_length=1, max_length=MESSAGE_MAX_CHARS)


@app.post("/api/runs/<run>/messages")
def post_message(run: str) -> Response[str]:
    """Say something to a run that is being worked on: the model reads it with its next turn."""
    sessions = services().store.sessions
    found = sessions.run(auth.user(services().settings, headers(app)), run)
    said = body(app, Said)
    if not said.message.strip():
        raise CallerError(422, "Empty message", "Say what you want done.", "message")
    if found.state != "running":
        raise CallerError(409, "Run has ended", "This run has ended. Start a new one in its session.", "run")
    sessions.say(found, said.message)
    services().wake_if_idle(found)
    return json_response(202, {"state": found.state})


def handle(event: dict[str, Any], context: Any) -> dict[str, Any]:
    return app.resolve(event, context)
