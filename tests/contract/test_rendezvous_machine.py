"""Rendezvous and lease under any order of steps by several processes and hosts, against a model of what must hold.

Where a step reads before it writes, another step may come between the two: `meanwhile`.
"""

import threading
from collections.abc import Callable
from copy import copy
from typing import Any

import pytest
from drafthand import rendezvous
from drafthand.commands import Changed, Command, HostResult
from drafthand.errors import CallerError, ConditionFailed
from drafthand.ids import new_id
from drafthand.session import Session
from drafthand.store import Store
from drafthand.store.hosts import Host
from drafthand.store.sessions import Sessions
from hypothesis import HealthCheck, Phase, settings
from hypothesis import strategies as st
from hypothesis.stateful import (
    Bundle,
    RuleBasedStateMachine,
    consumes,
    multiple,
    rule,
    run_state_machine_as_test,
)

from local import stack
from tests import stores
from tests.chaos.channel import Desk, Expected, Interrupted
from tests.contract.test_store import make_run, make_session, said

OWNER = "ann"
OUTCOMES = ("committed", "unknown", "failed")
Meanwhile = str | None
meanwhiles = st.sampled_from([None, None, "cancelled", "expired", "answered", "claimed"])
whos = st.integers(0, 1)
TABLE = {name: value for name, value in stack.table_properties().items() if name not in stack.NOT_FOR_CREATE_TABLE}


def result_of(command: Command, outcome: str, text: str) -> HostResult:
    return HostResult(id=command.id, outcome=outcome, stdout=text, changed=Changed(modified=[7]))  # type: ignore[arg-type]


class Machine(RuleBasedStateMachine):
    """Two sessions, two hosts of their user, and a stranger's."""

    calls = Bundle("calls")
    holders = Bundle("holders")
    looks = Bundle("looks")
    late = Bundle("late")

    def __init__(self, store: Store) -> None:
        super().__init__()
        self.store = store
        self.expected: dict[str, Expected] = {}
        self.slots: dict[str, str] = {}
        self.hosts = [self._host(OWNER), self._host(OWNER)]
        self.stranger = self._host("eve")
        self.desks = [self._desk(), self._desk()]

    def _host(self, owner: str) -> Host:
        host = self.store.hosts.by_token(self.store.hosts.create(owner)[1])
        assert host is not None
        return host

    def _desk(self) -> Desk:
        run = make_run(self.store, make_session(self.store, OWNER, new_id("ses")), new_id("run"))
        return Desk(run, self.store.sessions.get(OWNER, run.session_id))

    def _during(self, call: Expected | None, meanwhile: Meanwhile) -> Store:
        """The store in which `meanwhile` happens to the call right after the first read of the step."""
        if call is None or meanwhile is None:
            return self.store
        steps = {
            "cancelled": lambda: self.end(call, "cancelled"),
            "expired": lambda: self.end(call, "expired"),
            "answered": lambda: self.answer(call, "committed", "meanwhile", None),
            "claimed": lambda: self.claim(self.hosts.index(call.host), None),
        }
        table: Any = Interrupted(self.store.table, steps[meanwhile])
        return Store(**self.store.__dict__ | {"table": table, "sessions": Sessions(table, self.store.bodies)})

    # -- the channel --------------------------------------------------------------------------------------------------

    @rule(target=calls, desk=whos, host=whos)
    def dispatch(self, desk: int, host: int) -> Any:
        run, chosen = self.desks[desk].run, self.hosts[host]
        command = Command(id=new_id("call"), run=run.id, session=run.session_id, mode="commit", script="print(1)")
        if chosen.id in self.slots:
            with pytest.raises(rendezvous.SlotTaken):
                rendezvous.dispatch(self.store, command, chosen)
            assert rendezvous.read_call(self.store, run.session_id, command.id) is None
            return multiple()
        rendezvous.dispatch(self.store, command, chosen)
        self.slots[chosen.id] = command.id
        call = self.expected[command.id] = Expected(command, chosen)
        return call

    @rule(call=calls, host=whos)
    def dispatch_again(self, call: Expected, host: int) -> None:
        """As by a process that doesn't know yet that another has its run: it gets the call as it is."""
        known = rendezvous.dispatch(self.store, call.command, self.hosts[host])
        assert (known.host_id, known.status) == (call.host.id, call.status)

    @rule(host=whos, meanwhile=meanwhiles)
    def claim(self, host: int, meanwhile: Meanwhile) -> None:
        chosen = self.hosts[host]
        call = self.expected.get(self.slots.get(chosen.id, ""))
        claimed = rendezvous.claim(self._during(call, meanwhile), chosen)
        if call is None or not call.is_open:
            assert claimed is None
        else:
            call.status = "claimed"
            assert claimed == call.command

    @rule()
    def claim_as_a_stranger(self) -> None:
        assert rendezvous.claim(self.store, self.stranger) is None

    @rule(call=calls, outcome=st.sampled_from(OUTCOMES), text=st.sampled_from(["one", "two"]), meanwhile=meanwhiles)
    def answer(self, call: Expected, outcome: str, text: str, meanwhile: Meanwhile) -> None:
        result = result_of(call.command, outcome, text)
        store = self._during(call, meanwhile)
        try:
            taken = rendezvous.answer(store, call.host, call.command.run, result)
        except CallerError as error:
            refused = error.status
        else:
            assert taken == self._taken(call, result)
            return
        assert refused == 409
        assert call.answer not in (None, result)

    def _taken(self, call: Expected, result: HostResult) -> str:
        """What an answer that isn't refused must be told; sets what it does."""
        assert call.answer in (None, result)
        if call.answer is not None:
            return "late" if call.late else "same"
        call.answer, call.late = result, not call.is_open
        if call.late:
            return "late"
        self._ended(call, "answered")
        return "stored"

    def _ended(self, call: Expected, status: str) -> None:
        assert self.slots.pop(call.host.id) == call.command.id
        call.status = status

    @rule(call=calls, outcome=st.sampled_from(OUTCOMES), other_run=st.booleans())
    def answer_what_is_not_ones_own(self, call: Expected, outcome: str, other_run: bool) -> None:
        others = [host for host in (*self.hosts, self.stranger) if host is not call.host]
        other = next(desk.run.id for desk in self.desks if desk.run.id != call.command.run)
        for host, run in [(call.host, other)] if other_run else [(host, call.command.run) for host in others]:
            with pytest.raises(CallerError) as refused:
                rendezvous.answer(self.store, host, run, result_of(call.command, outcome, "foreign"))
            assert refused.value.status == 404

    @rule(call=calls, status=st.sampled_from(["cancelled", "expired"]))
    def end(self, call: Expected, status: Any) -> None:
        seen = rendezvous.read_call(self.store, call.command.session, call.command.id)
        assert seen is not None
        rendezvous.end(self.store, seen, status)
        if call.is_open:
            self._ended(call, status)

    @rule(call=calls, meanwhile=meanwhiles)
    def withdraw(self, call: Expected, meanwhile: Meanwhile) -> None:
        run = next(desk.run for desk in self.desks if desk.run.session_id == call.command.session)
        self.store.sessions.set_call(run, call.command.id)
        rendezvous.withdraw(self._during(call, meanwhile), run)
        if call.is_open:
            self._ended(call, "cancelled")

    @rule(call=calls)
    def race(self, call: Expected) -> None:
        """Two answers, a stop and a claim at once: whoever wins, the store agrees with what each was told."""
        results = [result_of(call.command, "committed", text) for text in ("one", "three")]
        told: dict[str, str] = {}

        def post(result: HostResult) -> None:
            try:
                told[str(result.stdout)] = rendezvous.answer(self.store, call.host, call.command.run, result)
            except CallerError as refused:
                told[str(result.stdout)] = str(refused.status)

        seen = rendezvous.read_call(self.store, call.command.session, call.command.id)
        assert seen is not None
        steps = [lambda: rendezvous.end(self.store, seen, "cancelled"), lambda: rendezvous.claim(self.store, call.host)]
        steps += [lambda result=result: post(result) for result in results]  # type: ignore[misc]
        _at_once(steps)
        if not call.is_open and call.host.id in self.slots:
            self.expected[self.slots[call.host.id]].status = "claimed"
        if call.is_open:
            won = [result for result in results if told[str(result.stdout)] in ("stored", "late")]
            assert len(won) == 1, told
            self._ended(call, "answered" if told[str(won[0].stdout)] == "stored" else "cancelled")
            call.answer, call.late = won[0], call.status == "cancelled"
            assert "409" in told.values()
        else:
            for result in results:
                if told[str(result.stdout)] != "409":
                    assert told[str(result.stdout)] == self._taken(call, result)

    # -- what is told of it -------------------------------------------------------------------------------------------

    @rule(target=late, desk=whos)
    def look_for_late(self, desk: int) -> Any:
        found = rendezvous.late_answers(self.store, self.desks[desk].run.session_id)
        expected = [call for call in self.expected.values() if call.command.session == self.desks[desk].run.session_id]
        due = {call.command.id: call.answer for call in expected if call.late and not call.told}
        due = {key: answer for key, answer in due.items() if answer and answer.outcome in ("committed", "unknown")}
        assert {call.id: result for call, result in found} == due
        return found or multiple()

    @rule(desk=whos, found=late)
    def tell(self, desk: int, found: Any) -> None:
        """Together with a message; a second telling writes nothing, the message neither."""
        owned, calls = self.desks[desk], [self.expected[call.id] for call, _ in found]
        writes = rendezvous.told(found)
        if any(call.told for call in calls):
            with pytest.raises(ConditionFailed):
                self.store.sessions.append(owned.session, said("told"), *writes)
            return
        owned.session = self.store.sessions.append(owned.session, said("told"), *writes)
        owned.messages.append("told")
        for call in calls:
            call.told = True

    # -- the lease ----------------------------------------------------------------------------------------------------

    @rule(target=looks, desk=whos)
    def look(self, desk: int) -> tuple[int, Session]:
        return desk, self.store.sessions.get(OWNER, self.desks[desk].run.session_id)

    @rule(target=holders, look=looks)
    def take_over(self, look: tuple[int, Session]) -> Any:
        """By one who looked just now, or long ago: of all who saw the same, the first one gets it."""
        desk, seen = look
        held = self.desks[desk]
        if seen.fence != held.session.fence or seen.lease_until != held.session.lease_until:
            with pytest.raises(ConditionFailed):
                self.store.sessions.take_over(seen)
            return multiple()
        before, taken = held.session, self.store.sessions.take_over(seen)
        assert taken.fence == before.fence + 1
        held.session = taken.model_copy(update={"messages": before.messages})
        return multiple((desk, before), (desk, copy(held.session)))

    @rule(holder=holders, step=st.sampled_from(["append", "renew", "hand_over", "update"]))
    def write_as_a_holder(self, holder: tuple[int, Session], step: str) -> None:
        """Old ones and the present one; who isn't the present one writes nothing."""
        desk, session = holder
        held, sessions = self.desks[desk], self.store.sessions
        session = session.model_copy(update={"messages": held.session.messages})
        writes: dict[str, Callable[[], Any]] = {
            "append": lambda: sessions.append(session, said(f"by {session.fence}")),
            "renew": lambda: sessions.renew(session),
            "hand_over": lambda: sessions.hand_over(session, held.run),
            "update": lambda: sessions.update(session, context_tokens=session.fence),
        }
        if session.fence != held.session.fence:
            with pytest.raises(ConditionFailed):
                writes[step]()
            return
        writes[step]()
        if step == "append":
            held.messages.append(f"by {session.fence}")
        stored = sessions.get(OWNER, session.id)
        held.session = session.model_copy(update={"messages": len(held.messages), "lease_until": stored.lease_until})

    @rule(holder=consumes(holders))
    def append_at_once(self, holder: tuple[int, Session]) -> None:
        """One append each of an old holder, of the present one and of the present one again: one of them is written."""
        desk, session = holder
        held = self.desks[desk]
        written: list[str] = []

        def append(by: Session, text: str) -> None:
            try:
                self.store.sessions.append(by.model_copy(update={"messages": held.session.messages}), said(text))
            except ConditionFailed:
                return
            written.append(text)

        rivals = [session.model_copy(update={"fence": held.session.fence - 1}), held.session, held.session]
        _at_once([lambda by=by, n=n: append(by, f"rival {n}") for n, by in enumerate(rivals)])  # type: ignore[misc]
        assert written in (["rival 1"], ["rival 2"])
        held.messages += written
        held.session = held.session.model_copy(update={"messages": len(held.messages)})

    # -- what holds always --------------------------------------------------------------------------------------------

    def teardown(self) -> None:
        for host in self.hosts:
            slot = self.store.table.get(f"HOST#{host.id}", "SLOT")
            assert (slot and slot["call_id"]) == self.slots.get(host.id)
        for desk in self.desks:
            stored = self.store.sessions.get(OWNER, desk.run.session_id)
            assert (stored.fence, stored.messages) == (desk.session.fence, len(desk.messages))
            keys = [item["sk"] for item in self.store.table.query(f"SESSION#{stored.id}", "MSG#")]
            assert keys == [f"MSG#{number:06d}" for number in range(1, len(desk.messages) + 1)]
            assert [message.text for message in self.store.sessions.messages(stored)] == desk.messages
            for line in self.store.sessions.audit(stored):
                self._check_call(self.expected[line["call"]], line)
        # moto copies everything it holds at each transaction.
        client, name = self.store.table.client, self.store.table.name
        client.delete_table(TableName=name)
        client.create_table(TableName=name, **TABLE)

    def _check_call(self, call: Expected, line: dict[str, Any]) -> None:
        stored = rendezvous.read_call(self.store, call.command.session, call.command.id)
        assert stored is not None
        assert (stored.status, stored.late, stored.told) == (call.status, call.late, call.told)
        assert (line["outcome"], line["late"]) == (call.outcome, call.late)
        assert (line["ended_at"] is None) == call.is_open
        assert (stored.answer_sha256 is None) == (call.answer is None)
        if call.answer is not None:
            assert rendezvous.read_result(self.store, stored) == call.answer


def _at_once(steps: list[Callable[[], object]]) -> None:
    threads = [threading.Thread(target=step) for step in steps]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()


@pytest.mark.parametrize("server", ["moto", "ministack"])
def test_whatever_comes_in_whatever_order_the_channel_and_the_lease_hold(
    server: str, request: pytest.FixtureRequest
) -> None:
    store = stores.fresh_store(request.getfixturevalue(f"{server}_url"))
    run_state_machine_as_test(
        lambda: Machine(store),
        settings=settings(
            max_examples=10,
            stateful_step_count=40,
            deadline=None,
            phases=[Phase.generate],
            suppress_health_check=list(HealthCheck),
        ),
    )
