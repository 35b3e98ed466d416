"""What a store must hold of calls and sessions, and a table on which something happens between two steps."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

from drafthand.commands import Command, HostResult
from drafthand.session import Run, Session
from drafthand.store.hosts import Host


@dataclass
class Expected:
    """What the store must hold of one call."""

    command: Command
    host: Host
    status: str = "pending"
    answer: HostResult | None = None
    late: bool = False
    told: bool = False

    @property
    def is_open(self) -> bool:
        return self.status in ("pending", "claimed")

    @property
    def outcome(self) -> str | None:
        """What the audit line says."""
        if self.answer is not None:
            return self.answer.outcome
        return None if self.is_open else self.status


@dataclass
class Desk:
    """What the store must hold of one session. `messages` are the texts of its transcript."""

    run: Run
    session: Session
    messages: list[str] = field(default_factory=lambda: ["hi"])


class Interrupted:
    """A table on which something happens once, right after the next read."""

    def __init__(self, table: Any, happens: Callable[[], None]) -> None:
        self._table = table
        self._happens: Callable[[], None] | None = happens

    def get(self, *arguments: Any, **options: Any) -> Any:
        item = self._table.get(*arguments, **options)
        happens, self._happens = self._happens, None
        if happens is not None:
            happens()
        return item

    def __getattr__(self, name: str) -> Any:
        return getattr(self._table, name)
