"""Dialect `chat_completions`, on the openai SDK's raw stream: xAI, Mistral, DeepSeek, OpenRouter, Ollama, vLLM, ...

Rules of these servers that shape the code (those of requests, pieces and errors stand in the files beside this one):
1. A stream has ended with any finish_reason or with [DONE]; some never send the one, some not the other. Without
   either nothing of the turn may be used. What breaks after it does no harm.
2. The usage comes with the last piece, behind it with empty choices, or with every piece: the last one counts.
3. Choices may be empty, `object` may be anything, `tool_calls` may be an empty list: what is missing says nothing.
4. The stop word tells little: there are calls behind "stop", and "tool_calls" without any. A word that nobody knows is
   believed where every call is a whole object and [DONE] follows.
5. An error may come in the middle as {"error"}, as an object of its own, or as the finish_reason.
6. Input tokens include the cache. Output tokens include the reasoning, except where the total says otherwise (xAI).
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Iterator, Sequence
from types import SimpleNamespace
from typing import Any

import httpx2
import openai
from openai.types.chat import ChatCompletionChunk

from drafthand.chunks import ChunkType, StreamChunk, Usage
from drafthand.errors import VendorError
from drafthand.model import TurnSettings
from drafthand.tools import ToolSpec
from drafthand.transcript import Message, Turn
from drafthand.vendors.access import Access
from drafthand.vendors.chat_completions_errors import error_in, reported, sdk_error
from drafthand.vendors.chat_completions_pieces import Call, Details, Prose, call_piece_of, prose_of
from drafthand.vendors.chat_completions_request import build_request
from drafthand.vendors.deadlines import FIRST_EVENT_S, deadlines, in_time
from drafthand.vendors.hygiene import count, text_of
from drafthand.vendors.refusals import broken
from drafthand.vendors.wire import UNREADABLE, no_stream, reading, unmarked, unstreamed

DONE = object()
"""Stands in the events for the vendor's [DONE]."""
WHOLE = ("stop", "tool_calls", "function_call", "eos", "eos_token", "stop_sequence", "end_turn", "tool_use", "end")
"""The stop words, in small letters, of an answer that the model itself has ended."""
STOPS = {
    "length": "max_tokens",
    "max_tokens": "max_tokens",
    "max_output_tokens": "max_tokens",
    "content_filter": "refusal",
    "sensitive": "refusal",
    "safety": "refusal",
    "recitation": "refusal",
    "refusal": "refusal",
    "model_length": "context_full",
    "model_context_window_exceeded": "context_full",
}
"""The others, in small letters; sensitive and model_context_window_exceeded are Z.ai's, model_length is Mistral's."""
FAILURES = {
    "error": "server_error",
    "network_error": "server_error",
    "abort": "server_error",
    "cancelled": "server_error",
    "insufficient_system_resource": "server_is_overloaded",
}
"""The stop words of an answer that the server broke off: OpenRouter, Z.ai, vLLM, DeepSeek."""
TAIL_S = 10.0
"""How long the usage may take to follow the finish_reason; not every server ends its stream then."""


# -- answer -----------------------------------------------------------------------------------------------------------


async def normalize(events: AsyncIterator[Any], turn: Turn) -> AsyncIterator[StreamChunk]:
    """Chunks for the client while events (the SDK's, and DONE) arrive; `turn` is whole when the iterator ends.

    Raises:
        VendorError: what the vendor reported; broken_stream where the events end without finish_reason and DONE.
    """
    answer = _Answer(turn)
    async for event in _until_over(events, answer):
        for chunk in answer.absorb(event):
            yield chunk
    if not answer.is_over:
        raise broken(turn.vendor)
    for chunk in answer.close():
        yield chunk


async def _until_over(events: AsyncIterator[Any], answer: _Answer) -> AsyncIterator[Any]:
    """The events. Once the answer is over, only its usage is waited for, and not for ever."""
    while True:
        try:
            async with asyncio.timeout(TAIL_S if answer.is_over else None):
                event = await anext(events)
        except StopAsyncIteration:
            return
        except (TimeoutError, VendorError, openai.APIConnectionError, httpx2.HTTPError, *UNREADABLE):
            if answer.is_over:
                return
            raise
        yield event


class _Answer:
    """The turn while it streams."""

    def __init__(self, turn: Turn) -> None:
        self.turn = turn
        self.items: list[Prose | Call] = []
        self.calls: dict[int | str, Call] = {}  # by index or place, and by the vendor's id
        self.latest: Call | None = None
        self.details = Details()
        self.finish: str | None = None
        self.done = False
        self.refused = False
        self.usage: Any = None

    @property
    def is_over(self) -> bool:
        return self.done or self.finish is not None

    def absorb(self, event: Any) -> Iterator[StreamChunk]:
        if event is DONE:
            self.done = True
            return
        choices = getattr(event, "choices", None) or ()
        if not choices and (error := error_in(_fields(event))) is not None:
            raise reported(self.turn.vendor, error)
        self._count(getattr(event, "usage", None))
        for choice in choices:
            if getattr(choice, "index", 0):
                continue  # another answer than the one that was asked for
            if (delta := getattr(choice, "delta", None) or _spoken(choice)) is not None:
                yield from self._absorb_delta(delta)
            self._count(getattr(choice, "usage", None))
            self._stop(choice)

    def _count(self, usage: Any) -> None:
        """The last usage counts; an empty one tells nothing."""
        if any(_usage(usage).model_dump().values()):
            self.usage = usage

    def _absorb_delta(self, delta: Any) -> Iterator[StreamChunk]:
        self.refused |= bool(getattr(delta, "refusal", None))
        self.details.add(getattr(delta, "reasoning_details", None) or ())
        for kind, text in prose_of(delta):
            if not text:
                continue
            last = self.items[-1] if self.items else None
            if not (isinstance(last, Prose) and last.kind is kind):
                last = Prose(kind)
                self.items.append(last)
            yield from last.absorb(text)
        calls = getattr(delta, "tool_calls", None) or ()
        for place, piece in enumerate([calls] if isinstance(calls, dict) else calls):
            yield from self._absorb_call(piece, place)
        if (legacy := getattr(delta, "function_call", None)) is not None:
            yield from self._absorb_call(SimpleNamespace(function=legacy), 0)

    def _absorb_call(self, piece: Any, place: int) -> Iterator[StreamChunk]:
        vendor_id, name, arguments = call_piece_of(piece)
        index = getattr(piece, "index", None)
        if isinstance(index, int):
            place = index
        key = vendor_id if vendor_id and not isinstance(index, int) else place
        call = self.calls.get(key)
        begins = call is None or call.is_over(vendor_id, name, arguments)
        if call is None or begins:
            call = Call()
            self.items.append(call)
        self.calls[place] = self.latest = call
        if vendor_id:
            self.calls[vendor_id] = call
        pieces = list(call.absorb(vendor_id, name, arguments))
        if begins:
            yield call.opening()
        yield from pieces

    def _stop(self, choice: Any) -> None:
        word = text_of(getattr(choice, "finish_reason", None)).lower()
        if word in FAILURES:
            told = getattr(choice, "error", None) or f"the answer ended with {word}"
            told = told if isinstance(told, dict) else {"message": told}
            raise reported(self.turn.vendor, {"type": FAILURES[word]} | told)
        self.finish = word or self.finish

    def close(self) -> Iterator[StreamChunk]:
        """Fill the turn. A call that was being written when the answer was cut off has no input."""
        cut = self.finish in STOPS
        details = self._details(cut=cut)
        for item in self.items:
            yield from item.finish()
            if isinstance(item, Call):
                whole = not (cut and item is self.latest)
                self.turn.parts.append(item.part(whole=whole, may_be_empty=self.finish in WHOLE))
                continue
            self.turn.parts.append(item.part(self.turn, details))
            if item.kind is ChunkType.THINKING:
                details = ""
        self.turn.close(self._stop_word(), _usage(self.usage))

    def _details(self, *, cut: bool) -> str:
        """The reasoning that must go back, with a thinking to lie on. What was cut inside a block has no signature."""
        thoughts = [item for item in self.items if isinstance(item, Prose) and item.kind is ChunkType.THINKING]
        if cut and self.items and thoughts and self.items[-1] is thoughts[-1]:
            return ""
        details = self.details.json()
        if details and not thoughts:
            self.items.insert(0, Prose(ChunkType.THINKING))
        return details

    def _stop_word(self) -> str:
        calls = self.turn.tool_calls
        known = self.finish is None or self.finish in WHOLE
        if self.finish is not None and not known and not (self.done and all(call.input for call in calls)):
            return STOPS.get(self.finish, self.finish)
        if self.finish in STOPS:
            return STOPS[self.finish]
        if calls:
            return "tool_calls"
        return "refusal" if self.refused else "end"


def _fields(event: Any) -> dict[str, Any]:
    """What an event holds that is no piece of an answer."""
    return (getattr(event, "model_extra", None) or {}) | {"object": getattr(event, "object", None)}


def _spoken(choice: Any) -> Any:
    """Some send the whole message where pieces of it should be."""
    message = getattr(choice, "message", None)
    return SimpleNamespace(**message) if isinstance(message, dict) else message


def _usage(usage: Any) -> Usage:
    """Servers leave counts out, and count more from the cache than came in."""
    prompt = count(usage, "prompt_tokens") or count(usage, "input_tokens")
    completion = count(usage, "completion_tokens") or count(usage, "output_tokens")
    places = (("prompt_tokens_details", "cached_tokens"), ("prompt_cache_hit_tokens",), ("cached_tokens",))
    cached = next((number for place in places if (number := count(usage, *place))), 0)
    read = min(prompt, cached)
    written = min(prompt - read, count(usage, "prompt_tokens_details", "cache_write_tokens"))
    reasoning = count(usage, "completion_tokens_details", "reasoning_tokens") or count(usage, "reasoning_tokens")
    if count(usage, "total_tokens") != prompt + completion + reasoning:
        reasoning = min(reasoning, completion)
        completion -= reasoning
    return Usage(
        input_uncached=prompt - read - written,
        cache_read=read,
        cache_write=written,
        output=completion,
        reasoning=reasoning,
    )


# -- client -----------------------------------------------------------------------------------------------------------


class _Stream(openai.AsyncStream[ChatCompletionChunk]):
    """The SDK's stream, which ends at [DONE] without a word; this one remembers it."""

    done = False

    async def _iter_events(self) -> AsyncIterator[Any]:
        async for event in super()._iter_events():
            self.done = self.done or event.data.startswith("[DONE]")
            yield event


async def _events(stream: _Stream) -> AsyncIterator[Any]:
    async for chunk in stream:
        yield chunk
    if stream.done:
        yield DONE


class ChatCompletionsClient:
    def __init__(self, access: Access, http_client: httpx2.AsyncClient | None = None) -> None:
        self.client = openai.AsyncOpenAI(
            api_key=access.api_key,
            base_url=access.base_url,
            http_client=unmarked(http_client or openai.DefaultAsyncHttpxClient()),
            max_retries=0,
        )
        if access.base_url is not None:  # the environment's OpenAI account is nobody else's business
            self.client.organization = self.client.project = None

    async def stream(
        self, transcript: Sequence[Message], tools: Sequence[ToolSpec], settings: TurnSettings, turn: Turn
    ) -> AsyncIterator[StreamChunk]:
        vendor, begun = settings.model.vendor, False
        first_s = settings.model.first_event_s or FIRST_EVENT_S
        request = build_request(transcript, tools, settings)
        try:
            response = await in_time(self.client.chat.completions.with_raw_response.create(**request), vendor, first_s)
            begun = True
            async with response.parse(to=_Stream) as stream:
                with reading(vendor):
                    if (body := await unstreamed(vendor, stream.response)) is not None:
                        raise _unstreamed(vendor, body, response.headers["content-type"])
                    async for chunk in normalize(deadlines(_events(stream), vendor, first_s), turn):
                        yield chunk
        except openai.APIError as error:
            raise sdk_error(vendor, error, begun) from error


def _unstreamed(vendor: str, body: Any, content_type: str) -> VendorError:
    """Some servers report an error with status 200."""
    error = error_in(body) if isinstance(body, dict) else None
    return no_stream(vendor, content_type) if error is None else reported(vendor, error)
