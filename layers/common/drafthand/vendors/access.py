"""How to reach a vendor."""

from __future__ import annotations

from dataclasses import dataclass, field


@dataclass(frozen=True)
class Access:
    """A vendor's key, and another address than the vendor's own where one is set."""

    api_key: str = field(repr=False)
    base_url: str | None = None
