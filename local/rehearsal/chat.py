"""OpenAI Chat Completions: a request checked and read for the walk, and its answer. Only the cache has a memory."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from local.rehearsal.chat_render import DONE, render
from local.rehearsal.chat_request import Assistant, Message, Request, Tool, User, parse, texts_of
from local.rehearsal.chat_rules import problem_of
from local.rehearsal.chat_tokens import segments_of
from local.rehearsal.openai_request import Denied, let_in
from local.rehearsal.reading import Entry, Said, view_of
from local.rehearsal.responses_cache import PromptCache
from local.rehearsal.script import Script
from local.rehearsal.walk import Exchange, View, walk
from local.rehearsal.wire import Event

DELTAS_BEFORE_THE_ERROR = 3
NO_KEY = (
    "You didn't provide an API key. You need to provide your API key in an Authorization header using Bearer auth "
    "(i.e. Authorization: Bearer YOUR_KEY)."
)


def answer(
    scripts: Sequence[Script], cache: PromptCache, window: int, headers: Mapping[str, str], body: bytes
) -> tuple[Request, list[Event]]:
    """The events that answer a request. `window`: tokens that a prompt may have.

    Raises:
        Denied: the vendor would refuse it.
    """
    request = ask(headers, body)
    segments = segments_of(request)
    total = segments[-1].tokens
    if total > window:
        told = f"However, your messages resulted in {total} tokens. Please reduce the length of the messages."
        message = f"This model's maximum context length is {window} tokens. {told}"
        raise Denied(message, "context_length_exceeded", "messages")
    spent = cache.account(request.prompt_cache_key, segments)
    return request, list(render(walk(scripts, read(request)), request, segments[-1].prefix, spent))


def ask(headers: Mapping[str, str], body: bytes) -> Request:
    """The request, once it has passed everything the vendor checks.

    Raises:
        Denied: 401, 404 or 413, or 400 for all the rest.
    """
    let_in(headers, body, NO_KEY)
    request = parse(body)
    if (problem := problem_of(request)) is not None:
        raise problem
    return request


def read(request: Request) -> View:
    """The request as the walk sees it. A person wrote what holds words: pictures alone belong to the result before."""
    return view_of(_entries(request.messages), _callable(request))


def _entries(messages: Sequence[Message]) -> list[Entry]:
    """A turn of the assistant brings what the last of its calls brought."""
    entries: list[Entry] = []
    for message in messages:
        texts = tuple(texts_of(message))
        if isinstance(message, Assistant):
            entries.append(Exchange(None))
        elif isinstance(message, Tool):
            entries[-1] = Exchange("\n".join(texts))
        elif isinstance(message, User) and texts:
            entries.append(Said(texts))
    return entries


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
