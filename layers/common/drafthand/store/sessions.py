"""Sessions, their transcripts and their runs."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from pydantic import BaseModel

from drafthand import audit
from drafthand.errors import not_found
from drafthand.ids import new_id, now, sha256_hex
from drafthand.session import LEASE_S, Run, RunState, Session
from drafthand.store.bodies import Bodies
from drafthand.store.table import ABSENT, Check, Delete, Item, Put, Table, Update, Write
from drafthand.transcript import Message

RUN_KEPT_S = 30 * 24 * 3600
"""A run's chunks are for replay; the transcript stays."""
KEY_KEPT_S = 24 * 3600


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
        """Set attributes of the session item; the session as it now is.

        Raises:
            ConditionFailed: another process has taken the session.
        """
        changes["updated_at"] = now()
        self.table.write(_held(session, changes))
        return session.model_copy(update=changes)

    def append(self, session: Session, message: Message, *also: Write, **changes: Any) -> Session:
        """Append one message to the transcript, and set attributes of the session item in the same transaction.

        Raises:
            ConditionFailed: another process has taken the session; nothing was written.
        """
        changes["messages"] = session.messages + 1
        held = _held(session, changes, messages=session.messages)
        self.table.transact(self._message(session, message), held, *also)
        return session.model_copy(update=changes)

    def _message(self, session: Session, message: Message) -> Put:
        item: Item = {"pk": f"SESSION#{session.id}", "sk": f"MSG#{session.messages + 1:06d}", "at": now()}
        body = self.bodies.pack(session.owner, message.model_dump(mode="json"))
        return Put(item | body, expect={"pk": ABSENT})

    def messages(self, session: Session) -> list[Message]:
        """The whole transcript, oldest first."""
        items = self.table.query(f"SESSION#{session.id}", "MSG#")
        return [Message.model_validate(self.bodies.unpack(session.owner, item)) for item in items]

    def audit(self, session: Session) -> Iterator[Item]:
        """The audit lines of the session's calls, in the order of their dispatch."""
        for item in self.table.query(f"SESSION#{session.id}", audit.PREFIX):
            yield {name: value for name, value in item.items() if name not in ("pk", "sk")}

    def start_run(self, session: Session, run: Run, message: Message, *also: Write, **changes: Any) -> Session:
        """Make `run` the session's one active run, leased to this process, with the message that it works on.

        Raises:
            ConditionFailed: the session has an active run, or `also` can't be written; nothing was written.
        """
        changes |= {"active_run": run.id, "messages": session.messages + 1, "updated_at": now()} | _leased(session)
        self.table.transact(
            _held(session, changes, active_run=None, messages=session.messages),
            self._message(session, message),
            Put({"pk": f"RUN#{run.id}", "sk": "META", "expires_at": int(now()) + RUN_KEPT_S} | run.model_dump()),
            Put({"pk": f"SESSION#{session.id}", "sk": f"RUN#{run.started_at:017.3f}#{run.id}", "run_id": run.id}),
            *also,
        )
        return session.model_copy(update=changes)

    def key_of(self, run: Run, key: str, body: str) -> Put:
        """The write that ties a request's Idempotency-Key to its run; there must be none for this key."""
        item = {"run_id": run.id, "body_sha256": sha256_hex(body.encode()), "expires_at": int(now()) + KEY_KEPT_S}
        return Put(_key(run.owner, key) | item, expect={"pk": ABSENT})

    def by_key(self, owner: str, key: str) -> tuple[str, str] | None:
        """The run that a key began, and the sha256 of its request."""
        item = self.table.get(*_key(owner, key).values())
        return None if item is None else (item["run_id"], item["body_sha256"])

    def say(self, run: Run, text: str) -> None:
        """Leave a message for a run that is being worked on: it is in the next request to the model, once."""
        at = now()
        item = {"pk": f"SESSION#{run.session_id}", "sk": f"INBOX#{at:017.6f}#{new_id('in')}", "text": text, "at": at}
        self.table.write(Put(item, expect={"pk": ABSENT}))

    def inbox(self, session: Session) -> list[tuple[str, Delete]]:
        """Messages that were left, oldest first, each with the write that takes it away."""
        items = self.table.query(f"SESSION#{session.id}", "INBOX#")
        return [(item["text"], Delete(item["pk"], item["sk"], expect={"text": item["text"]})) for item in items]

    def take_over(self, session: Session) -> Session:
        """Lease a session whose lease has run out to this process.

        Raises:
            ConditionFailed: another process was faster.
        """
        changes = _leased(session)
        self.table.write(_held(session, changes, lease_until=session.lease_until, active_run=session.active_run))
        return session.model_copy(update=changes)

    def renew(self, session: Session) -> None:
        """Raises ConditionFailed where another process has taken the session."""
        self.table.write(_held(session, {"lease_until": now() + LEASE_S}))

    def hand_over(self, session: Session, run: Run) -> None:
        """Leave the session and its run to whoever comes next, and note whether the run got any further."""
        messages = self.get(session.owner, session.id).messages
        stuck = run.stuck + 1 if run.stuck_at == messages else 1
        self.table.transact(
            _held(session, {"lease_until": 0.0}),
            Update(f"RUN#{run.id}", "META", set={"stuck": stuck, "stuck_at": messages}, expect={"id": run.id}),
        )

    def end_run(self, session: Session, run: Run, state: RunState, *also: Write) -> None:
        """Record how a run ended and free its session, together with other writes.

        Raises:
            ConditionFailed: another process has taken the session; nothing was written.
        """
        self.table.transact(
            _held(session, {"active_run": None, "lease_until": 0.0}, active_run=run.id),
            Update(f"RUN#{run.id}", "META", set={"state": state}, expect={"state": "running"}),
            *also,
        )

    def run(self, owner: str, run_id: str) -> Run:
        """Raises CallerError 404 for what isn't there or isn't the owner's."""
        item = self.table.get(f"RUN#{run_id}", "META")
        if item is None or item["owner"] != owner:
            raise not_found("Run", run_id)
        return Run.model_validate(item)

    def set_call(self, run: Run, call_id: str) -> None:
        """Record which call the run has in flight."""
        self.table.write(Update(f"RUN#{run.id}", "META", set={"call_id": call_id}, expect={"id": run.id}))

    def cancel_run(self, run: Run) -> None:
        """Ask for the run's end; the process that works on it sees this within a second."""
        self.table.write(Update(f"RUN#{run.id}", "META", set={"cancelled": True}, expect={"id": run.id}))

    def runs(self, session: Session) -> list[Run]:
        """Oldest first; runs whose log has expired are left out."""
        ids = [item["run_id"] for item in self.table.query(f"SESSION#{session.id}", "RUN#")]
        items = [self.table.get(f"RUN#{run_id}", "META") for run_id in ids]
        return [Run.model_validate(item) for item in items if item is not None]


def _held(session: Session, changes: dict[str, Any], **expect: Any) -> Update:
    """An update of the session item by the process that holds its lease."""
    pinned = {"owner": session.owner, "fence": session.fence} | expect
    return Update(f"SESSION#{session.id}", "META", set=_plain(changes), expect=pinned)


def _key(owner: str, key: str) -> dict[str, str]:
    return {"pk": f"KEY#{sha256_hex(f'{owner} {key}'.encode())}", "sk": "RUN"}


def fence_of(session: Session) -> Check:
    """Writes beside it are made only while this process holds the session."""
    return Check(f"SESSION#{session.id}", "META", expect={"fence": session.fence})


def _leased(session: Session) -> dict[str, Any]:
    return {"fence": session.fence + 1, "lease_until": now() + LEASE_S}


def _plain(changes: dict[str, Any]) -> dict[str, Any]:
    return {name: value.model_dump() if isinstance(value, BaseModel) else value for name, value in changes.items()}
