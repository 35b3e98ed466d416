"""OpenAI Responses: a turn rendered as the vendor's events, cut where `max_output_tokens` is used up.

Order and fields of the events follow recorded streams of the vendor. Two traps of its are kept: the encrypted content
in output_item.added is only half of what it becomes, and a call leaves the status at "completed".
"""

from __future__ import annotations

import hashlib
import json
import math
import time
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any

from local.rehearsal.responses_cache import InputTokens
from local.rehearsal.responses_reasoning import encrypt, place_of
from local.rehearsal.responses_request import Compaction, Request
from local.rehearsal.script import Call
from local.rehearsal.walk import Play
from local.rehearsal.wire import MODEL, Event, even_pieces, tokens_of, word_pieces

ARGUMENT_CHARS = 12  # about what one delta of the vendor carries
INCLUDE = "reasoning.encrypted_content"
OBFUSCATED_CHARS = 16
Json = dict[str, Any]


def render(play: Play, request: Request, spent: InputTokens, compaction: Compaction | None = None) -> Iterator[Event]:
    """The events, without their sequence numbers. `compaction`: the item that the answer begins with."""
    thinks = play.think is not None and request.reasoning.effort != "none"
    answer = _Answer(request, place_of(request, thought=thinks))
    yield from answer.opening()
    yield from answer.compacted(compaction) if compaction else ()
    limit, used, thought, cut = request.max_output_tokens or math.inf, 0.0, 0.0, False
    for index, item in enumerate(_items(play, answer, thinks=thinks), len(answer.output)):
        yield answer.event("output_item.added", item=item.start(), output_index=index)
        yield from (answer.event(name, **facts, output_index=index) for name, facts in item.before())
        text = ""
        for piece, tokens in item.pieces:
            if cut := used + tokens > limit:
                break
            used, text = used + tokens, text + piece
            thought += tokens if isinstance(item, _Reasoning) else 0.0
            if piece:
                yield answer.event(item.delta, tokens, **item.place, delta=piece, output_index=index)
        yield from (answer.event(name, **facts, output_index=index) for name, facts in item.after(text))
        answer.output.append(item.done(text, "incomplete" if cut else "completed"))
        yield answer.event("output_item.done", item=answer.output[-1], output_index=index)
        if cut:
            break
    yield answer.ending(spent, request.max_output_tokens if cut else math.ceil(used), math.floor(thought), cut=cut)


def failed(request: Request, error: Json) -> Iterator[Event]:
    """An answer that fails once it has begun: an error event with the error nested in it, then response.failed."""
    answer = _Answer(request, place_of(request, thought=False))
    yield from answer.opening()
    yield Event("error", {"type": "error", "error": error})
    facts = {"status": "failed", "error": {"code": error["code"], "message": error["message"]}}
    yield answer.event("failed", response=answer.snapshot(**facts))


@dataclass
class _Answer:
    """What all events of an answer share."""

    request: Request
    place: str
    output: list[Json] = field(default_factory=list)
    created_at: int = field(default_factory=lambda: int(time.time()))

    def event(self, name: str, tokens: float = 0.0, **facts: Any) -> Event:
        options = self.request.stream_options
        if "delta" in facts and (options is None or options.include_obfuscation):
            facts["obfuscation"] = _noise(facts["delta"], self.place)
        return Event(f"response.{name}", {"type": f"response.{name}"} | facts, tokens)

    def opening(self) -> Iterator[Event]:
        for name in ("created", "in_progress"):
            yield self.event(name, response=self.snapshot(status="in_progress"))

    def compacted(self, item: Compaction) -> Iterator[Event]:
        """What stands in output_item.added is not yet what it becomes."""
        whole = item.model_dump()
        half = whole | {"encrypted_content": item.encrypted_content[: len(item.encrypted_content) // 2]}
        yield self.event("output_item.added", item=half, output_index=0)
        yield self.event("compaction.compacting", item_id=item.id, output_index=0)
        yield self.event("output_item.done", item=whole, output_index=0)
        self.output.append(whole)

    def ending(self, spent: InputTokens, output: int | None, thought: int, *, cut: bool) -> Event:
        output = output or 0
        usage = {
            "input_tokens": spent.total,
            "input_tokens_details": {"cache_write_tokens": spent.written, "cached_tokens": spent.read},
            "output_tokens": output,
            "output_tokens_details": {"reasoning_tokens": thought},
            "total_tokens": spent.total + output,
        }
        status = "incomplete" if cut else "completed"
        facts: Json = {"status": status, "output": self.output, "usage": usage}
        facts |= {"incomplete_details": {"reason": "max_output_tokens"}} if cut else {"completed_at": int(time.time())}
        return self.event(status, response=self.snapshot(**facts))

    def snapshot(self, **facts: Any) -> Json:
        """The response object as it stands."""
        request = self.request
        return {
            "id": f"resp_{self.place}",
            "object": "response",
            "created_at": self.created_at,
            "status": "in_progress",
            "background": False,
            "completed_at": None,
            "error": None,
            "incomplete_details": None,
            "instructions": request.instructions,
            "max_output_tokens": request.max_output_tokens,
            "model": MODEL,
            "output": [],
            "parallel_tool_calls": request.parallel_tool_calls is not False,
            "previous_response_id": None,
            "prompt_cache_key": request.prompt_cache_key,
            "reasoning": {"effort": request.reasoning.effort or "medium", "summary": request.reasoning.summary},
            "service_tier": "default",
            "store": request.store is not False,
            "temperature": 1.0,
            "text": {"format": {"type": "text"}, "verbosity": "medium"},
            "tool_choice": request.tool_choice.name or request.tool_choice.type,
            "tools": [tool.model_dump() for tool in request.tools],
            "top_p": 1.0,
            "truncation": "disabled",
            "usage": None,
            "user": None,
            "metadata": request.metadata or {},
        } | facts


def _noise(delta: str, place: str) -> str:
    """Fills short deltas up, so that an onlooker can't tell tokens by their length."""
    digest = hashlib.sha256(f"{place}{delta}".encode()).hexdigest()
    return digest[: OBFUSCATED_CHARS - len(delta) % OBFUSCATED_CHARS]


# -- items ------------------------------------------------------------------------------------------------------------

Sided = Iterator[tuple[str, Json]]
"""Events beside the deltas: name and facts."""


def _items(play: Play, answer: _Answer, *, thinks: bool) -> Iterator[_Reasoning | _Message | _Call]:
    if thinks:
        yield _Reasoning(play.think or "", answer)
    if play.say is not None:
        yield _Message(play.say, answer, "final_answer" if play.call is None else "commentary")
    if play.call is not None:
        yield _Call(play.call, answer)


class _Reasoning:
    """Shown as a summary where the request asks for one; spent in any case."""

    delta = "reasoning_summary_text.delta"

    def __init__(self, text: str, answer: _Answer) -> None:
        self.id = f"rs_{answer.place}"
        self.place = {"item_id": self.id, "summary_index": 0}
        self.shown = answer.request.reasoning.summary is not None
        self.encrypted = encrypt(self.id) if INCLUDE in answer.request.include else None
        self.pieces = [(piece if self.shown else "", tokens_of(piece)) for piece in word_pieces(text)]

    def start(self) -> Json:
        half = None if self.encrypted is None else self.encrypted[: len(self.encrypted) // 2]
        return self._item(half, [])

    def before(self) -> Sided:
        if self.shown:
            yield "reasoning_summary_part.added", self.place | {"part": {"type": "summary_text", "text": ""}}

    def after(self, text: str) -> Sided:
        if self.shown:
            yield "reasoning_summary_text.done", self.place | {"text": text}
            yield "reasoning_summary_part.done", self.place | {"part": {"type": "summary_text", "text": text}}

    def done(self, text: str, status: str) -> Json:
        """Cut reasoning is worth nothing: it led to no item."""
        return self._item(self.encrypted, [{"type": "summary_text", "text": text}] if self.shown else [])

    def _item(self, encrypted: str | None, summary: list[Json]) -> Json:
        item: Json = {"id": self.id, "type": "reasoning", "content": [], "summary": summary}
        return item if encrypted is None else item | {"encrypted_content": encrypted}


class _Message:
    delta = "output_text.delta"

    def __init__(self, text: str, answer: _Answer, phase: str) -> None:
        self.id = f"msg_{answer.place}"
        self.phase = phase
        self.place = {"content_index": 0, "item_id": self.id, "logprobs": []}
        self.pieces = [(piece, tokens_of(piece)) for piece in word_pieces(text)]

    def start(self) -> Json:
        return self._item("in_progress", [])

    def before(self) -> Sided:
        yield "content_part.added", {"content_index": 0, "item_id": self.id, "part": _output_text("")}

    def after(self, text: str) -> Sided:
        yield "output_text.done", self.place | {"text": text}
        yield "content_part.done", {"content_index": 0, "item_id": self.id, "part": _output_text(text)}

    def done(self, text: str, status: str) -> Json:
        return self._item(status, [_output_text(text)])

    def _item(self, status: str, content: list[Json]) -> Json:
        item = {"id": self.id, "type": "message", "status": status, "content": content}
        return item | {"phase": self.phase, "role": "assistant"}


class _Call:
    delta = "function_call_arguments.delta"

    def __init__(self, call: Call, answer: _Answer) -> None:
        self.id = f"fc_{answer.place}"
        self.call_id = f"call_{hashlib.sha256(answer.place.encode()).hexdigest()[:24]}"
        self.name = call.tool
        self.place = {"item_id": self.id}
        written = json.dumps(call.input, ensure_ascii=False, separators=(",", ":"))
        self.pieces = [(piece, tokens_of(piece)) for piece in even_pieces(written, ARGUMENT_CHARS)]

    def start(self) -> Json:
        return self._item("in_progress", "")

    def before(self) -> Sided:
        yield from ()

    def after(self, text: str) -> Sided:
        yield "function_call_arguments.done", {"arguments": text, "item_id": self.id}

    def done(self, text: str, status: str) -> Json:
        return self._item(status, text)

    def _item(self, status: str, arguments: str) -> Json:
        item = {"id": self.id, "type": "function_call", "status": status, "arguments": arguments}
        return item | {"call_id": self.call_id, "name": self.name}


def _output_text(text: str) -> Json:
    return {"type": "output_text", "annotations": [], "logprobs": [], "text": text}
