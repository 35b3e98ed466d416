"""Dialect `chat_completions`: what goes on the wire.

Many servers speak this dialect, each a little differently. Rules that shape the code:
1. Every call is answered by a tool message right behind the assistant's, before anything else. A tool message holds
   text only: pictures follow in one user message after the last of them.
2. Some servers let roles only alternate, so neighbours of one role become one message. Mistral, and the templates of
   its models, also want an assistant message between a tool's and a user's.
3. Where a model wants its reasoning back in `reasoning_content` (DeepSeek, Kimi), every assistant message needs some,
   also what another model wrote: without it the request is refused. Other servers refuse the field. OpenRouter wants
   `reasoning_details`, the blocks that the model behind it has signed or encrypted, all and unchanged.
4. Mistral's call ids have exactly nine letters and digits.
5. Many servers refuse an option they don't know, so what isn't known everywhere goes only where it is.
"""

from __future__ import annotations

import base64
import hashlib
import itertools
import json
import string
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any

from drafthand.model import ModelSpec, TurnSettings
from drafthand.tools import ToolSpec
from drafthand.transcript import (
    Image,
    ImageRef,
    Message,
    Part,
    Text,
    Thinking,
    ToolCall,
    ToolResult,
    parse_input,
)
from drafthand.vendors.chat_completions_pieces import DETAILS
from drafthand.vendors.hygiene import tool_name
from drafthand.vendors.pairing import answered

ALPHABET = string.ascii_letters + string.digits
BRIDGE = "Noted."
"""What the assistant says between a tool message and a user's, where that is wanted."""
NO_REASONING = " "
"""Stands for reasoning that there was none of: DeepSeek refuses the empty text."""
NO_OUTPUT = "(no output)"
"""Some servers refuse an empty tool message."""


def build_request(transcript: Sequence[Message], tools: Sequence[ToolSpec], settings: TurnSettings) -> dict[str, Any]:
    """The body of POST /chat/completions. Caching is the vendor's own: the prefix only has to stay the same."""
    model = settings.model
    system = {"role": "system", "content": settings.system}
    messages = _in_order(_merged(_messages(list(answered(transcript)), settings)), model)
    request: dict[str, Any] = {
        "model": model.wire_name,
        "messages": [system, *messages],
        model.limit_field: settings.max_output,
        "stream": True,
    }
    if model.asks_usage:
        request["stream_options"] = {"include_usage": True}
    if model.effort is not None:
        request["reasoning_effort"] = model.effort
    if tools:
        request["tools"] = [_tool(tool) for tool in tools]
        if not settings.calls:
            request["tool_choice"] = "none"
        if model.one_call:
            request["parallel_tool_calls"] = False
    return request


def _tool(tool: ToolSpec) -> dict[str, Any]:
    return {
        "type": "function",
        "function": {"name": tool.name, "description": tool.description, "parameters": tool.schema},
    }


# -- messages ---------------------------------------------------------------------------------------------------------


def _messages(transcript: Sequence[Message], settings: TurnSettings) -> Iterator[dict[str, Any]]:
    """One message for each of the transcript's, one for each result, and the pictures of results behind them."""
    ids = _call_ids(transcript, settings.model)
    waiting: list[dict[str, Any]] = []
    for message in transcript:
        if waiting and message.role != "tool":
            yield {"role": "user", "content": waiting}
            waiting = []
        if message.role == "assistant":
            yield from _written(message.parts, ids, settings.model)
            continue
        for part in message.parts:
            if isinstance(part, ToolResult):
                text = part.text if part.text.strip() else NO_OUTPUT
                yield {"role": "tool", "tool_call_id": ids[part.call_id], "content": text}
                waiting += [_picture(image, settings) for image in part.images]
        if message.role == "user" and (content := _content(message.parts, settings)):
            yield {"role": "user", "content": content}
    if waiting:
        yield {"role": "user", "content": waiting}


def _content(parts: Sequence[Part], settings: TurnSettings) -> str | list[dict[str, Any]]:
    """What a person sent; plain text where it is nothing else, as every server takes that."""
    texts = [part.text for part in parts if isinstance(part, Text) and part.text.strip()]
    if not any(isinstance(part, Image) for part in parts):
        return "\n\n".join(texts)
    return [block for part in parts if (block := _block(part, settings)) is not None]


def _block(part: Part, settings: TurnSettings) -> dict[str, Any] | None:
    match part:
        case Text(text=text) if text.strip():
            return _text(text)
        case Image(image=image):
            return _picture(image, settings)
    return None


def _text(text: str) -> dict[str, Any]:
    return {"type": "text", "text": text}


def _picture(image: ImageRef, settings: TurnSettings) -> dict[str, Any]:
    picture = settings.pictures[image.sha256]
    url = f"data:{picture.media_type};base64,{base64.b64encode(picture.data).decode()}"
    return {"type": "image_url", "image_url": {"url": url}}


def _written(parts: Sequence[Part], ids: Mapping[str, str], model: ModelSpec) -> Iterator[dict[str, Any]]:
    """The message of an assistant's turn; none where nothing is left of it."""
    texts = [part.text for part in parts if isinstance(part, Text) and part.text.strip()]
    calls = [_call(part, ids) for part in parts if isinstance(part, ToolCall)]
    if not texts and not calls:
        return
    sent: dict[str, Any] = {"role": "assistant", "content": "\n\n".join(texts) or None}
    if calls:
        sent["tool_calls"] = calls
    yield sent | _reasoning(parts, ids, model)


def _call(call: ToolCall, ids: Mapping[str, str]) -> dict[str, Any]:
    """The text that the model wrote goes back unchanged, as long as it is the JSON that was run."""
    same = call.raw.strip() and parse_input(call.raw) == call.input and call.input is not None
    written = call.raw if same else json.dumps(call.input or {}, ensure_ascii=False)
    return {"id": ids[call.id], "type": "function", "function": {"name": tool_name(call.name), "arguments": written}}


def _reasoning(parts: Sequence[Part], ids: Mapping[str, str], model: ModelSpec) -> dict[str, Any]:
    """What this model thought, in the field where it wants it back."""
    if model.reasoning_field is None:
        return {}
    own = [part for part in parts if isinstance(part, Thinking) and model.made(part.opaque)]
    if model.reasoning_field == DETAILS:
        details = _details(own, {part.vendor_id: ids[part.id] for part in parts if isinstance(part, ToolCall)})
        return {DETAILS: details} if details else {}
    text = "".join(part.text for part in own)
    if not text.strip() and model.reasoning_field == "reasoning_content":
        text = NO_REASONING
    return {model.reasoning_field: text} if text else {}


def _details(thoughts: Sequence[Thinking], sent: Mapping[str | None, str]) -> list[dict[str, Any]]:
    """The blocks as they came, but a block that names a call (Gemini's signatures do) by the id under which it is sent.

    `sent`: the vendor's ids of this message's calls, each with that id.
    """
    written = [part.opaque.data for part in thoughts if part.opaque is not None and part.opaque.kind == DETAILS]
    blocks: list[dict[str, Any]] = [block for data in written for block in json.loads(data)]
    return [block | {"id": sent[block["id"]]} if block.get("id") in sent else block for block in blocks]


# -- ids --------------------------------------------------------------------------------------------------------------


def _call_ids(transcript: Sequence[Message], model: ModelSpec) -> dict[str, str]:
    """Our call ids, each with the one that is sent. Given in the transcript's order: a longer one keeps them."""
    ours = [part.id for message in transcript for part in message.parts if isinstance(part, ToolCall)]
    if model.call_ids == "any":
        return {call: call for call in ours}
    sent: dict[str, str] = {}
    for call in ours:
        if call not in sent:
            taken = set(sent.values())
            sent[call] = next(short for salt in itertools.count() if (short := nine(call, salt)) not in taken)
    return sent


def nine(call_id: str, salt: int = 0) -> str:
    """Nine letters and digits, always the same for a call id and a salt."""
    number = int.from_bytes(hashlib.sha256(f"{salt}:{call_id}".encode()).digest(), "big")
    letters = []
    for _ in range(9):
        number, digit = divmod(number, len(ALPHABET))
        letters.append(ALPHABET[digit])
    return "".join(letters)


# -- order ------------------------------------------------------------------------------------------------------------


def _merged(messages: Iterable[dict[str, Any]]) -> Iterator[dict[str, Any]]:
    """Neighbours of one role joined; results stay apart. A message with calls has no such neighbour behind it."""
    last: dict[str, Any] | None = None
    for message in messages:
        if last and message["role"] == last["role"] != "tool":
            both = {key: _joined(last[key], message.get(key)) for key in last if key not in ("role", "tool_calls")}
            last = last | message | both
            continue
        if last:
            yield last
        last = message
    if last:
        yield last


def _joined(first: Any, second: Any) -> Any:
    """Contents of two messages as one: text, or blocks where one of them is blocks."""
    if first in (None, NO_REASONING) or second in (None, NO_REASONING):
        return second if first in (None, NO_REASONING) else first
    if isinstance(first, str) and isinstance(second, str):
        return f"{first}\n\n{second}"
    return [*_blocks(first), *_blocks(second)]


def _blocks(content: str | list[dict[str, Any]]) -> list[dict[str, Any]]:
    return [_text(content)] if isinstance(content, str) else content


def _in_order(messages: Iterable[dict[str, Any]], model: ModelSpec) -> list[dict[str, Any]]:
    """The messages with what this server wants between them."""
    ordered: list[dict[str, Any]] = []
    for message in messages:
        if model.call_ids == "alnum9" and message["role"] == "user" and ordered and ordered[-1]["role"] == "tool":
            ordered.append({"role": "assistant", "content": BRIDGE})
        ordered.append(message)
    return ordered
