"""Anthropic Messages: tokens of a request, and the prompt cache.

The vendor reads a prompt as tools, system, messages. A cache mark stores the prefix up to its block; a later request
reads the longest stored prefix found within some twenty blocks before one of its own marks. The rehearsal stores the
hashes of those prefixes, so that a client that rewrites its history pays for it here as it would there.
"""

from __future__ import annotations

import json
import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field, replace
from typing import Literal

from pydantic import BaseModel

from local.rehearsal.anthropic_images import image_tokens
from local.rehearsal.anthropic_request import (
    Block,
    CompactionBlock,
    ImageBlock,
    RedactedThinkingBlock,
    Request,
    TextBlock,
    ThinkingBlock,
    ToolResultBlock,
    Turn,
    canonical,
)
from local.rehearsal.anthropic_thinking import Prefix
from local.rehearsal.wire import tokens_of

LOOK_BACK = 20  # blocks before a mark in which a stored prefix is found
MIN_CACHED_TOKENS = 1_024  # the vendor stores nothing shorter; newer models want more
Ttl = Literal["5m", "1h"]


@dataclass(frozen=True)
class Segment:
    """One block of the prompt.

    at: its path in the request. prefix: hash of the prompt up to and with it. tokens: their count, rounded up.
    mark: the cache mark it carries. empty: a text block without text.
    """

    at: str
    prefix: str
    tokens: int
    mark: Ttl | None
    empty: bool


@dataclass(frozen=True)
class InputTokens:
    """Input as the vendor bills it: the three don't overlap. `written` by how long it is kept."""

    uncached: int
    read: int
    written: dict[Ttl, int]

    def usage(self) -> dict[str, object]:
        """The input part of the vendor's usage object."""
        return {
            "input_tokens": self.uncached,
            "cache_creation_input_tokens": sum(self.written.values()),
            "cache_read_input_tokens": self.read,
        }


def segments_of(request: Request, turns: Sequence[Turn]) -> list[Segment]:
    """The prompt block by block; the request's pictures must have passed `image_problem`."""
    prefix = Prefix()
    segments: list[Segment] = []
    total = 0.0
    for at, kind, content, tokens, block in _parts(request, turns):
        prefix.add(kind, content)
        total += tokens
        mark = getattr(block, "cache_control", None)
        empty = isinstance(block, TextBlock) and not block.text
        segments.append(Segment(at, prefix.digest(), math.ceil(total), mark and mark.ttl, empty))
    return _with_automatic_mark(request, segments)


def _parts(request: Request, turns: Sequence[Turn]) -> Iterator[tuple[str, str, str, float, BaseModel]]:
    """Path, kind, content and tokens of each block of the prompt, and the block."""
    for index, tool in enumerate(request.tools):
        content = json.dumps(tool.model_dump(exclude={"cache_control"}, exclude_none=True), sort_keys=True)
        yield f"tools.{index}.custom", "tool", content, tokens_of(content), tool
    for index, text in enumerate(request.system):
        yield f"system.{index}", "system", text.text, tokens_of(text.text), text
    for turn in turns:
        for placed in turn.blocks:
            at = f"{placed.at}.{placed.block.type}"
            yield at, turn.role, canonical(placed.block), _block_tokens(placed.block), placed.block


def _block_tokens(block: Block) -> float:
    match block:
        case TextBlock():
            return tokens_of(block.text)
        case ImageBlock():
            return image_tokens(block)
        case ToolResultBlock():
            return sum(_block_tokens(part) for part in block.content)
        case ThinkingBlock():
            return tokens_of(block.thinking)
        case RedactedThinkingBlock():
            return tokens_of(block.data)
        case CompactionBlock():
            return tokens_of(block.content or "")
        case _:
            return tokens_of(json.dumps(block.input, ensure_ascii=False))


def _with_automatic_mark(request: Request, segments: list[Segment]) -> list[Segment]:
    """The request's own `cache_control` marks the last block that can carry one."""
    if request.cache_control is None:
        return segments
    for index in range(len(segments) - 1, -1, -1):
        last = segments[index]
        if not last.empty:
            segments[index] = replace(last, mark=last.mark or request.cache_control.ttl)
            break
    return segments


@dataclass
class PromptCache:
    """What one server remembers: stored prefixes. Nothing expires, a rehearsal is short."""

    stored: set[str] = field(default_factory=set)

    def account(self, segments: Sequence[Segment]) -> InputTokens:
        """The input of a request, and its marked prefixes stored for the next."""
        total = segments[-1].tokens if segments else 0
        marks = [index for index, segment in enumerate(segments) if segment.mark is not None]
        read = max((segments[index].tokens for index in self._hits(segments, marks)), default=0)
        reached = read
        written: dict[Ttl, int] = {"5m": 0, "1h": 0}
        for index in marks:
            segment = segments[index]
            if segment.tokens < MIN_CACHED_TOKENS:
                continue
            self.stored.add(segment.prefix)
            if segment.tokens > reached:
                written[segment.mark or "5m"] += segment.tokens - reached
                reached = segment.tokens
        return InputTokens(total - reached, read, written)

    def _hits(self, segments: Sequence[Segment], marks: Sequence[int]) -> Iterator[int]:
        for mark in marks:
            for index in range(mark, max(-1, mark - LOOK_BACK - 1), -1):
                if segments[index].prefix in self.stored:
                    yield index
                    break
