"""A session in the hands of the process that works on it: its item and its transcript, in step with the store."""

from __future__ import annotations

import asyncio
from typing import Any

from drafthand.session import Session
from drafthand.store import Store
from drafthand.threads import settled
from drafthand.transcript import Message


class Conversation:
    def __init__(self, store: Store, session: Session, messages: list[Message]) -> None:
        self.store = store
        self.session = session
        self.messages = messages

    @classmethod
    async def open(cls, store: Store, session: Session) -> Conversation:
        return cls(store, session, await asyncio.to_thread(store.sessions.messages, session))

    async def append(self, message: Message, **changes: Any) -> None:
        """Append to the stored transcript first, so that memory never holds what the store doesn't.

        Attributes of the session are set in the same write: its counters are always those of the transcript.

        Raises:
            ConditionFailed: another process appended to this session.
        """
        self.session = await settled(lambda: self.store.sessions.append(self.session, message, **changes))
        self.messages.append(message)

    async def update(self, **changes: Any) -> None:
        """Set attributes of the session."""
        self.session = await settled(lambda: self.store.sessions.update(self.session, **changes))
