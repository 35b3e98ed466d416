"""Dialect `openai_responses`, on the openai SDK's raw event stream.

Rules of this vendor that shape the code (those of its requests stand in openai_responses_request.py):
1. A stream has ended only with response.completed, .incomplete or .failed; without one nothing of the turn may be used.
2. Items are told apart by `output_index`: some gateways give the same item another id in every event.
3. What an item is in the end stands in its output_item.done; in output_item.added encrypted content may be half of it.
4. A call does not change the status: a turn with calls is "completed" like any other.
5. An error may come as an event with a code, inside response.failed, or nested in an event that the SDK raises; some
   gateways write an HTTP status where the code should be.
6. Input tokens include those of the cache, read and written; output tokens include the reasoning.
"""

from __future__ import annotations

import json
from collections.abc import AsyncIterator, Iterator, Sequence
from typing import Any

import httpx2
import openai

from drafthand.chunks import ChunkType, StreamChunk, Usage
from drafthand.ids import new_id
from drafthand.model import TurnSettings
from drafthand.tools import ToolSpec
from drafthand.transcript import Compaction, Message, Opaque, Text, Thinking, ToolCall, Turn, parse_input
from drafthand.vendors.access import Access
from drafthand.vendors.deadlines import FIRST_EVENT_S, deadlines, in_time
from drafthand.vendors.hygiene import Written, clean, clean_all, count, text_of
from drafthand.vendors.openai_responses_errors import reported, sdk_error
from drafthand.vendors.openai_responses_request import COMPACTION, PHASE, REASONING, build_request
from drafthand.vendors.refusals import broken
from drafthand.vendors.wire import reading, streamed, unmarked

INCOMPLETE = {"max_output_tokens": "max_tokens", "content_filter": "refusal"}
DELTAS = {
    "response.output_text.delta": "message",
    "response.refusal.delta": "message",
    "response.reasoning_summary_text.delta": "reasoning",
    "response.reasoning_text.delta": "reasoning",
    "response.function_call_arguments.delta": "function_call",
}
"""The events that carry a piece of an item, and the item's type."""
CHUNKS = {
    "message": ChunkType.MESSAGE,
    "reasoning": ChunkType.THINKING,
    "function_call": ChunkType.TOOL_INPUT_DELTA,
}


# -- answer -----------------------------------------------------------------------------------------------------------


async def normalize(events: AsyncIterator[Any], turn: Turn) -> AsyncIterator[StreamChunk]:
    """Chunks for the client while events arrive; `turn` is whole when the iterator ends.

    Raises:
        VendorError: what the vendor reported; broken_stream where the events end without a terminal one.
    """
    answer = _Answer(turn)
    async for event in events:
        match event.type:
            case "response.completed" | "response.incomplete" if _status(event) not in ("failed", "cancelled"):
                for chunk in answer.close(event):
                    yield chunk
                return
            case "response.completed" | "response.failed":
                raise reported(turn.vendor, event.response)
            case "error":
                raise reported(turn.vendor, event)
            case _:
                for chunk in answer.absorb(event):
                    yield chunk
    raise broken(turn.vendor)


class _Answer:
    """The turn while it streams: its open items by output_index; what is finished lies in the turn."""

    def __init__(self, turn: Turn) -> None:
        self.turn = turn
        self.open: dict[int, _Item] = {}
        self.kinds: set[str] = set()
        self.refused = False

    def absorb(self, event: Any) -> Iterator[StreamChunk]:
        match event.type:
            case "response.output_item.added":
                self.open[event.output_index] = item = _Item(event.item.type, event.item)
                yield from item.opening()
            case "response.output_item.done":
                item = self.open.pop(event.output_index, _Item(event.item.type))
                if not self._is_known(event.item):
                    yield from self._finish(item, event.item)
            case "response.output_text.done" | "response.function_call_arguments.done" as kind:
                item = self.open.setdefault(event.output_index, _Item(DELTAS[kind.replace("done", "delta")]))
                yield from item.told(getattr(event, "text", None) or getattr(event, "arguments", None))
            case "response.reasoning_summary_part.added" if event.summary_index and event.output_index in self.open:
                yield from self.open[event.output_index].absorb("\n\n")
            case kind if kind in DELTAS:
                if event.output_index not in self.open:
                    self.open[event.output_index] = _Item(DELTAS[kind])
                self.refused |= kind == "response.refusal.delta"
                yield from self.open[event.output_index].absorb(event.delta)

    def close(self, event: Any) -> Iterator[StreamChunk]:
        """Items still open were cut: their text counts, their calls don't. Some gateways tell only here what kinds of
        items there are."""
        for _, item in sorted(self.open.items(), key=lambda each: text_of(each[0])):
            self._keep(item)
        streamed = set(self.kinds)
        for end in getattr(event.response, "output", None) or ():
            if end.type in CHUNKS and end.type not in streamed:
                yield from self._finish(_Item(end.type, end), end, opens=True)
        self.turn.close(self._stop(event), _usage(getattr(event.response, "usage", None)))

    def _is_known(self, end: Any) -> bool:
        """Whether it is a call that is kept already: some gateways send an event twice."""
        vendor_id = getattr(end, "call_id", None)
        return bool(vendor_id) and vendor_id in [call.vendor_id for call in self.turn.tool_calls]

    def _finish(self, item: _Item, end: Any, *, opens: bool = False) -> Iterator[StreamChunk]:
        if opens:
            yield from item.opening()
        yield from item.finish(end)
        self.refused |= any(part.type == "refusal" for part in getattr(end, "content", None) or ())
        self._keep(item)

    def _keep(self, item: _Item) -> None:
        """Append the item's parts. An item of a kind that can't go back takes along the reasoning that led to it."""
        parts = self.turn.parts
        self.kinds.add(item.kind)
        self.turn.empty = False
        if item.kind not in CHUNKS:
            led: list[Thinking] = []
            while parts and isinstance(part := parts[-1], Thinking):
                led.insert(0, part)
                parts.pop()
            parts += [Thinking(text=part.text) for part in led if part.text]
        parts += item.parts(self.turn)

    def _stop(self, event: Any) -> str:
        if event.type == "response.incomplete" or _status(event) == "incomplete":
            reason = getattr(event.response.incomplete_details, "reason", None) or "incomplete"
            return INCOMPLETE.get(reason, reason)
        if self.turn.tool_calls:
            return "tool_calls"
        return "refusal" if self.refused else "end"


class _Item:
    """One output item while it streams. Without `finish` it is what had come when the answer was cut."""

    def __init__(self, kind: str, start: Any = None) -> None:
        self.kind = kind
        self.item = start
        self.call_id = new_id("call")
        self.written = Written()
        self.whole = False

    @property
    def text(self) -> str:
        return self.written.text

    def opening(self) -> Iterator[StreamChunk]:
        if self.kind == "function_call":
            yield self._chunk("")

    def absorb(self, piece: Any) -> Iterator[StreamChunk]:
        if (added := self.written.add(piece)) and self.kind in CHUNKS:
            yield self._chunk(added)

    def finish(self, item: Any) -> Iterator[StreamChunk]:
        """The item as it is in the end, and whatever of its text no piece had brought."""
        start, self.item = self.item, item
        yield from self.told(_text_of(item) or self.text or (_text_of(start) if start else ""))
        self.whole = getattr(item, "status", None) not in ("incomplete", "failed", "cancelled")

    def told(self, text: Any) -> Iterator[StreamChunk]:
        """The item's whole text."""
        text, self.whole = clean(text_of(text)) or self.text, True
        if text.startswith(self.text) and text != self.text and self.kind in CHUNKS:
            yield self._chunk(text.removeprefix(self.text))
        self.written.text = text

    def parts(self, turn: Turn) -> Iterator[Text | Thinking | ToolCall | Compaction]:
        match self.kind:
            case "message" if self.text:
                phase = getattr(self.item, "phase", None)
                yield Text(text=self.text, opaque=_opaque(turn, PHASE, phase) if phase else None)
            case "reasoning":
                opaque = self._reasoning(turn)
                if self.text or opaque:
                    yield Thinking(text=self.text, opaque=opaque)
            case "function_call":
                name, vendor_id = (getattr(self.item, field, None) for field in ("name", "call_id"))
                value = clean_all(parse_input(self.text)) if self.whole else None
                yield ToolCall(id=self.call_id, name=name or "", input=value, raw=self.text, vendor_id=vendor_id)
            case "compaction" if self.whole and getattr(self.item, "encrypted_content", None):
                item = {"type": COMPACTION, "id": self.item.id, "encrypted_content": self.item.encrypted_content}
                yield Compaction(opaque=_opaque(turn, COMPACTION, json.dumps(item)))

    def _reasoning(self, turn: Turn) -> Opaque | None:
        """The item as it must come back; None where it can't."""
        encrypted = getattr(self.item, "encrypted_content", None)
        if not (self.whole and encrypted and self.item.id):
            return None
        summary = [{"type": "summary_text", "text": clean(_said(part))} for part in self.item.summary or ()]
        item = {"type": "reasoning", "id": self.item.id, "summary": summary, "encrypted_content": encrypted}
        return _opaque(turn, REASONING, json.dumps(item, ensure_ascii=False))

    def _chunk(self, piece: str) -> StreamChunk:
        kind = CHUNKS[self.kind]
        facts = {"call_id": self.call_id, "tool": getattr(self.item, "name", None) or ""}
        return StreamChunk(type=kind, content=piece, metadata=facts if kind is ChunkType.TOOL_INPUT_DELTA else {})


def _opaque(turn: Turn, kind: str, data: str) -> Opaque:
    return Opaque(vendor=turn.vendor, model=turn.model, kind=kind, data=data)


def _text_of(item: Any) -> str:
    """The text of a finished item; empty where the item does not repeat it."""
    match item.type:
        case "message":
            parts = item.content or ()
            return "".join(_said(part) for part in parts)
        case "reasoning":
            parts = getattr(item, "summary", None) or getattr(item, "content", None) or ()
            return "\n\n".join(_said(part) for part in parts)
        case "function_call":
            return text_of(getattr(item, "arguments", None))
    return ""


def _said(part: Any) -> str:
    """The text of a part of a message or of reasoning; some gateways send the bare text."""
    return part if isinstance(part, str) else getattr(part, "text", None) or getattr(part, "refusal", None) or ""


def _status(event: Any) -> str | None:
    return getattr(event.response, "status", None)


def _usage(usage: Any) -> Usage:
    """Gateways leave counts out, or all of them."""
    came, went = count(usage, "input_tokens"), count(usage, "output_tokens")
    read = min(came, count(usage, "input_tokens_details", "cached_tokens"))
    written = min(came - read, count(usage, "input_tokens_details", "cache_write_tokens"))
    reasoning = min(went, count(usage, "output_tokens_details", "reasoning_tokens"))
    return Usage(
        input_uncached=came - read - written,
        cache_read=read,
        cache_write=written,
        output=went - reasoning,
        reasoning=reasoning,
    )


# -- client -----------------------------------------------------------------------------------------------------------


class OpenAIResponsesClient:
    def __init__(self, access: Access, http_client: httpx2.AsyncClient | None = None) -> None:
        self.client = openai.AsyncOpenAI(
            api_key=access.api_key,
            base_url=access.base_url,
            http_client=unmarked(http_client or openai.DefaultAsyncHttpxClient()),
            max_retries=0,
        )

    async def stream(
        self, transcript: Sequence[Message], tools: Sequence[ToolSpec], settings: TurnSettings, turn: Turn
    ) -> AsyncIterator[StreamChunk]:
        vendor, begun = settings.model.vendor, False
        first_s = settings.model.first_event_s or FIRST_EVENT_S
        request = build_request(transcript, tools, settings)
        try:
            events = await in_time(self.client.responses.create(**request), vendor, first_s)
            begun = True
            async with events:
                with reading(vendor):
                    await streamed(vendor, events.response)
                    async for chunk in normalize(deadlines(events.__aiter__(), vendor, first_s), turn):
                        yield chunk
        except openai.APIError as error:
            raise sdk_error(vendor, error, begun) from error
