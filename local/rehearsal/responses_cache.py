"""OpenAI Responses: tokens of a request, and the prompt cache.

The vendor caches by itself: each request stores its whole prompt, and a later one reads the longest stored prompt that
it begins with. `prompt_cache_key` decides which machine is asked, so another key finds nothing. The rehearsal stores
hashes, so that a client that rewrites its history pays for it here as it would there.
"""

from __future__ import annotations

import hashlib
import math
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

from local.rehearsal.responses_compaction import summary_of
from local.rehearsal.responses_images import image_tokens
from local.rehearsal.responses_request import Compaction, InputImage, Item, Request
from local.rehearsal.wire import tokens_of

MIN_CACHED_TOKENS = 1_024  # the vendor stores nothing shorter


@dataclass(frozen=True)
class Segment:
    """The prompt up to and with one item: its hash, and its tokens, rounded up."""

    prefix: str
    tokens: int


@dataclass(frozen=True)
class InputTokens:
    """Input as the vendor counts it: `total` includes what was read from the cache and what was written to it."""

    total: int
    read: int
    written: int


def segments_of(request: Request) -> list[Segment]:
    """The prompt piece by piece; the request's pictures must have passed `image_problem`."""
    head = request.model_dump_json(include={"instructions", "tools"}, exclude_none=True)
    prefix, total = hashlib.sha256(head.encode()), tokens_of(head)
    segments = [Segment(prefix.hexdigest(), math.ceil(total))]
    for item in request.input:
        # An item's own id and status are no part of what the model reads.
        prefix.update(item.model_dump_json(exclude={"id", "status"}, exclude_none=True).encode() + b"\0")
        total += _tokens(item)
        segments.append(Segment(prefix.hexdigest(), math.ceil(total)))
    return segments


def _tokens(item: Item) -> float:
    if isinstance(item, Compaction):
        return tokens_of(summary_of(item) or "")
    parts = [part for name in ("content", "output", "summary") for part in getattr(item, name, None) or ()]
    return tokens_of(getattr(item, "arguments", "")) + sum(_part_tokens(part) for part in parts)


def _part_tokens(part: Any) -> float:
    if isinstance(part, InputImage):
        return image_tokens(part)
    return tokens_of(getattr(part, "text", "") or getattr(part, "refusal", ""))


@dataclass
class PromptCache:
    """What one server remembers: stored prompts by key. Nothing expires, a rehearsal is short."""

    stored: set[tuple[str | None, str]] = field(default_factory=set)

    def account(self, key: str | None, segments: Sequence[Segment]) -> InputTokens:
        """The input of a request, and its prompt stored for the next."""
        total = segments[-1].tokens
        if total < MIN_CACHED_TOKENS:
            return InputTokens(total, 0, 0)
        read = max((segment.tokens for segment in segments if (key, segment.prefix) in self.stored), default=0)
        self.stored.add((key, segments[-1].prefix))
        return InputTokens(total, read, total - read)
