"""Dialect `anthropic_messages`, on the anthropic SDK's raw event stream.

Rules of this vendor that shape the code:
1. A thinking block goes back verbatim with its signature, before its turn's tool_use, only to the model that made it.
2. Every tool_use needs its tool_result at the head of the very next message.
3. Empty or blank text blocks are refused.
4. A tool's input streams only with `eager_input_streaming`; without it each value arrives whole.
5. A stream has ended only with message_stop; without it nothing of the turn may be used.
"""

from __future__ import annotations

import base64
from collections.abc import AsyncIterator, Iterator, Sequence
from typing import Any

import anthropic
import httpx2

from drafthand.chunks import ChunkType, StreamChunk, Usage
from drafthand.errors import VendorError
from drafthand.ids import new_id
from drafthand.model import ModelSpec, TurnSettings
from drafthand.tools import ToolSpec
from drafthand.transcript import (
    Image,
    ImageRef,
    Message,
    Opaque,
    Text,
    Thinking,
    ToolCall,
    ToolResult,
    Turn,
    parse_input,
)
from drafthand.vendors.access import Access
from drafthand.vendors.deadlines import deadlines, in_time
from drafthand.vendors.pairing import answered
from drafthand.vendors.wire import reading

VENDOR = "anthropic"
CACHE = {"type": "ephemeral"}
STOPS = {
    "end_turn": "end",
    "stop_sequence": "end",
    "tool_use": "tool_calls",
    "max_tokens": "max_tokens",
    "refusal": "refusal",
    "pause_turn": "paused",
    "model_context_window_exceeded": "context_full",
}


# -- request ----------------------------------------------------------------------------------------------------------


def build_request(transcript: Sequence[Message], tools: Sequence[ToolSpec], settings: TurnSettings) -> dict[str, Any]:
    """The body of POST /v1/messages. Cache breakpoints: the system prompt (tools lie before it) and the last block."""
    messages = _merge_roles(_message(message, settings) for message in answered(transcript))
    if messages:
        messages[-1]["content"][-1] |= {"cache_control": CACHE}
    knobs: dict[str, Any] = {}
    if settings.model.thinking == "adaptive":
        knobs["thinking"] = {"type": "adaptive", "display": "summarized"}
    if settings.model.effort is not None:
        knobs["output_config"] = {"effort": settings.model.effort}
    return knobs | {
        "model": settings.model.wire_name,
        "max_tokens": settings.max_output,
        "system": [{"type": "text", "text": settings.system, "cache_control": CACHE}],
        "tools": [_tool(tool) for tool in tools],
        "tool_choice": {"type": "auto", "disable_parallel_tool_use": True},
        "messages": messages,
        "stream": True,
    }


def _tool(tool: ToolSpec) -> dict[str, Any]:
    return {
        "name": tool.name,
        "description": tool.description,
        "input_schema": tool.schema,
        "eager_input_streaming": True,
    }


def _message(message: Message, settings: TurnSettings) -> dict[str, Any]:
    role = "assistant" if message.role == "assistant" else "user"
    blocks = [block for part in message.parts if (block := _block(part, settings)) is not None]
    return {"role": role, "content": blocks}


def _block(part: Any, settings: TurnSettings) -> dict[str, Any] | None:
    match part:
        case Text(text=text):
            return {"type": "text", "text": text} if text.strip() else None
        case Thinking():
            return _thinking(part, settings.model)
        case ToolCall():
            return {"type": "tool_use", "id": part.id, "name": part.name, "input": part.input or {}}
        case ToolResult():
            content = [{"type": "text", "text": part.text}] if part.text.strip() else []
            content += [_picture(image, settings) for image in part.images]
            return {"type": "tool_result", "tool_use_id": part.call_id, "is_error": not part.ok, "content": content}
        case Image(image=image):
            return _picture(image, settings)
    raise TypeError(f"no Anthropic block for {part!r}")


def _thinking(part: Thinking, model: ModelSpec) -> dict[str, Any] | None:
    opaque = part.opaque
    if opaque is None or (opaque.vendor, opaque.model) != (model.vendor, model.id):
        return None
    if opaque.kind == "redacted_thinking":
        return {"type": "redacted_thinking", "data": opaque.data}
    return {"type": "thinking", "thinking": part.text, "signature": opaque.data}


def _picture(image: ImageRef, settings: TurnSettings) -> dict[str, Any]:
    picture = settings.pictures[image.sha256]
    data = base64.b64encode(picture.data).decode()
    return {"type": "image", "source": {"type": "base64", "media_type": picture.media_type, "data": data}}


def _merge_roles(messages: Iterator[dict[str, Any]]) -> list[dict[str, Any]]:
    """Neighbours of one role joined, empty messages left out; results stand before anything else, as rule 2 wants."""
    merged: list[dict[str, Any]] = []
    for message in messages:
        if not message["content"]:
            continue
        if merged and merged[-1]["role"] == message["role"]:
            merged[-1]["content"] += message["content"]
        else:
            merged.append(message)
    for message in merged:
        message["content"].sort(key=lambda block: block["type"] != "tool_result")
    return merged


# -- answer -----------------------------------------------------------------------------------------------------------


async def normalize(events: AsyncIterator[Any], turn: Turn) -> AsyncIterator[StreamChunk]:
    """Chunks for the client while events arrive; `turn` is whole when the iterator ends.

    Raises:
        VendorError: broken_stream where the events end without message_stop.
    """
    blocks: dict[int, Any] = {}
    usage: dict[str, int] = {}
    stop: str | None = None
    ended = False
    async for event in events:
        match event.type:
            case "message_start":
                usage |= _counts(event.message.usage)
            case "content_block_start":
                blocks[event.index] = block = _Block(event.content_block)
                for chunk in block.opening():
                    yield chunk
            case "content_block_delta":
                for chunk in blocks[event.index].absorb(event.delta):
                    yield chunk
            case "content_block_stop":
                part = blocks.pop(event.index).part(turn)
                if part is not None:
                    turn.parts.append(part)
            case "message_delta":
                usage |= _counts(event.usage)
                stop = STOPS.get(event.delta.stop_reason or "", event.delta.stop_reason)
            case "message_stop":
                ended = True
    if not ended:
        raise VendorError(VENDOR, "broken_stream", "The model's answer broke off before its end.", retryable=True)
    turn.close(stop, _usage(usage))


class _Block:
    """One content block while it streams."""

    def __init__(self, start: Any) -> None:
        self.start = start
        self.text = getattr(start, "text", "") or getattr(start, "thinking", "") or ""
        self.signature = getattr(start, "signature", "") or ""
        self.json = ""
        self.call_id = new_id("call")

    def opening(self) -> Iterator[StreamChunk]:
        if self.start.type == "tool_use":
            yield self._input_delta("")
        elif self.text:
            yield StreamChunk(type=self._chunk_type(), content=self.text)

    def absorb(self, delta: Any) -> Iterator[StreamChunk]:
        match delta.type:
            case "text_delta" | "thinking_delta":
                piece = delta.text if delta.type == "text_delta" else delta.thinking
                self.text += piece
                if piece:
                    yield StreamChunk(type=self._chunk_type(), content=piece)
            case "signature_delta":
                self.signature += delta.signature
            case "input_json_delta" if self.start.type == "tool_use" and delta.partial_json:
                self.json += delta.partial_json
                yield self._input_delta(delta.partial_json)

    def part(self, turn: Turn) -> Text | Thinking | ToolCall | None:
        match self.start.type:
            case "text":
                return Text(text=self.text)
            case "thinking":
                return Thinking(text=self.text, opaque=self._opaque(turn, self.signature))
            case "redacted_thinking":
                return Thinking(text="", opaque=self._opaque(turn, self.start.data))
            case "tool_use":
                name, vendor_id = self.start.name, self.start.id
                raw = parse_input(self.json)
                return ToolCall(id=self.call_id, name=name, input=raw, raw=self.json, vendor_id=vendor_id)
        return None  # server tools of the vendor: none are declared, so none is ours to answer

    def _opaque(self, turn: Turn, data: str) -> Opaque:
        return Opaque(vendor=turn.vendor, model=turn.model, kind=self.start.type, data=data)

    def _chunk_type(self) -> ChunkType:
        return ChunkType.MESSAGE if self.start.type == "text" else ChunkType.THINKING

    def _input_delta(self, piece: str) -> StreamChunk:
        facts = {"call_id": self.call_id, "tool": self.start.name}
        return StreamChunk(type=ChunkType.TOOL_INPUT_DELTA, content=piece, metadata=facts)


def _counts(usage: Any) -> dict[str, int]:
    """The counts this event carries; later events overwrite earlier ones, absent counts keep theirs."""
    names = ("input_tokens", "output_tokens", "cache_read_input_tokens", "cache_creation_input_tokens")
    counts = {name: value for name in names if (value := getattr(usage, name, None)) is not None}
    details = getattr(usage, "output_tokens_details", None)
    if details is not None:
        counts["thinking_tokens"] = details.thinking_tokens
    return counts


def _usage(counts: dict[str, int]) -> Usage:
    """Anthropic's input_tokens exclude the cache; its output_tokens include the thinking."""
    thinking = counts.get("thinking_tokens", 0)
    return Usage(
        input_uncached=counts.get("input_tokens", 0),
        cache_read=counts.get("cache_read_input_tokens", 0),
        cache_write=counts.get("cache_creation_input_tokens", 0),
        output=counts.get("output_tokens", 0) - thinking,
        reasoning=thinking,
    )


# -- client -----------------------------------------------------------------------------------------------------------


class AnthropicMessagesClient:
    def __init__(self, access: Access, http_client: httpx2.AsyncClient | None = None) -> None:
        self.client = anthropic.AsyncAnthropic(
            api_key=access.api_key, base_url=access.base_url, http_client=http_client, max_retries=0
        )

    async def stream(
        self, transcript: Sequence[Message], tools: Sequence[ToolSpec], settings: TurnSettings, turn: Turn
    ) -> AsyncIterator[StreamChunk]:
        request = build_request(transcript, tools, settings)
        try:
            events = await in_time(self.client.messages.create(**request), VENDOR)
            async with events:
                with reading(VENDOR):
                    async for chunk in normalize(deadlines(events.__aiter__(), VENDOR), turn):
                        yield chunk
        except anthropic.APIError as error:
            raise _vendor_error(error) from error


CODES = {
    "authentication_error": "auth",
    "permission_error": "auth",
    "rate_limit_error": "rate_limited",
    "overloaded_error": "overloaded",
    "invalid_request_error": "invalid_request",
    "request_too_large": "context_full",
    "api_error": "unavailable",
    "timeout_error": "unavailable",
}
RETRYABLE = {"rate_limited", "overloaded", "unavailable", "broken_stream"}


def _vendor_error(error: anthropic.APIError) -> VendorError:
    """Told by the error's type: in mid-stream the SDK reports HTTP status 200."""
    if isinstance(error, anthropic.APIStatusError):
        code = CODES.get(error.type or "", "unavailable")
    elif isinstance(error, anthropic.APIConnectionError):
        code = "unavailable"
    else:
        code = "broken_stream"
    if code == "auth":
        return VendorError(VENDOR, code, "The key ANTHROPIC_API_KEY was refused. Check it and start again.")
    return VendorError(VENDOR, code, f"Anthropic answered: {error.message}", retryable=code in RETRYABLE)
