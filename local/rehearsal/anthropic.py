"""Anthropic Messages: a request checked and read for the walk, a turn rendered as events. Only the cache has a memory.

Framing and order of the events follow recorded streams of the vendor, to the spaces before the last brace of a data
line and the empty first piece of a tool's input.
"""

from __future__ import annotations

import hashlib
import json
import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from local.rehearsal.anthropic_cache import InputTokens, PromptCache, segments_of
from local.rehearsal.anthropic_compaction import alone, beta_checked, compaction_problem, sealed, trigger_of
from local.rehearsal.anthropic_request import (
    AdaptiveThinking,
    CompactionBlock,
    ImageBlock,
    Request,
    TextBlock,
    ToolResultBlock,
    Turn,
    parse,
    turns_of,
)
from local.rehearsal.anthropic_rules import Asked, problem_of
from local.rehearsal.anthropic_thinking import prefix_of, sign
from local.rehearsal.reading import Entry, Said, in_place, view_of
from local.rehearsal.script import Call, Script
from local.rehearsal.walk import Exchange, Play, View, walk
from local.rehearsal.wire import MODEL, WINDOW, Event, Refused, even_pieces, tokens_of, word_pieces

EAGER_CHARS = 12  # about what one delta of the vendor carries
MAX_BODY = 32 * 1024 * 1024
ALPHABET = "123456789ABCDEFGHJKLMNPQRSTUVWXYZabcdefghijkmnopqrstuvwxyz"


def answer(
    scripts: Sequence[Script], cache: PromptCache, window: int, headers: Mapping[str, str], body: bytes
) -> tuple[Request, list[Event]]:
    """The events that answer a request. `window`: tokens that a prompt and its answer may have.

    Raises:
        Refused: the vendor would refuse it.
    """
    asked = ask(headers, body, window)
    view = read(asked)
    play, prompt = walk(scripts, view), cache.account(asked.segments)
    trigger = trigger_of(asked.request)
    if trigger is None or asked.segments[-1].tokens <= trigger:
        return asked.request, list(render(play, asked, prompt))
    block = sealed(in_place(walk(scripts, replace(view, summarize=True)).say or "", view.request))
    rest = cache.account(segments_of(asked.request, alone(block)))
    return asked.request, list(render(play, asked, rest, Compacted(block, prompt)))


# -- request ----------------------------------------------------------------------------------------------------------


def ask(headers: Mapping[str, str], body: bytes, window: int = WINDOW) -> Asked:
    """The request, once it has passed everything the vendor checks.

    Raises:
        Refused: 401, 404 or 413, or 400 for all the rest.
    """
    if not _has_key(headers):
        raise Refused(401, "authentication_error", "x-api-key header is required")
    if not headers.get("anthropic-version"):
        raise Refused(400, "invalid_request_error", "anthropic-version: header is required")
    if len(body) > MAX_BODY:
        raise Refused(413, "request_too_large", "Request exceeds the maximum size")
    request = parse(body)
    beta_checked(headers, request)
    if request.model != MODEL:
        raise Refused(404, "not_found_error", f"model: {request.model}")
    asked = Asked(request, turns_of(request), window)
    if (problem := problem_of(asked) or compaction_problem(asked.turns)) is not None:
        raise Refused(400, "invalid_request_error", problem)
    return asked


def _has_key(headers: Mapping[str, str]) -> bool:
    """Any key will do, in either header: the vendor's SDK sent `x-api-key` for years and sends a bearer token now."""
    scheme, _, token = headers.get("authorization", "").partition(" ")
    return bool(headers.get("x-api-key") or (scheme.lower() == "bearer" and token.strip()))


def read(asked: Asked) -> View:
    """The request as the walk sees it. A person wrote what holds more than tool results."""
    return view_of(_entries(asked.read), _callable(asked.request))


def _entries(turns: Sequence[Turn]) -> Iterator[Entry]:
    for turn, following in zip(turns, [*turns[1:], None], strict=True):
        if turn.role == "assistant":
            summaries = [block.content or "" for _, block in turn.of(CompactionBlock)]
            if summaries:
                yield Said((summaries[0],))
            if len(turn.blocks) > len(summaries):
                yield Exchange(_last_result(following))
        elif written := _written(turn):
            yield Said(written)


def _written(turn: Turn) -> tuple[str, ...]:
    """What a person wrote beside results; an empty text for a picture."""
    blocks = [placed.block for placed in turn.blocks if isinstance(placed.block, TextBlock | ImageBlock)]
    return tuple(block.text if isinstance(block, TextBlock) else "" for block in blocks)


def _last_result(turn: Turn | None) -> str | None:
    results = [result for _, result in turn.of(ToolResultBlock)] if turn else []
    if not results:
        return None
    return "\n".join(part.text for part in results[-1].content if isinstance(part, TextBlock))


def _callable(request: Request) -> frozenset[str]:
    choice = request.tool_choice
    if choice is not None and choice.type == "none":
        return frozenset()
    if choice is not None and choice.type == "tool":
        return frozenset({choice.name or ""})
    return frozenset(tool.name for tool in request.tools)


# -- answer -----------------------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class _Block:
    """A content block to come: how it starts, and its deltas with their tokens."""

    start: dict[str, Any]
    deltas: list[tuple[dict[str, Any], float]]


@dataclass(frozen=True)
class Compacted:
    """What an answer begins with: the block that takes the place of the prompt, and what the prompt was."""

    block: CompactionBlock
    prompt: InputTokens

    def block_to_come(self) -> _Block:
        """Its text comes at once, and whole."""
        told = {"content": self.block.content, "encrypted_content": self.block.encrypted_content}
        deltas = [{"type": "compaction_delta"} | told, {"type": "signature_delta", "signature": self.block.signature}]
        return _Block({"type": "compaction", "content": None}, [(delta, 0.0) for delta in deltas])

    def usage(self) -> dict[str, Any]:
        written = math.ceil(tokens_of(self.block.content or ""))
        return {"type": "compaction"} | self.prompt.usage() | {"output_tokens": written}


def render(play: Play, asked: Asked, spent: InputTokens, compacted: Compacted | None = None) -> Iterator[Event]:
    """The vendor's events for a turn, cut where `max_tokens` is used up."""
    prefix = prefix_of(alone(compacted.block) if compacted else asked.read)
    limit, used, thought, cut = asked.request.max_tokens, 0.0, 0.0, asked.request.max_tokens == 0
    yield _message_start(prefix, spent)
    ahead = [compacted.block_to_come()] if compacted else []
    for index, block in enumerate([] if cut else [*ahead, *_blocks(play, asked, prefix)]):
        yield Event(
            "content_block_start", {"type": "content_block_start", "index": index, "content_block": block.start}
        )
        if index == 0:
            yield Event("ping", {"type": "ping"})
        for delta, tokens in block.deltas:
            if cut := used + tokens > limit:
                break
            used += tokens
            thought += tokens if block.start["type"] == "thinking" else 0.0
            yield Event("content_block_delta", {"type": "content_block_delta", "index": index, "delta": delta}, tokens)
        if cut and block.start["type"] == "tool_use":
            break  # the vendor doesn't close a call that it had to cut
        yield Event("content_block_stop", {"type": "content_block_stop", "index": index})
        if cut:
            break
    reason = "max_tokens" if cut else "end_turn" if play.call is None else "tool_use"
    output = limit if cut else math.ceil(used)
    yield Event(
        "message_delta",
        _message_delta(reason, spent, output, math.floor(thought), compacted),
        output - used if cut else 0,
    )
    yield Event("message_stop", {"type": "message_stop"})


def _message_start(prefix: str, spent: InputTokens) -> Event:
    usage = spent.usage() | {
        "cache_creation": {
            "ephemeral_5m_input_tokens": spent.written["5m"],
            "ephemeral_1h_input_tokens": spent.written["1h"],
        },
        "output_tokens": 1,
        "service_tier": "standard",
        "inference_geo": "not_available",
    }
    message: dict[str, Any] = {
        "model": MODEL,
        "id": _identifier("msg_01", prefix),
        "type": "message",
        "role": "assistant",
        "content": [],
        "stop_reason": None,
        "stop_sequence": None,
        "stop_details": None,
        "usage": usage,
    }
    return Event("message_start", {"type": "message_start", "message": message})


def _message_delta(
    reason: str, spent: InputTokens, output: int, thought: int, compacted: Compacted | None
) -> dict[str, Any]:
    usage = spent.usage() | {"output_tokens": output}
    if compacted:
        usage["iterations"] = [compacted.usage(), {"type": "message"} | usage]
    if thought:
        usage["output_tokens_details"] = {"thinking_tokens": thought}
    delta = {"stop_reason": reason, "stop_sequence": None, "stop_details": None}
    return {"type": "message_delta", "delta": delta, "usage": usage}


def _blocks(play: Play, asked: Asked, prefix: str) -> Iterator[_Block]:
    thinking = asked.request.thinking
    if play.think is not None and isinstance(thinking, AdaptiveThinking):
        yield _thinking(play.think, prefix, shown=thinking.display == "summarized")
    if play.say is not None:
        deltas = [({"type": "text_delta", "text": piece}, tokens_of(piece)) for piece in word_pieces(play.say)]
        yield _Block({"type": "text", "text": ""}, deltas)
    if play.call is not None:
        yield _tool_use(play.call, asked.request, prefix)


def _thinking(text: str, prefix: str, *, shown: bool) -> _Block:
    """Without `display: summarized` the thinking is spent but not shown: only its signature arrives."""
    pieces = [*word_pieces(text), ""] if shown else []
    deltas = [({"type": "thinking_delta", "thinking": piece}, tokens_of(piece)) for piece in pieces]
    signature = sign(MODEL, prefix, text if shown else "")
    deltas.append(({"type": "signature_delta", "signature": signature}, 0.0 if shown else tokens_of(text)))
    return _Block({"type": "thinking", "thinking": "", "signature": ""}, deltas)


def _tool_use(call: Call, request: Request, prefix: str) -> _Block:
    eager = any(tool.name == call.tool and tool.eager_input_streaming for tool in request.tools)
    pieces = even_pieces(_json(call.input), EAGER_CHARS) if eager else _whole_values(call.input)
    deltas = [({"type": "input_json_delta", "partial_json": piece}, tokens_of(piece)) for piece in ("", *pieces)]
    identifier = _identifier("toolu_01", prefix)
    start = {"type": "tool_use", "id": identifier, "name": call.tool, "input": {}, "caller": {"type": "direct"}}
    return _Block(start, deltas)


def _whole_values(value: Mapping[str, Any]) -> list[str]:
    """A tool's input as it arrives without eager streaming: the vendor holds each value back until it is whole."""
    pieces = [f"{', ' if index else '{'}{_json(key)}: {_json(item)}" for index, (key, item) in enumerate(value.items())]
    return [*pieces[:-1], f"{pieces[-1]}}}"] if pieces else ["{}"]


def _json(value: Any) -> str:
    return json.dumps(value, ensure_ascii=False)


def _identifier(head: str, prefix: str) -> str:
    """22 characters of base58 from the place in the transcript: the same request gets the same ids."""
    number = int.from_bytes(hashlib.sha256(f"{head}{prefix}".encode()).digest()[:16], "big")
    letters = []
    for _ in range(22):
        number, digit = divmod(number, len(ALPHABET))
        letters.append(ALPHABET[digit])
    return head + "".join(letters)


def frame(event: Event) -> bytes:
    """The event as the vendor writes it. Its data lines end in a varying number of spaces; a ping's does not."""
    if event.name == "ping":
        return b'event: ping\ndata: {"type": "ping"}\n\n'
    data = json.dumps(event.data, ensure_ascii=False, separators=(",", ":"))
    return f"event: {event.name}\ndata: {data[:-1]}{' ' * (len(data) % 15)}}}\n\n".encode()


def whole(events: Sequence[Event]) -> dict[str, Any]:
    """The message that a request without `stream` gets."""
    message: dict[str, Any] = {}
    inputs: dict[int, str] = {}
    for event in events:
        data = event.data
        match event.name:
            case "message_start":
                message = data["message"] | {"content": []}
            case "content_block_start":
                message["content"].append(dict(data["content_block"]))
            case "content_block_delta":
                _absorb(message["content"][data["index"]], data["delta"], inputs, data["index"])
            case "content_block_stop" if data["index"] in inputs:
                message["content"][data["index"]]["input"] = json.loads(inputs[data["index"]])
            case "message_delta":
                message |= data["delta"] | {"usage": message["usage"] | data["usage"]}
    return message


def _absorb(block: dict[str, Any], delta: Mapping[str, Any], inputs: dict[int, str], index: int) -> None:
    if delta["type"] == "input_json_delta":
        inputs[index] = inputs.get(index, "") + delta["partial_json"]
        return
    if delta["type"] == "compaction_delta":
        block |= {name: value for name, value in delta.items() if name != "type"}
        return
    field = delta["type"].removesuffix("_delta")
    block[field] = block.get(field, "") + delta[field]


def error_body(kind: str, message: str, request_id: str) -> dict[str, Any]:
    """The vendor's error, as a response's body."""
    return {"type": "error", "error": {"type": kind, "message": message}, "request_id": request_id}


def error_event(kind: str, message: str) -> Event:
    """The vendor's error in the middle of a stream."""
    return Event("error", {"type": "error", "error": {"type": kind, "message": message}})
