"""Dialect `anthropic_messages`: what goes on the wire.

Rules of this vendor that shape the code:
1. A thinking block goes back verbatim with its signature, before its turn's tool_use, only to the model that made it.
   It can't be the last of a message, nor carry a cache breakpoint.
2. Every tool_use needs its tool_result at the head of the very next message.
3. Empty or blank text blocks are refused.
4. A tool's input streams only with `eager_input_streaming`; without it each value arrives whole.
5. Its own compaction is a beta: without the header neither the option nor the block that it made is taken. The block
   goes back verbatim; what stood before it is ignored.
"""

from __future__ import annotations

import base64
import json
from collections.abc import Iterator, Sequence
from typing import Any

from drafthand.model import ModelSpec, TurnSettings
from drafthand.tools import ToolSpec
from drafthand.transcript import Compaction, Image, ImageRef, Message, Text, Thinking, ToolCall, ToolResult
from drafthand.vendors.hygiene import tool_name
from drafthand.vendors.pairing import answered

CACHE = {"type": "ephemeral"}
COMPACTION = "compaction"
"""Type of the block that a vendor's compaction is, and kind of its opaque data."""
BETAS = ["compact-2026-01-12", "context-management-2025-06-27"]
LEAST_TRIGGER = 50_000
"""Tokens; the vendor takes no lower trigger (its documentation of compaction, February 2026)."""


def build_request(transcript: Sequence[Message], tools: Sequence[ToolSpec], settings: TurnSettings) -> dict[str, Any]:
    """The body of POST /v1/messages. Cache breakpoints: the system prompt (tools lie before it) and the last block.
    Where the vendor is to compact, also `betas`, which the SDK sends as a header."""
    messages = _merge_roles(_led(_message(message, settings)) for message in answered(transcript))
    if messages:
        messages[-1]["content"][-1] |= {"cache_control": CACHE}
    knobs: dict[str, Any] = {}
    if settings.model.thinking == "adaptive":
        knobs["thinking"] = {"type": "adaptive", "display": "summarized"}
    if settings.model.effort is not None:
        knobs["output_config"] = {"effort": settings.model.effort}
    if settings.model.compaction == "vendor":
        trigger = {"type": "input_tokens", "value": max(LEAST_TRIGGER, settings.model.room)}
        knobs["context_management"] = {"edits": [{"type": "compact_20260112", "trigger": trigger}]}
        knobs["betas"] = BETAS
    return knobs | {
        "model": settings.model.wire_name,
        "max_tokens": settings.max_output,
        "system": [{"type": "text", "text": settings.system, "cache_control": CACHE}],
        "tools": [_tool(tool) for tool in tools],
        "tool_choice": {"type": "auto", "disable_parallel_tool_use": True} if settings.calls else {"type": "none"},
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
            return {"type": "tool_use", "id": part.id, "name": tool_name(part.name), "input": part.input or {}}
        case ToolResult():
            content = [{"type": "text", "text": part.text}] if part.text.strip() else []
            content += [_picture(image, settings) for image in part.images]
            return {"type": "tool_result", "tool_use_id": part.call_id, "is_error": not part.ok, "content": content}
        case Image(image=image):
            return _picture(image, settings)
        case Compaction(opaque=opaque):
            return json.loads(opaque.data) if settings.model.reads(part) else None
    raise TypeError(f"no Anthropic block for {part!r}")


def _thinking(part: Thinking, model: ModelSpec) -> dict[str, Any] | None:
    opaque = part.opaque
    if opaque is None or not model.made(opaque):
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


def _led(message: dict[str, Any]) -> dict[str, Any]:
    """The message without thinking that led to nothing, as rule 1 wants."""
    while message["content"] and message["content"][-1]["type"] in ("thinking", "redacted_thinking"):
        message["content"].pop()
    return message
