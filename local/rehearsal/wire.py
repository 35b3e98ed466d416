"""What the dialects share on the wire: events with their cost in tokens, pieces of text, and refusals."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

MODEL = "rehearsal"
WINDOW = 200_000  # tokens that a request may have
CHARS_PER_TOKEN = 4  # the vendors' own rule of thumb for English text and code


@dataclass(frozen=True)
class Event:
    """One server-sent event.

    tokens: what the model has spent since the event before; the server paces the stream by it.
    """

    name: str
    data: dict[str, Any]
    tokens: float = 0.0


class Refused(Exception):
    """The request is refused as the vendor would refuse it.

    Args:
        status: HTTP status.
        kind: the vendor's word for the sort of error.
        message: the vendor's text.
        headers: more response headers.
    """

    def __init__(self, status: int, kind: str, message: str, headers: Mapping[str, str] | None = None) -> None:
        super().__init__(message)
        self.status = status
        self.kind = kind
        self.message = message
        self.headers = dict(headers or {})


def tokens_of(text: str) -> float:
    return len(text) / CHARS_PER_TOKEN


def word_pieces(text: str) -> list[str]:
    """The text in pieces of one or two words, as tokens arrive from a model; joined they are the text."""
    words = re.findall(r"\s*\S+|\s+\Z", text)
    return words[:1] + ["".join(words[start : start + 2]) for start in range(1, len(words), 2)]


def even_pieces(text: str, size: int) -> list[str]:
    return [text[start : start + size] for start in range(0, len(text), size)]
