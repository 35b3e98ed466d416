"""How to reach a vendor."""

from __future__ import annotations

import os
import re
from dataclasses import dataclass, field
from urllib.parse import urlsplit

OF_SDKS = re.compile(r"(ANTHROPIC|OPENAI|GOOGLE|GEMINI)_(?!API_KEY$)")
"""Variables that the vendors' SDKs look at: addresses, headers, accounts, other keys."""


@dataclass(frozen=True)
class Access:
    """A vendor's key, and another address than the vendor's own where one is set."""

    api_key: str = field(repr=False)
    base_url: str | None = None


def is_url(text: str) -> bool:
    """Whether it is an http or https URL with a host."""
    try:
        parts = urlsplit(text)
        return parts.scheme in ("http", "https") and bool(parts.hostname) and parts.port != 0 and text.split() == [text]
    except ValueError:  # a port that is no number, a bracket that isn't closed
        return False


def forget_environment() -> None:
    """Take out of this process's environment what the SDKs would add to requests unasked.

    They send an OpenAI account's ids and the headers of *_CUSTOM_HEADERS to whatever server a client is for, and take a
    vendor's address from *_BASE_URL. Where requests go and what is in them is told by `Access` alone.
    """
    for name in [name for name in os.environ if OF_SDKS.match(name)]:
        os.environ.pop(name, None)  # another thread may be at it too
