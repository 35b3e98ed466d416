"""Gemini: a turn as the vendor's events, each a whole response with what is new in it and the counts so far.

Shape and order follow recorded streams: a call comes whole, however long it took to write; the turn's end is an empty
text with the finish reason, signed where the turn had no call that could be.
"""

from __future__ import annotations

import hashlib
import math
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

from local.rehearsal.gemini_request import Request
from local.rehearsal.gemini_signature import sign_call, sign_text
from local.rehearsal.walk import Play
from local.rehearsal.wire import MODEL, Event, tokens_of, word_pieces

WORDS_AT_ONCE = 4  # pieces of a word or two in one event: the vendor sends by the phrase
ALPHABET = "0123456789abcdefghijklmnopqrstuvwxyz"


@dataclass
class _Spent:
    """Tokens of the answer so far."""

    prompt: int
    cached: int
    thought: float = 0.0
    said: float = 0.0

    @property
    def answer(self) -> float:
        return self.thought + self.said

    def usage(self) -> dict[str, Any]:
        said, thought = math.ceil(self.said), math.ceil(self.thought)
        usage: dict[str, Any] = {"promptTokenCount": self.prompt}
        if self.cached:
            usage["cachedContentTokenCount"] = self.cached
        if said:
            usage["candidatesTokenCount"] = said
        usage["totalTokenCount"] = self.prompt + said + thought
        usage["promptTokensDetails"] = [{"modality": "TEXT", "tokenCount": self.prompt}]
        if thought:
            usage["thoughtsTokenCount"] = thought
        return usage | {"serviceTier": "standard"}


def render(play: Play, request: Request, prompt: int, cached: int) -> Iterator[Event]:
    """The vendor's events for a turn, cut where the output limit is used up: thoughts count, shown or not."""
    spent = _Spent(prompt, cached)
    limit = request.generation_config.max_output_tokens or math.inf
    identity = hashlib.sha256(request.model_dump_json().encode()).hexdigest()
    unshown, cut = 0.0, False
    for part, tokens in _parts(play, request, identity):
        if cut := spent.answer + tokens > limit:
            break
        if part.get("thought"):
            spent.thought += tokens
        else:
            spent.said += tokens
        if part.get("thought") and not request.generation_config.thinking_config.include_thoughts:
            unshown += tokens
            continue
        yield _event([part], spent, identity, tokens + unshown)
        unshown = 0.0
    last = {"text": ""} if cut or play.call is not None else {"text": "", "thoughtSignature": sign_text("")}
    yield _event([last], spent, identity, unshown, "MAX_TOKENS" if cut else "STOP")


def _parts(play: Play, request: Request, identity: str) -> Iterator[tuple[dict[str, Any], float]]:
    """The turn's parts in order, each with its tokens."""
    for text in _phrases(play.think):
        yield {"text": text, "thought": True}, tokens_of(text)
    for text in _phrases(play.say):
        yield {"text": text}, tokens_of(text)
    if play.call is not None:
        name, args = play.call.tool, play.call.input
        call = {"name": name, "args": args, "id": _letters(identity, 8)}
        yield {"functionCall": call, "thoughtSignature": sign_call(name, args)}, tokens_of(str(args))


def _phrases(text: str | None) -> Iterator[str]:
    pieces = word_pieces(text or "")
    for start in range(0, len(pieces), WORDS_AT_ONCE):
        yield "".join(pieces[start : start + WORDS_AT_ONCE])


def _event(
    parts: list[dict[str, Any]], spent: _Spent, identity: str, tokens: float, reason: str | None = None
) -> Event:
    candidate: dict[str, Any] = {"content": {"parts": parts, "role": "model"}}
    if reason is not None:
        candidate["finishReason"] = reason
    data = {
        "candidates": [candidate | {"index": 0}],
        "usageMetadata": spent.usage(),
        "modelVersion": MODEL,
        "responseId": _letters(f"response {identity}", 22),
    }
    return Event("", data, tokens)


def _letters(seed: str, length: int) -> str:
    """Letters and digits from a seed: the same request gets the same ids."""
    return "".join(ALPHABET[byte % len(ALPHABET)] for byte in hashlib.sha256(seed.encode()).digest()[:length])
