"""The rehearsal model server: HTTP, pacing, faults. A dialect is a module and a route; script and walk know of none."""

from __future__ import annotations

import asyncio
import json
import secrets
from collections import deque
from collections.abc import AsyncIterator, Iterable, Sequence

from starlette.applications import Starlette
from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.responses import PlainTextResponse, Response, StreamingResponse
from starlette.routing import Route

from local.rehearsal import anthropic, chat, gemini, responses, responses_cache
from local.rehearsal.anthropic_cache import PromptCache
from local.rehearsal.faults import OVERLOADED, checked, refuse, spoil
from local.rehearsal.gemini_request import GeminiRefused
from local.rehearsal.gemini_tokens import ImplicitCache
from local.rehearsal.openai_request import Denied
from local.rehearsal.script import Script, load, titles
from local.rehearsal.wire import MODEL, WINDOW, Event, Refused

GEMINI = "/models/{model}:streamGenerateContent"
MARK = {"x-rehearsal": "no language model; plays a script"}
SIGN = """This is the rehearsal model server. It is no language model: it plays scripts over the wire protocol of
model vendors, token by token, so that everything around a model can be tried without a key.

Model id: {model}
Dialects: Anthropic Messages (POST /v1/messages), OpenAI Responses (POST /v1/responses),
OpenAI Chat Completions (POST /v1/chat/completions),
Gemini (POST /v1/models/{model}:streamGenerateContent?alt=sse)
What can be rehearsed:
{titles}
"""


def create_app(
    scripts: Sequence[Script] | None = None,
    tokens_per_second: float = 0.0,
    faults: Sequence[str] = (),
    window: int = WINDOW,
) -> Starlette:
    """The server as an ASGI application.

    Args:
        scripts: as `script.load` returns them, the fallback last; None: the bundled ones.
        tokens_per_second: pace of the stream; 0: as fast as it is read. Each event is its own write in any case.
        faults: names out of `faults.FAULTS`, one used up by each request to a model, in order; those of the stream
            leave a request without `stream` alone.
        window: the context window in tokens, in all dialects; a longer prompt is refused.

    Raises:
        ScriptError: a bundled script is wrong.
        ValueError: a fault is unknown.
    """
    stage = Stage(load() if scripts is None else scripts, tokens_per_second, checked(faults), window)
    return Starlette(
        routes=[
            Route("/", stage.sign),
            Route("/v1/messages", stage.messages, methods=["POST"]),
            Route("/v1/responses", stage.responses, methods=["POST"]),
            Route("/v1/chat/completions", stage.chat, methods=["POST"]),
            *(Route(f"/{version}{GEMINI}", stage.gemini, methods=["POST"]) for version in ("v1", "v1beta")),
        ],
        exception_handlers={HTTPException: _unknown_route},
    )


class Stage:
    """What the routes share: scripts, pace, the faults left, the window, and the dialect's prompt cache."""

    def __init__(
        self, scripts: Sequence[Script], tokens_per_second: float, ordered: Sequence[str], window: int
    ) -> None:
        self.scripts = scripts
        self.tokens_per_second = tokens_per_second
        self.ordered = deque(ordered)
        self.window = window
        self.cache = PromptCache()
        self.gemini_cache = ImplicitCache()
        self.responses_cache = responses_cache.PromptCache()
        self.chat_cache = responses_cache.PromptCache()

    async def sign(self, request: Request) -> Response:
        rehearsed = "\n".join(f"- {title}" for title in titles(self.scripts))
        return PlainTextResponse(SIGN.format(model=MODEL, titles=rehearsed), headers=MARK)

    async def messages(self, request: Request) -> Response:
        """POST /v1/messages, the Anthropic dialect."""
        fault = self.ordered.popleft() if self.ordered else None
        headers = MARK | {"request-id": _request_id()}
        try:
            refuse(fault)
            body = await request.body()
            asked, events = anthropic.answer(self.scripts, self.cache, self.window, request.headers, body)
        except Refused as refused:
            return _refusal(refused, headers)
        if not asked.stream:
            message = anthropic.whole([event async for event in self._paced(events)])
            return Response(json.dumps(message), media_type="application/json", headers=headers)
        spoiled = spoil(fault, events, anthropic.error_event(*OVERLOADED))
        frames = (anthropic.frame(event) async for event in self._paced(spoiled))
        headers["cache-control"] = "no-cache"
        return StreamingResponse(frames, media_type="text/event-stream", headers=headers)

    async def responses(self, request: Request) -> Response:
        """POST /v1/responses, the OpenAI Responses dialect."""
        fault = self.ordered.popleft() if self.ordered else None
        headers = MARK | {"x-request-id": _request_id()}
        try:
            responses.refuse(fault)
            body = await request.body()
            asked, events = responses.answer(self.scripts, self.responses_cache, self.window, request.headers, body)
        except Denied as denied:
            error = json.dumps({"error": denied.error()})
            return Response(error, denied.status, headers | denied.headers, "application/json")
        if not asked.stream:
            response = responses.whole([event async for event in self._paced(events)])
            return Response(json.dumps(response), media_type="application/json", headers=headers)
        spoiled = responses.numbered(responses.spoil(fault, events))
        frames = (responses.frame(event) async for event in self._paced(spoiled))
        headers["cache-control"] = "no-cache"
        return StreamingResponse(frames, media_type="text/event-stream", headers=headers)

    async def chat(self, request: Request) -> Response:
        """POST /v1/chat/completions, the OpenAI Chat Completions dialect; its HTTP errors are those of Responses."""
        fault = self.ordered.popleft() if self.ordered else None
        headers = MARK | {"x-request-id": _request_id()}
        try:
            responses.refuse(fault)
            body = await request.body()
            asked, events = chat.answer(self.scripts, self.chat_cache, self.window, request.headers, body)
        except Denied as denied:
            error = json.dumps({"error": denied.error()})
            return Response(error, denied.status, headers | denied.headers, "application/json")
        if not asked.stream:
            completion = chat.whole([event async for event in self._paced(events)])
            return Response(json.dumps(completion), media_type="application/json", headers=headers)
        frames = (chat.frame(event) async for event in self._paced(chat.spoil(fault, events)))
        headers["cache-control"] = "no-cache"
        return StreamingResponse(frames, media_type="text/event-stream", headers=headers)

    async def gemini(self, request: Request) -> Response:
        """POST /v1/models/{model}:streamGenerateContent, the Gemini dialect."""
        fault = self.ordered.popleft() if self.ordered else None
        model, body = request.path_params["model"], await request.body()
        try:
            gemini.refuse(fault)
            cache, headers, query = self.gemini_cache, request.headers, request.query_params
            events = gemini.answer(self.scripts, cache, self.window, model, headers, query, body)
        except GeminiRefused as refused:
            error = json.dumps(gemini.error_body(refused), indent=2)
            return Response(error, refused.status, MARK, "application/json")
        frames = (gemini.frame(event) async for event in self._paced(gemini.spoil(fault, events)))
        return StreamingResponse(frames, media_type="text/event-stream", headers=MARK)

    async def _paced(self, events: Iterable[Event]) -> AsyncIterator[Event]:
        for event in events:
            seconds = event.tokens / self.tokens_per_second if self.tokens_per_second else 0.0
            await asyncio.sleep(seconds)  # at 0 too: each event is its own write, and a reader gets its turn
            yield event


def _request_id() -> str:
    return f"req_{secrets.token_hex(12)}"


def _refusal(refused: Refused, headers: dict[str, str]) -> Response:
    body = anthropic.error_body(refused.kind, refused.message, headers["request-id"])
    return Response(json.dumps(body), refused.status, headers | refused.headers, "application/json")


def _unknown_route(request: Request, error: Exception) -> Response:
    assert isinstance(error, HTTPException)
    return _refusal(Refused(error.status_code, "not_found_error", error.detail), MARK | {"request-id": _request_id()})
