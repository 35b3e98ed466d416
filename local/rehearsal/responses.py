"""OpenAI Responses: a request checked and read for the walk, and its answer. Only the cache has a memory."""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from typing import Any

from local.rehearsal.openai_request import Denied, let_in
from local.rehearsal.reading import Entry, Said, in_place, view_of
from local.rehearsal.responses_cache import PromptCache, segments_of
from local.rehearsal.responses_compaction import compaction_problem, sealed, since_compaction, summary_of, threshold_of
from local.rehearsal.responses_reasoning import place_of
from local.rehearsal.responses_render import failed, render
from local.rehearsal.responses_request import (
    Compaction,
    FunctionCall,
    FunctionCallOutput,
    InputText,
    Item,
    Reasoning,
    Request,
    Written,
    parse,
)
from local.rehearsal.responses_rules import problem_of, too_long
from local.rehearsal.script import Script
from local.rehearsal.walk import Exchange, View, walk
from local.rehearsal.wire import Event

DELTAS_BEFORE_THE_ERROR = 3
NO_KEY = "Missing bearer or basic authentication in header"


def answer(
    scripts: Sequence[Script], cache: PromptCache, window: int, headers: Mapping[str, str], body: bytes
) -> tuple[Request, list[Event]]:
    """The events that answer a request. `window`: tokens that a prompt may have.

    Raises:
        Denied: the vendor would refuse it.
    """
    request = since_compaction(ask(headers, body))
    segments = segments_of(request)
    if segments[-1].tokens > window:
        if not request.stream:
            raise too_long()
        return request, list(failed(request, too_long().error()))
    spent = cache.account(request.prompt_cache_key, segments)
    view = read(request)
    play, threshold = walk(scripts, view), threshold_of(request)
    if threshold is None or segments[-1].tokens <= threshold:
        return request, list(render(play, request, spent))
    summary = in_place(walk(scripts, replace(view, summarize=True)).say or "", view.request)
    item = sealed(f"cmp_{place_of(request, thought=False)}", summary)
    shorter = request.model_copy(update={"input": [item]})
    spent = cache.account(request.prompt_cache_key, segments_of(shorter))
    return request, list(render(play, request, spent, item))


def ask(headers: Mapping[str, str], body: bytes) -> Request:
    """The request, once it has passed everything the vendor checks.

    Raises:
        Denied: 401, 404 or 413, or 400 for all the rest.
    """
    let_in(headers, body, NO_KEY)
    request = parse(body)
    if (problem := problem_of(request) or compaction_problem(request.input)) is not None:
        raise problem
    return request


def read(request: Request) -> View:
    """The request as the walk sees it. A person wrote what holds words: pictures alone belong to the output before."""
    return view_of(_entries(request.input), _callable(request))


def _entries(items: Sequence[Item]) -> Iterator[Entry]:
    """A turn is whatever the assistant wrote up to the outputs of its calls."""
    open_turn, result = False, None
    for item in items:
        if isinstance(item, Written | FunctionCall | Reasoning):
            if open_turn and result is not None:
                yield Exchange(result)
                result = None
            open_turn = True
        elif isinstance(item, Compaction):
            yield Said((summary_of(item) or "",))
        elif isinstance(item, FunctionCallOutput):
            result = "\n".join(_texts(item.output))
        elif item.role == "user" and (texts := _texts(item.content)):
            if open_turn:
                yield Exchange(result)
            open_turn, result = False, None
            yield Said(texts)
    if open_turn:
        yield Exchange(result)


def _texts(parts: Sequence[Any]) -> tuple[str, ...]:
    return tuple(part.text for part in parts if isinstance(part, InputText))


def _callable(request: Request) -> frozenset[str]:
    choice = request.tool_choice
    if choice.type == "none":
        return frozenset()
    return frozenset({choice.name}) if choice.name is not None else frozenset(tool.name for tool in request.tools)


# -- wire -------------------------------------------------------------------------------------------------------------


def numbered(events: Iterable[Event]) -> Iterator[Event]:
    """The events with their sequence numbers."""
    for number, event in enumerate(events):
        yield Event(event.name, event.data | {"sequence_number": number}, event.tokens)


def frame(event: Event) -> bytes:
    """The event as the vendor writes it."""
    data = json.dumps(event.data, ensure_ascii=False, separators=(",", ":"))
    return f"event: {event.name}\ndata: {data}\n\n".encode()


def whole(events: Sequence[Event]) -> dict[str, Any]:
    """The response that a request without `stream` gets."""
    response: dict[str, Any] = events[-1].data["response"]
    return response


# -- faults -----------------------------------------------------------------------------------------------------------


def refuse(fault: str | None) -> None:
    """Raise what an HTTP fault answers instead of a stream; this vendor's word for 529 is 503.

    Raises:
        Denied: for http_429 (with a Retry-After of one second) and http_529.
    """
    if fault == "http_429":
        message = "Rate limit reached for rehearsal on requests per min (RPM): Limit 3, Used 3, Requested 1."
        headers = {"retry-after": "1"}
        raise Denied(f"{message} Please try again in 1s.", "rate_limit_exceeded", None, 429, "requests", headers)
    if fault == "http_529":
        raise Denied("The server is overloaded or not ready yet.", status=503, kind="service_unavailable_error")


def spoil(fault: str | None, events: Sequence[Event]) -> Iterator[Event]:
    """The events as a faulty stream brings them.

    overloaded_mid_stream: after three deltas comes response.failed, and the stream ends.
    cut_without_stop: everything but the last event, so each item looks finished and the response is not.
    """
    if fault == "cut_without_stop":
        yield from events[:-1]
        return
    deltas = 0
    for event in events:
        if fault == "overloaded_mid_stream" and deltas == DELTAS_BEFORE_THE_ERROR:
            error = {
                "code": "server_is_overloaded",
                "message": "Our servers are currently overloaded. Please try again.",
            }
            response = whole(events) | {"status": "failed", "error": error, "output": [], "usage": None}
            yield Event("response.failed", {"type": "response.failed", "response": response})
            return
        deltas += "delta" in event.data
        yield event
