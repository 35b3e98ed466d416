"""What every dialect does to text from a vendor, and to names on the way to one."""

from __future__ import annotations

import json
import math
import re
from collections.abc import Mapping
from typing import Any


def clean(text: str) -> str:
    """The text without lone surrogates, which no encoder takes; halves of a pair that lie side by side are joined."""
    return text if text.isascii() else text.encode("utf-16-le", "surrogatepass").decode("utf-16-le", "replace")


def clean_all(value: Any) -> Any:
    r"""The same for every text of a JSON value, keys too: JSON may spell a lone surrogate as \ud800."""
    return json.loads(clean(json.dumps(value, ensure_ascii=False)))


class Written:
    """Text that arrives in pieces. Half of a surrogate pair waits for the other half; without it it is U+FFFD."""

    def __init__(self) -> None:
        self.text = ""
        self._half = ""

    def add(self, piece: Any) -> str:
        """What the piece adds, fit for every encoder. What is no text counts as its JSON, null as nothing."""
        piece = self._half + text_of(piece)
        self._half = piece[-1] if "\ud800" <= piece[-1:] <= "\udbff" else ""
        added = clean(piece.removesuffix(self._half))
        self.text += added
        return added

    def end(self) -> str:
        """What is left when no piece follows."""
        added, self._half = clean(self._half), ""
        self.text += added
        return added


def text_of(value: Any) -> str:
    """A text as it is; anything else as JSON, None as nothing."""
    if value is None or isinstance(value, str):
        return value or ""
    return json.dumps(value, ensure_ascii=False, default=str)


def tool_name(name: str) -> str:
    """A model may have called a tool that can't exist; the vendor would refuse its name for ever."""
    return re.sub(r"[^a-zA-Z0-9_-]", "_", name)[:64] or "unnamed"


def count(usage: Any, *path: str) -> int:
    """A token count, by the names that lead to it; 0 where the vendor left one out, or wrote what can't be one."""
    for name in path:
        usage = usage.get(name) if isinstance(usage, Mapping) else getattr(usage, name, None)
    try:
        number = float(usage)
    except (TypeError, ValueError):
        return 0
    return max(0, int(number)) if math.isfinite(number) else 0
