"""OpenAI Chat Completions: a request checked and read for the walk, and its answer. Only the cache has a memory."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from local.rehearsal.chat_render import DONE, render
from local.rehearsal.chat_request import Assistant, Message, Request, Tool, User, parse, texts_of
from local.rehearsal.chat_rules import CONTEXT, problem_of
from local.rehearsal.chat_tokens import segments_of
from local.rehearsal.responses_cache import PromptCache
from local.rehearsal.responses_request import Denied
from local.rehearsal.script import Script
from local.rehearsal.walk import Exchange, View, walk
from local.rehearsal.wire import Event

MAX_BODY = 50 * 1024 * 1024
DELTAS_BEFORE_THE_ERROR = 3
NO_KEY = (
    "You didn't provide an API key. You need to provide your API key in an Authorization header using Bearer auth "
    "(i.e. Authorization: Bearer YOUR_KEY)."
)


def answer(
    scripts: Sequence[Script], cache: PromptCache, headers: Mapping[str, str], body: bytes
) -> tuple[Request, list[Event]]:
    """The events that answer a request.

    Raises:
        Denied: the vendor would refuse it.
    """
    request = ask(headers, body)
    segments = segments_of(request)
    total = segments[-1].tokens
    if total > CONTEXT:
        told = f"However, your messages resulted in {total} tokens. Please reduce the length of the messages."
        message = f"This model's maximum context length is {CONTEXT} tokens. {told}"
        raise Denied(message, "context_length_exceeded", "messages")
    spent = cache.account(request.prompt_cache_key, segments)
    return request, list(render(walk(scripts, read(request)), request, segments[-1].prefix, spent))


def ask(headers: Mapping[str, str], body: bytes) -> Request:
    """The request, once it has passed everything the vendor checks.

    Raises:
        Denied: 401, 404 or 413, or 400 for all the rest.
    """
    scheme, _, token = headers.get("authorization", "").partition(" ")
    if scheme.lower() != "bearer" or not token.strip():
        raise Denied(NO_KEY, status=401)
    if len(body) > MAX_BODY:
        raise Denied("Request body is too large.", status=413)
    request = parse(body)
    if (problem := problem_of(request)) is not None:
        raise problem
    return request


def read(request: Request) -> View:
    """The request as the walk sees it. A person wrote what holds words: pictures alone belong to the result before."""
    messages = request.messages
    written = [index for index, message in enumerate(messages) if isinstance(message, User) and texts_of(message)]
    start = written[-1] if written else -1
    asked = "\n".join(texts_of(messages[start])) if written else ""
    return View(asked, tuple(_exchanges(messages[start + 1 :])), _callable(request))


def _exchanges(messages: Sequence[Message]) -> Iterator[Exchange]:
    """Each turn of the assistant, and what the last of its calls brought."""
    turns: list[str | None] = []
    for message in messages:
        if isinstance(message, Assistant):
            turns.append(None)
        elif isinstance(message, Tool) and turns:
            turns[-1] = "\n".join(texts_of(message))
    yield from (Exchange(result) for result in turns)


def _callable(request: Request) -> frozenset[str]:
    choice = request.tool_choice
    if choice is not None and choice.type == "none":
        return frozenset()
    return frozenset({choice.function.name}) if choice is not None and choice.function is not None else request.names


# -- wire -------------------------------------------------------------------------------------------------------------


def frame(event: Event) -> bytes:
    """The event as the vendor writes it; none has a name."""
    data = "[DONE]" if event is DONE else json.dumps(event.data, ensure_ascii=False, separators=(",", ":"))
    return f"data: {data}\n\n".encode()


def whole(events: Sequence[Event]) -> dict[str, Any]:
    """The completion that a request without `stream` gets."""
    chunks = [event.data for event in events if event is not DONE]
    message: dict[str, Any] = {"role": "assistant", "content": None, "refusal": None}
    calls: list[dict[str, Any]] = []
    finish = None
    for choice in [choice for chunk in chunks for choice in chunk["choices"]]:
        finish = choice["finish_reason"] or finish
        if content := choice["delta"].get("content"):
            message["content"] = (message["content"] or "") + content
        for piece in choice["delta"].get("tool_calls", ()):
            if "id" in piece:
                calls.append({name: piece[name] for name in ("id", "type")} | {"function": dict(piece["function"])})
            else:
                calls[-1]["function"]["arguments"] += piece["function"]["arguments"]
    if calls:
        message["tool_calls"] = calls
    head = {name: chunks[0][name] for name in ("id", "created", "model", "service_tier", "system_fingerprint")}
    choice = {"index": 0, "message": message, "finish_reason": finish}
    return head | {"object": "chat.completion", "choices": [choice], "usage": chunks[-1]["usage"]}


# -- faults -----------------------------------------------------------------------------------------------------------


def spoil(fault: str | None, events: Sequence[Event]) -> Iterator[Event]:
    """The events as a faulty stream brings them.

    overloaded_mid_stream: after three deltas comes an error, and the stream ends.
    cut_without_stop: everything before the finish_reason.
    """
    deltas = 0
    for event in events:
        choice = next(iter(event.data.get("choices", ())), {})
        if fault == "cut_without_stop" and choice.get("finish_reason"):
            return
        if fault == "overloaded_mid_stream" and deltas == DELTAS_BEFORE_THE_ERROR:
            message = "Our servers are currently overloaded. Please try again."
            error = {"message": message, "type": "server_error", "param": None, "code": "server_is_overloaded"}
            yield Event("error", {"error": error})
            return
        deltas += bool(choice.get("delta"))
        yield event
