"""Sessions, their transcripts and their runs."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from pydantic import BaseModel

from drafthand import audit
from drafthand.errors import ConditionFailed, not_found
from drafthand.ids import now
from drafthand.session import Run, RunState, Session
from drafthand.store.bodies import Bodies
from drafthand.store.table import ABSENT, Item, Put, Table, Update
from drafthand.transcript import Message

RUN_KEPT_S = 30 * 24 * 3600
"""A run's chunks are for replay; the transcript stays."""


class Sessions:
    def __init__(self, table: Table, bodies: Bodies) -> None:
        self.table = table
        self.bodies = bodies

    def create(self, session: Session) -> None:
        keys = {
            "pk": f"SESSION#{session.id}",
            "sk": "META",
            "gpk": f"OWNER#{session.owner}",
            "gsk": f"SESSION#{session.created_at:017.3f}",
        }
        self.table.write(Put(keys | session.model_dump(), expect={"pk": ABSENT}))

    def get(self, owner: str, session_id: str) -> Session:
        """Raises CallerError 404 for what isn't there or isn't the owner's."""
        item = self.table.get(f"SESSION#{session_id}", "META")
        if item is None or item["owner"] != owner:
            raise not_found("Session", session_id)
        return Session.model_validate(item)

    def of_owner(self, owner: str) -> Iterator[Session]:
        """Newest first."""
        for item in self.table.query_owned(owner, "SESSION#"):
            yield Session.model_validate(item)

    def update(self, session: Session, **changes: Any) -> Session:
        """Set attributes of the session item; the session as it now is."""
        changes["updated_at"] = now()
        stored = _plain(changes)
        self.table.write(Update(f"SESSION#{session.id}", "META", set=stored, expect={"owner": session.owner}))
        return session.model_copy(update=changes)

    def append(self, session: Session, message: Message, **changes: Any) -> Session:
        """Append one message to the transcript, and set attributes of the session item in the same write.

        Raises:
            ConditionFailed: another writer appended first; nothing was written.
        """
        count = session.messages + 1
        changes["messages"] = count
        item: Item = {"pk": f"SESSION#{session.id}", "sk": f"MSG#{count:06d}", "at": now()}
        self.table.transact(
            Put(item | self.bodies.pack(session.owner, message.model_dump(mode="json")), expect={"pk": ABSENT}),
            Update(item["pk"], "META", set=_plain(changes), expect={"messages": session.messages}),
        )
        return session.model_copy(update=changes)

    def messages(self, session: Session) -> list[Message]:
        """The whole transcript, oldest first."""
        items = self.table.query(f"SESSION#{session.id}", "MSG#")
        return [Message.model_validate(self.bodies.unpack(session.owner, item)) for item in items]

    def audit(self, session: Session) -> Iterator[Item]:
        """The audit lines of the session's calls, in the order of their dispatch."""
        for item in self.table.query(f"SESSION#{session.id}", audit.PREFIX):
            yield {name: value for name, value in item.items() if name not in ("pk", "sk")}

    def start_run(self, session: Session, run: Run) -> Session:
        """Make `run` the session's one active run.

        Raises:
            ConditionFailed: the session has an active run.
        """
        self.table.transact(
            Update(f"SESSION#{session.id}", "META", set={"active_run": run.id}, expect={"active_run": None}),
            Put({"pk": f"RUN#{run.id}", "sk": "META", "expires_at": int(now()) + RUN_KEPT_S} | run.model_dump()),
            Put({"pk": f"SESSION#{session.id}", "sk": f"RUN#{run.started_at:017.3f}#{run.id}", "run_id": run.id}),
        )
        return session.model_copy(update={"active_run": run.id})

    def end_run(self, run: Run, state: RunState) -> None:
        """Record how a run ended and free its session; harmless when repeated."""
        self.table.write(Update(f"RUN#{run.id}", "META", set={"state": state}))
        try:
            self.table.write(
                Update(f"SESSION#{run.session_id}", "META", set={"active_run": None}, expect={"active_run": run.id})
            )
        except ConditionFailed:
            return  # freed before, perhaps taken by the next run: not ours to touch

    def run(self, owner: str, run_id: str) -> Run:
        """Raises CallerError 404 for what isn't there or isn't the owner's."""
        item = self.table.get(f"RUN#{run_id}", "META")
        if item is None or item["owner"] != owner:
            raise not_found("Run", run_id)
        return Run.model_validate(item)

    def set_call(self, run: Run, call_id: str) -> None:
        """Record which call the run has in flight."""
        self.table.write(Update(f"RUN#{run.id}", "META", set={"call_id": call_id}, expect={"id": run.id}))

    def beat(self, run: Run) -> None:
        """Say that the run is being worked on."""
        self.table.write(Update(f"RUN#{run.id}", "META", set={"beat_at": now()}, expect={"id": run.id}))

    def cancel_run(self, run: Run) -> None:
        """Ask for the run's end; the process that works on it sees this within a second."""
        self.table.write(Update(f"RUN#{run.id}", "META", set={"cancelled": True}, expect={"id": run.id}))

    def runs(self, session: Session) -> list[Run]:
        """Oldest first; runs whose log has expired are left out."""
        ids = [item["run_id"] for item in self.table.query(f"SESSION#{session.id}", "RUN#")]
        items = [self.table.get(f"RUN#{run_id}", "META") for run_id in ids]
        return [Run.model_validate(item) for item in items if item is not None]


def _plain(changes: dict[str, Any]) -> dict[str, Any]:
    return {name: value.model_dump() if isinstance(value, BaseModel) else value for name, value in changes.items()}
