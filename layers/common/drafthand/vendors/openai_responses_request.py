"""Dialect `openai_responses`: what goes on the wire.

Rules of this vendor that shape the code:
1. Nothing is stored there (`store: false`), so a reasoning item goes back with its encrypted content or not at all: by
   its id alone it is not found. It stands directly before the message or call it led to; without one it is refused.
2. Encrypted content can be read only by the model that wrote it.
3. Functions are strict unless they say otherwise; our schemas have optional fields.
4. Every call needs exactly one output. A call's id has at most 64 characters: ours have 29.
5. An assistant message keeps its phase (commentary or final answer); dropping it makes the model's answers worse.
6. Its own compaction is an item of the answer; it goes back verbatim, and the vendor reads it in place of what stood
   before it.
7. Prefixes are cached without marks; `prompt_cache_key` sends requests of one system prompt to the same cache.
"""

from __future__ import annotations

import base64
import hashlib
import json
from collections.abc import Iterator, Sequence
from typing import Any

from drafthand.model import ModelSpec, TurnSettings
from drafthand.tools import ToolSpec
from drafthand.transcript import (
    Compaction,
    Image,
    ImageRef,
    Message,
    Opaque,
    Text,
    Thinking,
    ToolCall,
    ToolResult,
    parse_input,
)
from drafthand.vendors.hygiene import tool_name
from drafthand.vendors.pairing import answered

REASONING = "reasoning"
"""Kind of the opaque data that is a reasoning item."""
COMPACTION = "compaction"
"""Type of the item that a vendor's compaction is, and kind of its opaque data."""
PHASE = "phase"
"""Kind of the opaque data that is a message's phase."""


def build_request(transcript: Sequence[Message], tools: Sequence[ToolSpec], settings: TurnSettings) -> dict[str, Any]:
    """The body of POST /v1/responses."""
    return (
        _reasoning(settings.model)
        | _compaction(settings.model)
        | {
            "model": settings.model.wire_name,
            "instructions": settings.system,
            "input": [item for message in answered(transcript) for item in _items(message, settings)],
            "tools": [_tool(tool) for tool in tools],
            "tool_choice": "auto" if settings.calls else "none",
            "parallel_tool_calls": False,
            "max_output_tokens": settings.max_output,
            "store": False,
            "prompt_cache_key": cache_key(settings.system),
            "stream": True,
            "stream_options": {"include_obfuscation": False},
        }
    )


def _reasoning(model: ModelSpec) -> dict[str, Any]:
    """What asks for reasoning and its encrypted content. Models that can't reason refuse both."""
    if model.thinking == "off":
        return {}
    effort = {"effort": model.effort} if model.effort else {}
    return {"reasoning": {"summary": "auto"} | effort, "include": ["reasoning.encrypted_content"]}


def _compaction(model: ModelSpec) -> dict[str, Any]:
    """What asks the vendor to shorten a conversation that outgrows its room."""
    if model.compaction == "local":
        return {}
    return {"context_management": [{"type": COMPACTION, "compact_threshold": model.room}]}


def cache_key(system: str) -> str:
    """The same for every request that begins with this system prompt."""
    return f"drafthand-{hashlib.sha256(system.encode()).hexdigest()[:16]}"


def _tool(tool: ToolSpec) -> dict[str, Any]:
    return {
        "type": "function",
        "name": tool.name,
        "description": tool.description,
        "parameters": tool.schema,
        "strict": False,
    }


def _items(message: Message, settings: TurnSettings) -> Iterator[dict[str, Any]]:
    if message.role == "assistant":
        yield from _written(message, settings.model)
        return
    pictures: list[dict[str, Any]] = []
    for part in message.parts:
        if isinstance(part, ToolResult):
            seen = [_picture(image, settings) for image in part.images]
            inside = seen if settings.model.pictures_in_results else []
            yield {"type": "function_call_output", "call_id": part.call_id, "output": _output(part.text, inside)}
            pictures += seen[len(inside) :]
    content = pictures + [block for part in message.parts if (block := _block(part, settings)) is not None]
    if content:
        yield {"role": "user", "content": content}


def _output(text: str, pictures: list[dict[str, Any]]) -> str | list[dict[str, Any]]:
    if not pictures:
        return text
    return ([{"type": "input_text", "text": text}] if text.strip() else []) + pictures


def _block(part: Any, settings: TurnSettings) -> dict[str, Any] | None:
    match part:
        case Text(text=text):
            return {"type": "input_text", "text": text} if text.strip() else None
        case Image(image=image):
            return _picture(image, settings)
        case ToolResult():
            return None
    raise TypeError(f"no input block for {part!r}")


def _picture(image: ImageRef, settings: TurnSettings) -> dict[str, Any]:
    """`detail` is left to the model: the picture has been scaled to what it can see."""
    picture = settings.pictures[image.sha256]
    url = f"data:{picture.media_type};base64,{base64.b64encode(picture.data).decode()}"
    return {"type": "input_image", "image_url": url, "detail": "auto"}


def _written(message: Message, model: ModelSpec) -> Iterator[dict[str, Any]]:
    """The items of an assistant's turn. Reasoning waits for the item it led to; where that is left out, so is it."""
    reasoning: list[dict[str, Any]] = []
    for part in message.parts:
        match part:
            case Thinking(opaque=Opaque() as opaque) if opaque.kind == REASONING and model.made(opaque):
                reasoning.append(json.loads(opaque.data))
                continue
            case Thinking():
                continue
            case Compaction(opaque=opaque) if model.reads(part):
                yield json.loads(opaque.data)
            case Text(text=text) if text.strip():
                yield from reasoning
                yield {"role": "assistant", "content": text} | _phase(part, model)
            case ToolCall():
                yield from reasoning
                yield _call(part)
        reasoning = []


def _phase(part: Text, model: ModelSpec) -> dict[str, str]:
    opaque = part.opaque
    return {"phase": opaque.data} if opaque is not None and opaque.kind == PHASE and model.made(opaque) else {}


def _call(call: ToolCall) -> dict[str, Any]:
    """The text that the model wrote goes back unchanged, as long as it is JSON."""
    same = call.input and parse_input(call.raw) == call.input
    written = call.raw if same else json.dumps(call.input or {}, ensure_ascii=False)
    return {"type": "function_call", "call_id": call.id, "name": tool_name(call.name), "arguments": written}
