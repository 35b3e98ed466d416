"""Suspending a turn on another machine: one item per call is a bounded channel of capacity one.

    pending --claim(host)--> claimed --answer--> answered
       |                        |
       +-- cancel / expire -----+--> cancelled | expired --answer--> kept as late

Rule 1: every step is one conditional write; who comes second changes nothing.
Rule 2: while a call is pending or claimed, its host's SLOT is its own; the step that ends it frees the slot.
Rule 3: the polled item is small (some 300 bytes); the command and the result lie beside it.
Rule 4: an answer is never lost: what comes after the end is kept, and marked late.
Rule 5: the step that dispatches or ends a call writes its audit line too.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from dataclasses import dataclass
from typing import Literal

from drafthand import audit
from drafthand.commands import Command, HostResult
from drafthand.errors import CallerError, ConditionFailed, not_found
from drafthand.ids import now, sha256_hex
from drafthand.session import Run
from drafthand.store import Store
from drafthand.store.hosts import Host
from drafthand.store.table import ABSENT, Check, Delete, In, Item, Put, Update

POLL_FIRST_S = 0.1
POLL_LAST_S = 1.0
POLL_GROWTH = 1.25
CLAIM_WITHIN_S = 60.0
"""A host that is online asks again at most 25 s after its last question; a minute is generous."""
ANSWER_WITHIN_S = 600.0
"""From the claim. Minutes, not seconds: a desktop may sit in a modal dialog while its user is away."""

HOST_LOOK_EVERY_S = 2.0
GONE_AFTER_S = 20.0
"""A busy host's heartbeat comes every 5 s."""
DIALOG_AFTER_S = 60.0
"""Few scripts take a minute: a desktop that does is likely to wait for its user."""

HostState = Literal["working", "dialog", "gone"]
Status = Literal["pending", "claimed", "answered", "cancelled", "expired"]
OPEN = In("pending", "claimed")


@dataclass(frozen=True)
class Call:
    """The rendezvous item. Times are Unix seconds."""

    id: str
    session_id: str
    run_id: str
    owner: str
    host_id: str
    status: Status
    created_at: float
    claimed_at: float | None = None
    answer_sha256: str | None = None
    late: bool = False
    told: bool = False
    """A late answer that user and model have been told of."""

    @property
    def pk(self) -> str:
        return f"SESSION#{self.session_id}"

    @property
    def is_open(self) -> bool:
        return self.status in ("pending", "claimed")

    @property
    def deadline(self) -> float:
        if self.claimed_at is None:
            return self.created_at + CLAIM_WITHIN_S
        return self.claimed_at + ANSWER_WITHIN_S


class SlotTaken(Exception):
    """The host has another command waiting or in hand."""


def dispatch(store: Store, command: Command, host: Host, fence: Check | None = None) -> Call:
    """Hand a command to a host; one that another process of the same run has handed over already is just waited for.
    `fence`: only while the caller holds the session.

    Raises:
        SlotTaken: the host's slot holds another call, or the session is another's; nothing was written.
    """
    call = Call(command.id, command.session, command.run, host.owner, host.id, "pending", now())
    body = store.bodies.pack(host.owner, command.model_dump(mode="json"))
    slot = {"pk": f"HOST#{host.id}", "sk": "SLOT", "call_id": call.id, "session_id": call.session_id}
    line = audit.dispatched(command, host.owner, host.id, host.application, host.document, call.created_at)
    try:
        store.table.transact(
            Put({"pk": call.pk, "sk": f"CALL#{call.id}"} | call.__dict__, expect={"pk": ABSENT}),
            Put({"pk": call.pk, "sk": f"COMMAND#{call.id}"} | body),
            Put(slot, expect={"pk": ABSENT}),
            Put({"pk": call.pk, "sk": audit.key(call.created_at, call.id)} | line),
            *([] if fence is None else [fence]),
        )
    except ConditionFailed as error:
        known = read_call(store, command.session, command.id)
        if known is None:
            raise SlotTaken(host.id) from error
        return known
    return call


def read_call(store: Store, session_id: str, call_id: str) -> Call | None:
    item = store.table.get(f"SESSION#{session_id}", f"CALL#{call_id}")
    return None if item is None else _call(item)


def claim(store: Store, host: Host) -> Command | None:
    """The command in this host's slot, now claimed by it; the same one again after a lost response."""
    slot = store.table.get(f"HOST#{host.id}", "SLOT")
    if slot is None:
        return None
    pk, call_id = f"SESSION#{slot['session_id']}", slot["call_id"]
    try:
        store.table.write(
            Update(
                pk,
                f"CALL#{call_id}",
                set={"status": "claimed", "claimed_at": now()},
                expect={"status": "pending", "host_id": host.id},
            )
        )
    except ConditionFailed:
        call = read_call(store, slot["session_id"], call_id)
        if call is None or call.status != "claimed" or call.host_id != host.id:
            return None
    item = store.table.get(pk, f"COMMAND#{call_id}")
    return None if item is None else Command.model_validate(store.bodies.unpack(host.owner, item))


def wanted(store: Store, host: Host, call_id: str) -> bool:
    """Whether the host should go on with this call: it still holds the host's slot."""
    slot = store.table.get(f"HOST#{host.id}", "SLOT")
    return slot is not None and slot["call_id"] == call_id


def answer(store: Store, host: Host, run_id: str, result: HostResult) -> Literal["stored", "same", "late"]:
    """Take a host's answer.

    Raises:
        CallerError: 404 for a call that isn't this host's, 409 where another answer is stored.
    """
    run = store.table.get(f"RUN#{run_id}", "META")
    call = None if run is None else read_call(store, run["session_id"], result.id)
    if call is None or call.host_id != host.id or call.run_id != run_id:
        raise not_found("Call", result.id)
    payload = result.model_dump_json()
    digest = sha256_hex(payload.encode())
    body: Item = {"pk": call.pk, "sk": f"RESULT#{call.id}"}
    body |= store.bodies.pack(call.owner, result.model_dump(mode="json"))
    kept = Put(body, expect={"pk": ABSENT})
    stored = {"status": "answered", "answer_sha256": digest}
    status = Update(call.pk, f"CALL#{call.id}", set=stored, expect={"status": OPEN})
    line = _audit(call, audit.answered(result, now(), late=False))
    try:
        store.table.transact(status, kept, _free_slot(call), line)
    except ConditionFailed:
        line = _audit(call, audit.answered(result, now(), late=True))
        return _answer_again(store, call, kept, line, digest)
    return "stored"


def _answer_again(store: Store, call: Call, kept: Put, line: Update, digest: str) -> Literal["same", "late"]:
    """The call had ended before this answer came."""
    ended = {"status": In("cancelled", "expired"), "answer_sha256": None}
    late = Update(call.pk, f"CALL#{call.id}", set={"late": True, "answer_sha256": digest}, expect=ended)
    try:
        store.table.transact(late, kept, line)
    except ConditionFailed as error:
        stored = read_call(store, call.session_id, call.id)
        if stored is None or stored.answer_sha256 != digest:
            detail = "This call already has a different answer. The first one stands; poll for the next command."
            raise CallerError(409, "Answered before", detail, "id", retry_after_s=30) from error
        return "late" if stored.late else "same"
    return "late"


def end(store: Store, call: Call, status: Literal["cancelled", "expired"]) -> None:
    """Cancel or expire a call; nothing happens to one that has ended."""
    update = Update(call.pk, f"CALL#{call.id}", set={"status": status}, expect={"status": OPEN})
    try:
        store.table.transact(update, _free_slot(call), _audit(call, audit.ended(status, now())))
    except ConditionFailed:
        return  # answered or ended in the same moment: that end stands


def _audit(call: Call, facts: Item) -> Update:
    return Update(call.pk, audit.key(call.created_at, call.id), set=facts)


def _free_slot(call: Call) -> Delete:
    return Delete(f"HOST#{call.host_id}", "SLOT", expect={"call_id": call.id})


def read_result(store: Store, call: Call) -> HostResult:
    """The answer of an answered call."""
    item = store.table.get(call.pk, f"RESULT#{call.id}")
    if item is None:
        raise LookupError(f"call {call.id} is {call.status} but has no result")
    return HostResult.model_validate(store.bodies.unpack(call.owner, item))


def late_answers(store: Store, session_id: str) -> list[tuple[Call, HostResult]]:
    """Late answers of this session that took or may have taken effect, and that nobody was told of yet."""
    calls = [_call(item) for item in store.table.query(f"SESSION#{session_id}", "CALL#")]
    found = [(call, read_result(store, call)) for call in calls if call.late and not call.told]
    return [(call, result) for call, result in found if result.outcome in ("committed", "unknown")]


def told(late: list[tuple[Call, HostResult]]) -> list[Update]:
    """The writes that record that user and model are told of these answers."""
    return [Update(call.pk, f"CALL#{call.id}", set={"told": True}, expect={"told": False}) for call, _ in late]


def unheard(store: Store, session_id: str, call_ids: list[str]) -> list[Update]:
    """The writes that make these calls' answers late ones: they were in time, but their run ends without a word of
    them."""
    calls = [read_call(store, session_id, call_id) for call_id in call_ids]
    answered = [call for call in calls if call is not None and call.status == "answered"]
    late = [Update(call.pk, f"CALL#{call.id}", set={"late": True}, expect={"told": False}) for call in answered]
    return [*late, *(_audit(call, {"late": True}) for call in answered)]


async def watch(store: Store, call: Call) -> AsyncIterator[tuple[Call, HostState]]:
    """The call and its host's state each time that changes, until the call has ended; expires it at its deadline.

    Polls with strongly consistent reads: often at first, for most scripts take under a second.
    """
    pause, looked_at = POLL_FIRST_S, 0.0
    state: HostState | None = None
    while call.is_open:
        await asyncio.sleep(pause)
        pause = min(pause * POLL_GROWTH, POLL_LAST_S)
        current = await asyncio.to_thread(read_call, store, call.session_id, call.id)
        if current is None:
            raise LookupError(f"call {call.id} has gone from the store")
        call = current
        if call.is_open and now() > call.deadline:
            await asyncio.to_thread(end, store, call, "expired")
        elif call.status == "claimed" and (state is None or now() - looked_at > HOST_LOOK_EVERY_S):
            looked_at = now()
            host = await asyncio.to_thread(store.hosts.get, call.owner, call.host_id)
            seen = host_state(call, host.last_seen_at, looked_at)
            if seen != state:
                state = seen
                yield call, seen


def host_state(call: Call, last_seen_at: float, at: float) -> HostState:
    """What a host is doing that has claimed a call: a heartbeat tells a long script from a host that is gone."""
    claimed_at = call.claimed_at or at
    if at - max(last_seen_at, claimed_at) > GONE_AFTER_S:
        return "gone"
    return "dialog" if at - claimed_at > DIALOG_AFTER_S else "working"


def _call(item: Item) -> Call:
    return Call(**{name: item[name] for name in Call.__dataclass_fields__})


def open_call(store: Store, run: Run) -> Call | None:
    """The call that this run has in flight, if any."""
    if run.call_id is None:
        return None
    call = read_call(store, run.session_id, run.call_id)
    return call if call is not None and call.is_open else None


def withdraw(store: Store, run: Run) -> bool:
    """Cancel the call that a run has in flight, if any. True when a host had it in hand already."""
    call = open_call(store, store.sessions.run(run.owner, run.id))
    if call is None:
        return False
    end(store, call, "cancelled")
    return call.status == "claimed"
