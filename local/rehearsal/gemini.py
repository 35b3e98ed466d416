"""Gemini generateContent: a request checked and read for the walk, and its answer as events."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from local.rehearsal.gemini_render import render
from local.rehearsal.gemini_request import Content, GeminiRefused, Request, invalid, parse
from local.rehearsal.gemini_rules import is_written, problem_of
from local.rehearsal.gemini_tokens import ImplicitCache
from local.rehearsal.reading import Entry, Said, view_of
from local.rehearsal.script import Script
from local.rehearsal.walk import Exchange, View, walk
from local.rehearsal.wire import MODEL, WINDOW, Event

MAX_BODY = 20 * 1024 * 1024
EVENTS_BEFORE_THE_ERROR = 3


def answer(
    scripts: Sequence[Script],
    cache: ImplicitCache,
    window: int,
    model: str,
    headers: Mapping[str, str],
    query: Any,
    body: bytes,
) -> list[Event]:
    """The events that answer a request.

    Args:
        window: tokens that a prompt may have. model: the name in the path. query: the parameters behind it.

    Raises:
        GeminiRefused: the vendor would refuse it.
    """
    request = ask(model, headers, query, body, window)
    play = walk(scripts, read(request))
    prompt, cached = cache.account(request)
    return list(render(play, request, prompt, cached))


# -- request ----------------------------------------------------------------------------------------------------------


def ask(model: str, headers: Mapping[str, str], query: Any, body: bytes, window: int = WINDOW) -> Request:
    """The request, once it has passed everything the vendor checks.

    Raises:
        GeminiRefused: 403 or 404, or 400 for all the rest.
    """
    if not (headers.get("x-goog-api-key") or query.get("key")):  # any key will do
        raise GeminiRefused(
            403,
            "PERMISSION_DENIED",
            "Method doesn't allow unregistered callers (callers without established identity). Please use API Key or "
            "other form of API consumer identity to call this API.",
        )
    if query.get("alt") != "sse":
        raise invalid("The rehearsal answers in server-sent events only: add ?alt=sse.")
    if len(body) > MAX_BODY:
        raise invalid(f"Request payload size exceeds the limit: {MAX_BODY} bytes.")
    if model != MODEL:
        raise GeminiRefused(
            404,
            "NOT_FOUND",
            f"models/{model} is not found for API version v1, or is not supported for generateContent. Call ListModels "
            "to see the list of available models and their supported methods.",
        )
    request = parse(body)
    if (problem := problem_of(request, window)) is not None:
        raise invalid(problem)
    return request


def read(request: Request) -> View:
    """The request as the walk sees it."""
    return view_of(_entries(request.contents), _callable(request))


def _entries(contents: Sequence[Content]) -> Iterator[Entry]:
    for content, following in zip(contents, [*contents[1:], Content()], strict=True):
        if content.role == "model":
            yield Exchange(_last_result(following))
        elif is_written(content):
            yield Said(_written(content))


def _written(content: Content) -> tuple[str, ...]:
    """A person's texts; an empty one for a picture, unless it is one of a result."""
    if content.responses:
        return tuple(part.text for part in content.parts if part.text)
    return tuple(part.text or "" for part in content.parts)


def _last_result(content: Content) -> str | None:
    if not content.responses:
        return None
    response = content.responses[-1].response
    said = response.get("output", response.get("error"))
    return said if isinstance(said, str) else json.dumps(response, ensure_ascii=False)


def _callable(request: Request) -> frozenset[str]:
    calling = request.tool_config.function_calling_config
    if calling.mode == "NONE":
        return frozenset()
    declared = frozenset(declaration.name for declaration in request.declarations)
    return declared & frozenset(calling.allowed_function_names) if calling.allowed_function_names else declared


# -- answer -----------------------------------------------------------------------------------------------------------


def frame(event: Event) -> bytes:
    """The event as the vendor writes it; an error in mid-stream is bare JSON."""
    if event.name == "error":
        return f"{json.dumps(event.data, indent=2)}\n".encode()
    data = json.dumps(event.data, ensure_ascii=False, separators=(",", ": "))
    return f"data: {data}\r\n\r\n".encode()


def error_body(refused: GeminiRefused) -> dict[str, Any]:
    """The vendor's error, as a response's body or in the middle of a stream."""
    error: dict[str, Any] = {"code": refused.status, "message": refused.message, "status": refused.kind}
    return {"error": error | ({"details": refused.details} if refused.details else {})}


# -- faults -----------------------------------------------------------------------------------------------------------


def _overloaded() -> GeminiRefused:
    return GeminiRefused(503, "UNAVAILABLE", "The model is overloaded. Please try again later.")


def refuse(fault: str | None) -> None:
    """Raise what an HTTP fault answers instead of a stream: this vendor's word for 529 is 503, and the wait that it
    asks for stands in the details.

    Raises:
        GeminiRefused: for http_429 (with a retryDelay of one second) and http_529.
    """
    if fault == "http_429":
        wait = {"@type": "type.googleapis.com/google.rpc.RetryInfo", "retryDelay": "1s"}
        text = "You exceeded your current quota, please check your plan and billing details."
        raise GeminiRefused(429, "RESOURCE_EXHAUSTED", text, [wait])
    if fault == "http_529":
        raise _overloaded()


def spoil(fault: str | None, events: Sequence[Event]) -> Iterator[Event]:
    """The events as a faulty stream brings them.

    overloaded_mid_stream: an error after three events, or before the last of fewer. cut_without_stop: all but the last.
    """
    if fault == "cut_without_stop":
        yield from events[:-1]
    elif fault == "overloaded_mid_stream":
        yield from events[: min(EVENTS_BEFORE_THE_ERROR, len(events) - 1)]
        yield Event("error", error_body(_overloaded()))
    else:
        yield from events
