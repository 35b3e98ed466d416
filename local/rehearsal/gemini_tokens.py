"""Gemini: tokens of a request, and the prompt cache that the vendor keeps by itself.

Nothing marks what is to be cached: the vendor recognises the longest beginning that it has seen before. The rehearsal
stores the hash of each content's prefix, so that a client that rewrites its history pays for it here as it would there.
"""

from __future__ import annotations

import hashlib
import io
import json
import math
import warnings
from collections.abc import Iterator
from dataclasses import dataclass, field
from functools import lru_cache

from PIL import Image

from local.rehearsal.gemini_request import Part, Request, decoded
from local.rehearsal.wire import tokens_of

PICTURE_TOKENS = 1_120  # what a picture costs at the resolution that Gemini 3 takes by default, whatever its size
MIN_CACHED_TOKENS = 1_024


def prompt_tokens(request: Request) -> int:
    return [tokens for _, tokens in _prefixes(request)][-1]


def _prefixes(request: Request) -> Iterator[tuple[str, int]]:
    """Hash and tokens of the prompt up to and with the system prompt and tools, then each content."""
    running, total = hashlib.sha256(), 0.0
    system = request.system_instruction
    head = [tool.model_dump(exclude_none=True) for tool in request.tools]
    head += [] if system is None else [system.model_dump(exclude_none=True)]
    for text in (json.dumps(item, sort_keys=True, ensure_ascii=False) for item in head):
        running.update(text.encode())
        total += tokens_of(text)
    yield running.hexdigest(), math.ceil(total)
    for content in request.contents:
        running.update(json.dumps(content.model_dump(exclude_none=True), sort_keys=True).encode())
        total += sum(_part_tokens(part) for part in content.parts)
        yield running.hexdigest(), math.ceil(total)


def _part_tokens(part: Part) -> float:
    if part.inline_data is not None:
        return PICTURE_TOKENS
    if part.function_call is not None:
        return tokens_of(json.dumps(part.function_call.args, ensure_ascii=False))
    if part.function_response is not None:
        text = json.dumps(part.function_response.response, ensure_ascii=False)
        return tokens_of(text) + PICTURE_TOKENS * len(part.function_response.parts)
    return tokens_of(part.text or "")


@dataclass
class ImplicitCache:
    """What one server remembers. Nothing expires, a rehearsal is short."""

    seen: set[str] = field(default_factory=set)

    def account(self, request: Request) -> tuple[int, int]:
        """Tokens of the prompt, and how many of them were read from the cache; the prompt is then remembered."""
        prefixes = list(_prefixes(request))
        cached = max((tokens for prefix, tokens in prefixes if prefix in self.seen), default=0)
        self.seen.update(prefix for prefix, _ in prefixes)
        return prefixes[-1][1], cached if cached >= MIN_CACHED_TOKENS else 0


@lru_cache(maxsize=64)  # a transcript sends the same pictures with every request
def is_picture(data: str) -> bool:
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", Image.DecompressionBombWarning)
            Image.open(io.BytesIO(decoded(data))).verify()
    except (OSError, SyntaxError, ValueError, Image.DecompressionBombError):
        return False  # Pillow's words for a file that is no picture or a broken one
    return True
