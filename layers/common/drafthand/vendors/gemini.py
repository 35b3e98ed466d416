"""Dialect `gemini`, on google-genai's raw stream of responses. `gemini_request.py` says what goes out.

Rules of this vendor that shape the code:
1. A stream has ended only with a finishReason or a promptFeedback.blockReason. Old models put STOP on every chunk, so
   the last reason counts, and only once the connection has closed in order.
2. STOP also ends a turn of calls. Several reasons mean that the model wrote nonsense: an error, not an answer.
3. A call's arguments come whole, or in pieces whose closing marks may be missing (`gemini_arguments.py`).
4. Signatures are kept on the part they came with, as base64 text.
5. An error in mid-stream is bare JSON between the events; the SDK raises it, with no more order than its parser has.
"""

from __future__ import annotations

import base64
import re
from collections.abc import AsyncGenerator, AsyncIterator, Iterator, Sequence
from contextlib import aclosing
from contextvars import ContextVar
from typing import Any

import httpx2
from google import genai
from google.genai import errors, types

from drafthand.chunks import ChunkType, StreamChunk, Usage
from drafthand.errors import VendorError
from drafthand.ids import new_id
from drafthand.model import TurnSettings
from drafthand.tools import ToolSpec
from drafthand.transcript import Message, Opaque, Text, Thinking, ToolCall, Turn
from drafthand.vendors.access import Access
from drafthand.vendors.deadlines import deadlines
from drafthand.vendors.gemini_arguments import Arguments
from drafthand.vendors.gemini_request import ON_CALL, ON_NOTHING, ON_TEXT, ON_THOUGHT, build_request
from drafthand.vendors.gemini_wire import readable
from drafthand.vendors.hygiene import Written, clean, count
from drafthand.vendors.refusals import broken, code_of, refusal, retry_after_s, status_in, told
from drafthand.vendors.wire import no_stream, reading, unmarked

SILENCE_S = 300.0
"""Arguments are sent only when all are written: 4 min 13 s before a call of 42 KB were measured."""
ENDED = ("STOP", "FUNCTION_CALL")
"""The vendor's word for an answer that the model has ended, and that of imitations for one with calls."""
STOPS = {"STOP": "end", "FUNCTION_CALL": "end", "MAX_TOKENS": "max_tokens"} | dict.fromkeys(
    [
        *("SAFETY", "RECITATION", "LANGUAGE", "BLOCKLIST", "PROHIBITED_CONTENT", "SPII", "MODEL_ARMOR", "ESCALATION"),
        *("PUP_LIMITED_DISABLED", "IMAGE_SAFETY", "IMAGE_PROHIBITED_CONTENT", "IMAGE_RECITATION"),
    ],
    "refusal",
)
NONSENSE = {"MALFORMED_FUNCTION_CALL", "UNEXPECTED_TOOL_CALL", "TOO_MANY_TOOL_CALLS", "MALFORMED_RESPONSE", "OTHER"}
UNSET = {"FINISH_REASON_UNSPECIFIED", "BLOCKED_REASON_UNSPECIFIED"}


# -- answer -----------------------------------------------------------------------------------------------------------


async def normalize(events: AsyncIterator[Any], turn: Turn) -> AsyncIterator[StreamChunk]:
    """Chunks for the client while events arrive; `turn` is whole when the iterator ends.

    Raises:
        VendorError: broken_stream where the events end without a reason, or with one that makes them worthless;
            invalid_request where the vendor misses a signature.
    """
    answer = _Answer(turn)
    async for event in events:
        for chunk in answer.absorb(event):
            yield chunk
    for chunk in answer.end():
        yield chunk


class _Answer:
    """A turn while it streams: the text, the thought or the call that may still go on.

    `said`: there was more than thoughts. Gemini sometimes ends a turn with STOP and nothing in it.
    """

    def __init__(self, turn: Turn) -> None:
        self.turn = turn
        self.reason: str | None = None
        self.blocked = False
        self.counts: dict[str, int] = {}
        self.kind = ChunkType.MESSAGE
        self.written = Written()
        self.call: _Call | None = None
        self.said = False

    def absorb(self, event: Any) -> Iterator[StreamChunk]:
        usage = event.usage_metadata
        if usage is not None:
            self.counts |= {name: number for name in COUNTS if (number := count(usage, name))}
        if event.prompt_feedback is not None and _word(event.prompt_feedback.block_reason):
            self.blocked = True
        for candidate in (event.candidates or [])[:1]:
            for part in (candidate.content and candidate.content.parts) or []:
                yield from self._part(part)
            self.reason = _word(candidate.finish_reason) or self.reason

    def end(self) -> Iterator[StreamChunk]:
        yield from self._close_text()
        yield from self._close_call(whole=self.reason in ENDED and not self._in_a_string())
        if self.blocked:
            self.turn.close("refusal", _usage(self.counts))
            return
        self._check()
        stop = STOPS.get(self.reason or "", self.reason)
        if stop == "end" and self.turn.tool_calls:
            stop = "tool_calls"
        self.turn.close(stop, _usage(self.counts))

    def _in_a_string(self) -> bool:
        return self.call is not None and self.call.arguments.open is not None

    def _check(self) -> None:
        vendor = self.turn.vendor
        if self.reason is None or self.reason == "CONTINUATION":
            raise broken(vendor)
        if self.reason in NONSENSE:
            raise broken(vendor, f"The model's answer can't be used ({self.reason}).")
        if self.reason == "MISSING_THOUGHT_SIGNATURE":
            raise VendorError(vendor, "invalid_request", "Gemini misses a thought signature in this conversation.")
        if self.reason in ENDED and not self.said:
            raise broken(vendor, "The model's answer was empty.")

    def _part(self, part: Any) -> Iterator[StreamChunk]:
        signature = None if part.thought_signature is None else base64.b64encode(part.thought_signature).decode()
        if part.function_call is not None:
            yield from self._function_call(part.function_call, signature)
        elif part.text is not None or part.model_fields_set <= {"thought", "thought_signature", "text"}:
            yield from self._text(part.text or "", signature, thought=bool(part.thought))
        else:
            self.said = True  # by the vendor's own tools or as a picture: none was asked for, so none is kept
            self.turn.empty = False

    def _text(self, text: str, signature: str | None, *, thought: bool) -> Iterator[StreamChunk]:
        """A signed part stays one of its own, unsigned neighbours of a kind become one."""
        kind = ChunkType.THINKING if thought else ChunkType.MESSAGE
        if kind is not self.kind or signature is not None:
            yield from self._close_text()
        self.kind = kind
        self.said = self.said or bool(text.strip() and not thought)
        if added := self.written.add(text):
            yield StreamChunk(type=kind, content=added)
        if signature is not None:
            yield from self._close_text(signature)

    def _close_text(self, signature: str | None = None) -> Iterator[StreamChunk]:
        if added := self.written.end():
            yield StreamChunk(type=self.kind, content=added)
        text, self.written = self.written.text, Written()
        if self.kind is ChunkType.THINKING:
            if text or signature:
                self.turn.parts.append(Thinking(text=text, opaque=self._opaque(ON_THOUGHT, signature)))
        elif text:
            self.turn.parts.append(Text(text=text, opaque=self._opaque(ON_TEXT, signature)))
        elif signature:
            self.turn.parts.append(Thinking(text="", opaque=self._opaque(ON_NOTHING, signature)))

    def _function_call(self, call: Any, signature: str | None) -> Iterator[StreamChunk]:
        yield from self._close_text()
        if call.name:
            yield from self._close_call(whole=True)  # the model writes one after the other: it is done with that one
            self.said = True
            self.call = _Call(clean(call.name), call.id)
            yield self.call.delta("")
        if self.call is None:
            return  # a closing mark too many
        self.call.signature = signature or self.call.signature
        self.call.arguments.whole(call.args or {})
        for partial in call.partial_args or []:
            if piece := self.call.arguments.piece(partial):
                yield self.call.delta(piece)
        if not call.will_continue:
            yield from self._close_call(whole=True)

    def _close_call(self, *, whole: bool) -> Iterator[StreamChunk]:
        call, self.call = self.call, None
        if call is None:
            return
        whole = whole and not call.arguments.broken
        if whole and (rest := call.arguments.rest()):
            yield call.delta(rest)
        opaque = self._opaque(ON_CALL, call.signature)
        self.turn.parts.append(call.part(whole=whole, opaque=opaque))

    def _opaque(self, kind: str, signature: str | None) -> Opaque | None:
        if signature is None:
            return None
        return Opaque(vendor=self.turn.vendor, model=self.turn.model, kind=kind, data=signature)


class _Call:
    """One function call while its arguments arrive."""

    def __init__(self, name: str, vendor_id: str | None) -> None:
        self.id = new_id("call")
        self.name = name
        self.vendor_id = vendor_id
        self.signature: str | None = None
        self.arguments = Arguments()

    def delta(self, piece: str) -> StreamChunk:
        facts = {"call_id": self.id, "tool": self.name}
        return StreamChunk(type=ChunkType.TOOL_INPUT_DELTA, content=piece, metadata=facts)

    def part(self, *, whole: bool, opaque: Opaque | None) -> ToolCall:
        value, raw = self.arguments.value if whole else None, self.arguments.raw
        return ToolCall(id=self.id, name=self.name, input=value, raw=raw, vendor_id=self.vendor_id, opaque=opaque)


def _word(reason: Any) -> str | None:
    """The vendor's word; None for the one that says nothing."""
    return None if reason is None or reason.value in UNSET else str(reason.value)


COUNTS = (
    "prompt_token_count",
    "cached_content_token_count",
    "tool_use_prompt_token_count",
    "candidates_token_count",
    "thoughts_token_count",
)


def _usage(counts: dict[str, int]) -> Usage:
    """Gemini's prompt count includes what was cached, its candidates count excludes the thoughts."""
    prompt, cached, tools, output, thoughts = (counts.get(name, 0) for name in COUNTS)
    cached = min(prompt, cached)
    return Usage(input_uncached=prompt - cached + tools, cache_read=cached, output=output, reasoning=thoughts)


# -- client -----------------------------------------------------------------------------------------------------------


OPENED: ContextVar[list[httpx2.Response]] = ContextVar("opened")
"""The responses of the stream that is being read. The SDK ties its own in a knot that only garbage collection undoes:
a stream that is left early would go on, and cost, until then."""


async def _remember(response: httpx2.Response) -> None:
    OPENED.get([]).append(response)


class GeminiClient:
    def __init__(self, access: Access, http_client: httpx2.AsyncClient | None = None) -> None:
        base_url, version = _address(access.base_url)
        # A client of ours in any case: where aiohttp is installed the SDK would use that, with retries of its own.
        client = unmarked(http_client or httpx2.AsyncClient())
        client.event_hooks["response"] += [readable, _remember]
        options = types.HttpOptions(base_url=base_url, api_version=version, httpx_async_client=client)
        self.client = genai.Client(api_key=access.api_key, vertexai=False, http_options=options)

    async def stream(
        self, transcript: Sequence[Message], tools: Sequence[ToolSpec], settings: TurnSettings, turn: Turn
    ) -> AsyncIterator[StreamChunk]:
        vendor, first_s = settings.model.vendor, settings.model.first_event_s or SILENCE_S
        request = build_request(transcript, tools, settings)
        async with aclosing(self._events(request, vendor)) as events:
            async for chunk in normalize(deadlines(events, vendor, first_s, SILENCE_S), turn):
                yield chunk

    async def _events(self, request: dict[str, Any], vendor: str) -> AsyncGenerator[Any, None]:
        """The SDK's events, or a VendorError. Connecting is part of it, so that the deadlines cover it."""
        opened: list[httpx2.Response] = []
        OPENED.set(opened)
        try:
            with reading(vendor):
                async for event in await self.client.aio.models.generate_content_stream(**request):
                    yield event
        except errors.APIError as error:
            raise _vendor_error(vendor, error) from error
        except VendorError as error:
            kinds = [response.headers.get("content-type", "") for response in opened]
            if any("html" in kind for kind in kinds):  # the SDK only says that it can't read it
                raise no_stream(vendor, kinds[0]) from error
            raise
        finally:
            for response in opened:
                await response.aclose()


def _address(base_url: str | None) -> tuple[str | None, str | None]:
    """Address and API version. The SDK adds a version of its own: one that ends the address replaces it."""
    if not base_url:
        return None, None
    address, slash, last = base_url.rstrip("/").rpartition("/")
    return (address, last) if slash and re.fullmatch(r"v\d\w*", last) else (base_url, None)


TOO_LONG = re.compile(r"input token count|payload size exceeds the limit", re.IGNORECASE)


def _vendor_error(vendor: str, error: errors.APIError) -> VendorError:
    message = told(error.message or error.details) or told(error.status)
    status = status_in(error.code) or 200
    code = code_of(status)
    if status == 400 and TOO_LONG.search(message):
        code = "context_full"
    if "API key" in message:
        code = "auth"
    return refusal(vendor, code, message, status=status, retry_after_s=_wait_s(error))


def _wait_s(error: errors.APIError) -> float | None:
    """Told in the error's details, seldom in a header."""
    found = re.search(r"'retryDelay': '(\d+(?:\.\d+)?)s'", str(error.details))
    return float(found[1]) if found else retry_after_s(getattr(error.response, "headers", None) or {})
