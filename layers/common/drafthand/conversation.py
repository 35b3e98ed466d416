"""A session in the hands of the process that works on it: its item and its transcript, in step with the store."""

from __future__ import annotations

import asyncio
from typing import Any

from drafthand.chunks import StreamChunk, metadata
from drafthand.session import Session
from drafthand.store import Store
from drafthand.store.table import Write
from drafthand.threads import settled
from drafthand.transcript import Message, Text


class Conversation:
    def __init__(self, store: Store, session: Session, messages: list[Message]) -> None:
        self.store = store
        self.session = session
        self.messages = messages
        self._staged: dict[str, Any] = {}
        self._writes: list[Write] = []

    @classmethod
    async def open(cls, store: Store, session: Session) -> Conversation:
        return cls(store, session, await asyncio.to_thread(store.sessions.messages, session))

    def stage(self, **changes: Any) -> None:
        """Set attributes of the session. They are stored together with the next message, never before it: so the
        counters are those of the stored transcript whenever a process dies, and what is done again counts once."""
        self.session = self.session.model_copy(update=changes)
        self._staged |= changes

    def stage_writes(self, *writes: Write) -> None:
        """Other writes that belong into the same transaction as the next message."""
        self._writes += writes

    async def append(self, message: Message, **changes: Any) -> None:
        """Append to the stored transcript first, so that memory never holds what the store doesn't.

        Raises:
            ConditionFailed: another process has taken this session.
        """
        self.stage(**changes)
        append, session = self.store.sessions.append, self.session
        self.session = await settled(lambda: append(session, message, *self._writes, **self._staged))
        self.messages.append(message)
        self._staged, self._writes = {}, []

    async def hear(self) -> list[StreamChunk]:
        """Append what the user has said while the run was worked on; a chunk for each."""
        told = []
        for text, taken in await asyncio.to_thread(self.store.sessions.inbox, self.session):
            self.stage_writes(taken)
            await self.append(Message(role="user", parts=(Text(text=text),)))
            told.append(metadata("message", f"You added: {text}", message=text))
        return told

    async def flush(self) -> None:
        """Store what is staged without a message: the run ends here."""
        if self._staged:
            self.session = await settled(lambda: self.store.sessions.update(self.session, **self._staged))
            self._staged = {}
