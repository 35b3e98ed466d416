"""Dialect `gemini`: what goes on the wire.

Rules of this vendor that shape the code:
1. From Gemini 3 on, the first functionCall of each model turn must carry a thought signature; its parallel siblings
   carry none. A signature goes back on the very part it came with, and only to the model that made it; a first call
   that has none of this model's gets the sentinel that the vendor documents for it.
2. A turn of functionCalls is followed at once by a turn with one functionResponse for each call, before anything else.
3. `response` is an object. Pictures of a result lie inside its functionResponse; models before Gemini 3 refuse that,
   for them the pictures follow beside it.
4. A part must hold something: no empty text, except where it carries a signature.
5. Calls can't be limited to one a turn.
"""

from __future__ import annotations

import base64
import re
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from drafthand.model import ModelSpec, TurnSettings
from drafthand.tools import ToolSpec
from drafthand.transcript import Image, ImageRef, Message, Opaque, Part, Text, Thinking, ToolCall, ToolResult
from drafthand.vendors.hygiene import tool_name
from drafthand.vendors.pairing import answered

SENTINEL = b"skip_thought_signature_validator"
"""https://ai.google.dev/gemini-api/docs/thought-signatures, on calls that another model made."""

# Where a signature came: `Opaque.kind`.
ON_CALL = "call_signature"
ON_THOUGHT = "thought_signature"
ON_TEXT = "text_signature"
ON_NOTHING = "empty_signature"
"""On a part of its own with empty text, as streams often end."""


def build_request(transcript: Sequence[Message], tools: Sequence[ToolSpec], settings: TurnSettings) -> dict[str, Any]:
    """The arguments of `generate_content_stream`. Caching is the vendor's own: the prefix only has to stay the same."""
    messages = list(answered(transcript))
    names = {
        part.id: tool_name(part.name) for message in messages for part in message.parts if isinstance(part, ToolCall)
    }
    contents = _merge_roles(_content(message, names, settings) for message in messages)
    config: dict[str, Any] = {
        "system_instruction": settings.system,
        "max_output_tokens": settings.max_output,
        "automatic_function_calling": {"disable": True},
    }
    if settings.model.thinking != "off":
        config["thinking_config"] = {"include_thoughts": True} | _effort(settings.model)
    if tools:
        config["tools"] = [{"function_declarations": [_declaration(tool) for tool in tools]}]
        if not settings.calls:
            config["tool_config"] = {"function_calling_config": {"mode": "NONE"}}
    return {"model": settings.model.wire_name, "contents": contents, "config": config}


def _effort(model: ModelSpec) -> dict[str, Any]:
    """A level (Gemini 3 and later), or a budget in tokens (before)."""
    if model.effort is None:
        return {}
    if model.effort.lstrip("-").isdigit():
        return {"thinking_budget": int(model.effort)}
    return {"thinking_level": model.effort}


def _declaration(tool: ToolSpec) -> dict[str, Any]:
    return {"name": tool.name, "description": tool.description, "parameters_json_schema": tool.schema}


def _content(message: Message, names: Mapping[str, str], settings: TurnSettings) -> dict[str, Any]:
    if message.role == "assistant":
        return {"role": "model", "parts": _model_parts(message.parts, settings.model)}
    parts: list[dict[str, Any]] = []
    for part in message.parts:
        match part:
            case Text(text=text) if text.strip():
                parts.append({"text": text})
            case Image(image=image):
                parts.append(_picture(image, settings))
            case ToolResult():
                parts += _result(part, names[part.call_id], settings)
    return {"role": "user", "parts": parts}


def _result(part: ToolResult, name: str, settings: TurnSettings) -> list[dict[str, Any]]:
    response = {"output" if part.ok else "error": part.text}
    sent: dict[str, Any] = {"id": part.call_id, "name": name, "response": response}
    pictures = [_picture(image, settings) for image in part.images]
    if pictures and settings.model.pictures_in_results:
        sent["parts"], pictures = pictures, []
    return [{"function_response": sent}, *pictures]


def _picture(image: ImageRef, settings: TurnSettings) -> dict[str, Any]:
    picture = settings.pictures[image.sha256]
    return {"inline_data": {"mime_type": picture.media_type, "data": picture.data}}


def _model_parts(parts: Sequence[Part], model: ModelSpec) -> list[dict[str, Any]]:
    sent: list[dict[str, Any]] = []
    called = False
    for part in parts:
        match part:
            case Text(opaque=Opaque() as opaque) if model.made(opaque):
                sent.append({"text": part.text} | _signed(opaque))
            case Text(text=text) if text.strip():
                sent.append({"text": text})
            case Thinking(opaque=Opaque() as opaque) if model.made(opaque):
                thought = {"thought": True} if opaque.kind == ON_THOUGHT else {}
                sent.append({"text": part.text} | thought | _signed(opaque))
            case ToolCall():
                sent.append(_call(part, model, first=not called))
                called = True
    return sent


def _call(part: ToolCall, model: ModelSpec, *, first: bool) -> dict[str, Any]:
    sent: dict[str, Any] = {"function_call": {"id": part.id, "name": tool_name(part.name), "args": part.input or {}}}
    whole = part.input is not None  # a signature is of what was written, not of what is left of it
    if whole and part.opaque is not None and model.made(part.opaque):
        return sent | _signed(part.opaque)
    if first and _wants_signatures(model):
        return sent | {"thought_signature": SENTINEL}
    return sent


def _signed(opaque: Opaque) -> dict[str, Any]:
    return {"thought_signature": base64.b64decode(opaque.data)}


def _wants_signatures(model: ModelSpec) -> bool:
    return re.match(r"(models/)?gemini-[12]\b", model.wire_name) is None


def _merge_roles(contents: Iterable[dict[str, Any]]) -> list[dict[str, Any]]:
    """Neighbours of one role joined, empty ones left out; results stand before anything else, as rule 2 wants."""
    merged: list[dict[str, Any]] = []
    for content in contents:
        if not content["parts"]:
            continue
        if merged and merged[-1]["role"] == content["role"]:
            merged[-1]["parts"] += content["parts"]
        else:
            merged.append(content)
    for content in merged:
        if content["role"] == "user":
            content["parts"].sort(key=lambda part: "function_response" not in part)
    return merged
