"""OpenAI Chat Completions: a turn rendered as the vendor's chunks, cut where the output limit is used up.

Order and fields of the chunks follow recorded streams of the vendor. It shows no reasoning in this dialect: what the
model thinks is spent before the first chunk, and counted.
"""

from __future__ import annotations

import hashlib
import json
import math
import time
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any

from local.rehearsal.chat_request import Request
from local.rehearsal.responses_cache import InputTokens
from local.rehearsal.script import Call
from local.rehearsal.walk import Play
from local.rehearsal.wire import MODEL, Event, even_pieces, tokens_of, word_pieces

ARGUMENT_CHARS = 12  # about what one delta of the vendor carries
OBFUSCATED_CHARS = 12
Json = dict[str, Any]
DONE = Event("done", {})


def render(play: Play, request: Request, place: str, spent: InputTokens) -> Iterator[Event]:
    """The chunks of an answer. `place`: hash of the prompt, so the same request gets the same ids."""
    answer = _Answer(request, place)
    thinks = play.think is not None and request.reasoning_effort != "none"
    limit = request.limit or math.inf
    thought = tokens_of(play.think or "") if thinks else 0.0
    used, cut = min(thought, limit), thought > limit
    opening = {"role": "assistant", "content": None if play.say is None else "", "refusal": None}
    yield answer.chunk(opening, tokens=used)
    for delta, tokens in [] if cut else _deltas(play, answer):
        if cut := used + tokens > limit:
            break
        used += tokens
        yield answer.chunk(delta, tokens=tokens)
    yield answer.chunk({}, "length" if cut else "stop" if play.call is None else "tool_calls")
    if answer.tells_usage:
        output = int(limit) if cut else math.ceil(used)
        yield answer.usage(spent, output, math.floor(min(thought, limit)))
    yield DONE


def _deltas(play: Play, answer: _Answer) -> Iterator[tuple[Json, float]]:
    for piece in word_pieces(play.say or ""):
        yield {"content": piece}, tokens_of(piece)
    if play.call is None:
        return
    yield _call(0, answer.call(play.call)), 0.0
    for piece in even_pieces(json.dumps(play.call.input, ensure_ascii=False, separators=(",", ":")), ARGUMENT_CHARS):
        yield _call(0, {"function": {"arguments": piece}}), tokens_of(piece)


def _call(index: int, facts: Json) -> Json:
    return {"tool_calls": [{"index": index} | facts]}


@dataclass
class _Answer:
    """What all chunks of an answer share."""

    request: Request
    place: str
    created: int = field(default_factory=lambda: int(time.time()))

    @property
    def tells_usage(self) -> bool:
        """A stream tells it only when asked; a whole answer always does."""
        options = self.request.stream_options
        return not self.request.stream or (options is not None and options.include_usage)

    def chunk(self, delta: Json, finish: str | None = None, tokens: float = 0.0) -> Event:
        return self._event([{"index": 0, "delta": delta, "finish_reason": finish}], None, tokens)

    def usage(self, spent: InputTokens, output: int, thought: int) -> Event:
        usage = {
            "prompt_tokens": spent.total,
            "completion_tokens": output,
            "total_tokens": spent.total + output,
            "prompt_tokens_details": {"cached_tokens": spent.read, "audio_tokens": 0},
            "completion_tokens_details": {
                "reasoning_tokens": thought,
                "audio_tokens": 0,
                "accepted_prediction_tokens": 0,
                "rejected_prediction_tokens": 0,
            },
        }
        return self._event([], usage, 0.0)

    def call(self, call: Call) -> Json:
        facts = {"id": f"call_{self.place[:24]}", "type": "function"}
        return facts | {"function": {"name": call.tool, "arguments": ""}}

    def _event(self, choices: list[Json], usage: Json | None, tokens: float) -> Event:
        options = self.request.stream_options
        data: Json = {
            "id": f"chatcmpl-{self.place[:29]}",
            "object": "chat.completion.chunk",
            "created": self.created,
            "model": MODEL,
            "service_tier": "default",
            "system_fingerprint": None,
            "choices": choices,
        }
        if self.tells_usage:
            data["usage"] = usage
        if options is None or options.include_obfuscation:
            data["obfuscation"] = _noise(json.dumps(choices), self.place)
        return Event("chunk", data, tokens)


def _noise(written: str, place: str) -> str:
    """Fills short chunks up, so that an onlooker can't tell tokens by their length."""
    digest = hashlib.sha256(f"{place}{written}".encode()).hexdigest()
    return digest[: OBFUSCATED_CHARS - len(written) % OBFUSCATED_CHARS]
