"""Dialect `anthropic_messages`, on the anthropic SDK's raw event stream.

Rules of this vendor that shape the code (those of its requests stand in anthropic_messages_request.py):
1. A stream has ended only with message_stop; without it nothing of the turn may be used.
2. Counts are cumulative: later ones overwrite earlier ones. Input excludes the cache, output includes the thinking.
3. An error in mid-stream comes with status 200, so its type tells what it is.
4. Tokens of a compaction are counted apart, in `iterations`; a compaction without content has failed and means nothing.
"""

from __future__ import annotations

import json
import re
from collections.abc import AsyncIterator, Iterator, Sequence
from typing import Any

import anthropic
import httpx2

from drafthand.chunks import ChunkType, StreamChunk, Usage
from drafthand.errors import VendorError
from drafthand.ids import new_id
from drafthand.model import TurnSettings
from drafthand.tools import ToolSpec
from drafthand.transcript import Compaction, Message, Opaque, Text, Thinking, ToolCall, Turn, parse_input
from drafthand.vendors.access import Access
from drafthand.vendors.anthropic_messages_request import COMPACTION, build_request
from drafthand.vendors.deadlines import FIRST_EVENT_S, deadlines, in_time
from drafthand.vendors.hygiene import Written, clean_all, count
from drafthand.vendors.refusals import broken, code_of, refusal, retry_after_s, told, unreachable
from drafthand.vendors.wire import reading, streamed, unmarked

STOPS = {
    "end_turn": "end",
    "stop_sequence": "end",
    "tool_use": "tool_calls",
    "max_tokens": "max_tokens",
    "refusal": "refusal",
    "pause_turn": "paused",
    "model_context_window_exceeded": "context_full",
}


# -- answer -----------------------------------------------------------------------------------------------------------


async def normalize(events: AsyncIterator[Any], turn: Turn) -> AsyncIterator[StreamChunk]:
    """Chunks for the client while events arrive; `turn` is whole when the iterator ends.

    Raises:
        VendorError: broken_stream where the events end without message_stop.
    """
    answer = _Answer(turn)
    async for event in events:
        if event.type == "message_stop":  # what breaks behind it does no harm
            for chunk in answer.close():
                yield chunk
            return
        for chunk in answer.absorb(event):
            yield chunk
    raise broken(turn.vendor)


class _Answer:
    """The turn while it streams: its open blocks by index; what is finished lies in the turn."""

    def __init__(self, turn: Turn) -> None:
        self.turn = turn
        self.open: dict[int, _Block] = {}
        self.counts: dict[str, int] = {}
        self.besides = Usage()
        self.stop: str | None = None

    def absorb(self, event: Any) -> Iterator[StreamChunk]:
        match event.type:
            case "message_start":
                self.counts |= _counts(event.message.usage)
            case "content_block_start":
                if (left := self.open.pop(event.index, None)) is not None and left.written.text:
                    yield from self._keep(left, whole=False)
                self.open[event.index] = block = _Block(event.content_block)
                yield from block.opening()
            case "content_block_delta":
                yield from self.open[event.index].absorb(event.delta)
            case "content_block_stop" if event.index in self.open:
                yield from self._keep(self.open.pop(event.index), whole=True)
            case "message_delta":
                self.counts |= _counts(event.usage)
                self.besides = _compacting(event.usage)
                self.stop = STOPS.get(event.delta.stop_reason or "", event.delta.stop_reason)

    def close(self) -> Iterator[StreamChunk]:
        """Blocks still open were cut: their text counts, their calls don't."""
        for _, block in sorted(self.open.items()):
            yield from self._keep(block, whole=False)
        self.turn.close(self.stop, _usage(self.counts), self.besides)

    def _keep(self, block: _Block, *, whole: bool) -> Iterator[StreamChunk]:
        yield from block.finish()
        self.turn.empty = False
        self.turn.parts += block.parts(self.turn, whole=whole)


class _Block:
    """One content block while it streams."""

    def __init__(self, start: Any) -> None:
        self.start = start
        self.written = Written()
        self.signature = getattr(start, "signature", "") or ""
        self.summary: dict[str, Any] = {}
        self.call_id = new_id("call")

    def opening(self) -> Iterator[StreamChunk]:
        if self.start.type == "tool_use":
            yield self._chunk("")
        elif self.start.type != COMPACTION:
            yield from self._write(getattr(self.start, "text", "") or getattr(self.start, "thinking", "") or "")

    def absorb(self, delta: Any) -> Iterator[StreamChunk]:
        match delta.type:
            case "text_delta":
                yield from self._write(delta.text)
            case "thinking_delta":
                yield from self._write(delta.thinking)
            case "input_json_delta" if self.start.type == "tool_use":
                yield from self._write(delta.partial_json)
            case "signature_delta":
                self.signature += delta.signature
            case "compaction_delta":  # comes once, and whole
                self.summary = _fields(delta)

    def finish(self) -> Iterator[StreamChunk]:
        """What of its text waited for a piece that never came, and an input that came whole with the block."""
        if self.start.type == "tool_use" and not self.written.text and self.start.input:
            yield from self._write(json.dumps(self.start.input, ensure_ascii=False))
        if added := self.written.end():
            yield self._chunk(added)

    def parts(self, turn: Turn, *, whole: bool) -> Iterator[Text | Thinking | ToolCall | Compaction]:
        """None of a block of the vendor's own tools: none is declared, so none is ours to answer."""
        text = self.written.text
        match self.start.type:
            case "text":
                yield Text(text=text)
            case "thinking":
                yield Thinking(text=text, opaque=self._opaque(turn, self.signature) if self.signature else None)
            case "redacted_thinking":
                yield Thinking(text="", opaque=self._opaque(turn, self.start.data))
            case "tool_use":
                value = clean_all(parse_input(text)) if whole else None
                yield ToolCall(
                    id=self.call_id, name=self.start.name or "", input=value, raw=text, vendor_id=self.start.id
                )
            case "compaction" if whole and self.summary.get("content"):
                block = {"type": COMPACTION} | _fields(self.start) | self.summary
                block |= {"signature": self.signature} if self.signature else {}
                yield Compaction(opaque=self._opaque(turn, json.dumps(block, ensure_ascii=False)))

    def _write(self, piece: str) -> Iterator[StreamChunk]:
        if added := self.written.add(piece):
            yield self._chunk(added)

    def _opaque(self, turn: Turn, data: str) -> Opaque:
        return Opaque(vendor=turn.vendor, model=turn.model, kind=self.start.type, data=data)

    def _chunk(self, piece: str) -> StreamChunk:
        if self.start.type == "tool_use":
            facts = {"call_id": self.call_id, "tool": self.start.name or ""}
            return StreamChunk(type=ChunkType.TOOL_INPUT_DELTA, content=piece, metadata=facts)
        return StreamChunk(type=ChunkType.MESSAGE if self.start.type == "text" else ChunkType.THINKING, content=piece)


def _fields(sent: Any) -> dict[str, Any]:
    """What a block or delta holds besides its type, just as it came."""
    fields: dict[str, Any] = sent.model_dump(mode="json", exclude_unset=True, exclude={"type"})
    return fields


def _counts(usage: Any) -> dict[str, int]:
    """The counts this event carries; later events overwrite earlier ones, absent counts keep theirs."""
    names = ("input_tokens", "output_tokens", "cache_read_input_tokens", "cache_creation_input_tokens")
    counts = {name: count(usage, name) for name in names if getattr(usage, name, None) is not None}
    if thinking := count(usage, "output_tokens_details", "thinking_tokens"):
        counts["thinking_tokens"] = thinking
    return counts


def _compacting(usage: Any) -> Usage:
    """What compactions cost: they are no part of the other counts."""
    spent = (step for step in getattr(usage, "iterations", None) or () if getattr(step, "type", None) == COMPACTION)
    return sum((_usage(_counts(step)) for step in spent), Usage())


def _usage(counts: dict[str, int]) -> Usage:
    """Anthropic's input_tokens exclude the cache; its output_tokens include the thinking."""
    output = counts.get("output_tokens", 0)
    thinking = min(output, counts.get("thinking_tokens", 0))
    return Usage(
        input_uncached=counts.get("input_tokens", 0),
        cache_read=counts.get("cache_read_input_tokens", 0),
        cache_write=counts.get("cache_creation_input_tokens", 0),
        output=output - thinking,
        reasoning=thinking,
    )


# -- client -----------------------------------------------------------------------------------------------------------


class AnthropicMessagesClient:
    def __init__(self, access: Access, http_client: httpx2.AsyncClient | None = None) -> None:
        self.client = anthropic.AsyncAnthropic(
            api_key=access.api_key,
            base_url=access.base_url,
            http_client=unmarked(http_client or anthropic.DefaultAsyncHttpxClient()),
            max_retries=0,
        )

    async def stream(
        self, transcript: Sequence[Message], tools: Sequence[ToolSpec], settings: TurnSettings, turn: Turn
    ) -> AsyncIterator[StreamChunk]:
        vendor, begun = settings.model.vendor, False
        first_s = settings.model.first_event_s or FIRST_EVENT_S
        request = build_request(transcript, tools, settings)
        try:
            messages = self.client.beta.messages if "betas" in request else self.client.messages
            events = await in_time(messages.create(**request), vendor, first_s)
            begun = True
            async with events:
                with reading(vendor):
                    await streamed(vendor, events.response)
                    async for chunk in normalize(deadlines(events.__aiter__(), vendor, first_s), turn):
                        yield chunk
        except anthropic.APIError as error:
            raise _vendor_error(vendor, error, begun) from error


# -- errors -----------------------------------------------------------------------------------------------------------

CODES = {
    "authentication_error": "auth",
    "permission_error": "auth",
    "rate_limit_error": "rate_limited",
    "overloaded_error": "overloaded",
    "invalid_request_error": "invalid_request",
    "not_found_error": "invalid_request",
    "request_too_large": "context_full",
    "api_error": "unavailable",
    "timeout_error": "unavailable",
}
TOO_LONG = re.compile(r"prompt is too long|exceed context limit|too much media", re.IGNORECASE)
"""What an invalid_request_error says of a request that has outgrown the model."""


def _vendor_error(vendor: str, error: anthropic.APIError, begun: bool) -> VendorError:
    """Told by the error's type: in mid-stream the SDK reports HTTP status 200. `begun`: the answer had begun."""
    if isinstance(error, anthropic.APIConnectionError):
        return unreachable(vendor, error.message, begun=begun)
    message = told(error.body or error.message) or error.message
    if not isinstance(error, anthropic.APIStatusError):
        return broken(vendor, f"The model's answer could not be read: {message}")
    code = CODES.get(str(error.type)) or code_of(error.status_code)
    if code == "invalid_request" and TOO_LONG.search(message):
        code = "context_full"
    wait_s = retry_after_s(error.response.headers)
    return refusal(vendor, code, message, status=error.status_code, retry_after_s=wait_s)
