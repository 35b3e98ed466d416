"""One call as a channel of capacity one, on two implementations of the store."""

import asyncio
import threading

import pytest
from drafthand import rendezvous
from drafthand.commands import Changed, Command, HostResult
from drafthand.errors import CallerError
from drafthand.store import Store
from drafthand.store.hosts import Host

from tests.contract.test_store import make_run, make_session

RESULT = HostResult(id="call_1", outcome="committed", stdout="done", changed=Changed(modified=[4, 7]))


def make_host(store: Store, owner: str = "ann") -> Host:
    _, token = store.hosts.create(owner)
    host = store.hosts.by_token(token)
    assert host is not None
    return host


def ready(store: Store, call_id: str = "call_1") -> tuple[Host, Command]:
    """A session with a run, a host, and a command for it."""
    session = make_session(store)
    run = make_run(store, session)
    command = Command(id=call_id, run=run.id, session=session.id, mode="commit", script="print(1)")
    return make_host(store), command


def test_a_dispatched_command_reaches_its_host_and_the_answer_comes_back(any_store: Store) -> None:
    host, command = ready(any_store)

    call = rendezvous.dispatch(any_store, command, host)
    claimed = rendezvous.claim(any_store, host)
    taken = rendezvous.answer(any_store, host, command.run, RESULT)

    assert claimed == command
    assert taken == "stored"
    assert rendezvous.read_result(any_store, call) == RESULT


def test_a_second_command_finds_the_slot_taken_until_the_first_is_answered(any_store: Store) -> None:
    host, command = ready(any_store)
    second = command.model_copy(update={"id": "call_2"})
    rendezvous.dispatch(any_store, command, host)

    with pytest.raises(rendezvous.SlotTaken):
        rendezvous.dispatch(any_store, second, host)
    rendezvous.claim(any_store, host)
    rendezvous.answer(any_store, host, command.run, RESULT)
    rendezvous.dispatch(any_store, second, host)

    assert rendezvous.claim(any_store, host) == second


def test_a_lost_claim_is_claimed_again_and_gets_the_same_command(any_store: Store) -> None:
    host, command = ready(any_store)
    rendezvous.dispatch(any_store, command, host)

    assert rendezvous.claim(any_store, host) == rendezvous.claim(any_store, host) == command


def test_no_command_is_claimed_by_another_host(any_store: Store) -> None:
    host, command = ready(any_store)
    rendezvous.dispatch(any_store, command, host)

    assert rendezvous.claim(any_store, make_host(any_store)) is None


def test_the_same_answer_again_is_the_same(any_store: Store) -> None:
    host, command = ready(any_store)
    rendezvous.dispatch(any_store, command, host)

    answers = [rendezvous.answer(any_store, host, command.run, RESULT) for _ in range(3)]

    assert answers == ["stored", "same", "same"]


def test_another_answer_is_refused_and_the_first_one_stands(any_store: Store) -> None:
    host, command = ready(any_store)
    call = rendezvous.dispatch(any_store, command, host)
    rendezvous.answer(any_store, host, command.run, RESULT)

    with pytest.raises(CallerError) as refused:
        rendezvous.answer(any_store, host, command.run, RESULT.model_copy(update={"stdout": "other"}))

    assert refused.value.status == 409
    assert refused.value.headers() == {"Retry-After": "30"}
    assert rendezvous.read_result(any_store, call).stdout == "done"


def test_two_different_answers_at_once_leave_one(any_store: Store) -> None:
    host, command = ready(any_store)
    call = rendezvous.dispatch(any_store, command, host)
    outcomes: list[str] = []

    def post(text: str) -> None:
        try:
            outcomes.append(rendezvous.answer(any_store, host, command.run, RESULT.model_copy(update={"stdout": text})))
        except CallerError as error:
            outcomes.append(str(error.status))

    posts = [threading.Thread(target=post, args=(text,)) for text in ("one", "two", "three")]
    for each in posts:
        each.start()
    for each in posts:
        each.join()

    assert sorted(outcomes) == ["409", "409", "stored"]
    assert rendezvous.read_result(any_store, call).stdout in ("one", "two", "three")


@pytest.mark.parametrize("run_id", ["run_1", "run_none"])
def test_an_answer_to_an_unknown_call_is_not_found(any_store: Store, run_id: str) -> None:
    host, _ = ready(any_store)

    with pytest.raises(CallerError, match="not found") as refused:
        rendezvous.answer(any_store, host, run_id, RESULT.model_copy(update={"id": "call_none"}))

    assert refused.value.status == 404


def test_a_strange_host_learns_nothing_of_a_call(any_store: Store) -> None:
    host, command = ready(any_store)
    call = rendezvous.dispatch(any_store, command, host)

    with pytest.raises(CallerError) as refused:
        rendezvous.answer(any_store, make_host(any_store, "eve"), command.run, RESULT)

    assert refused.value.status == 404
    current = rendezvous.read_call(any_store, call.session_id, call.id)
    assert current is not None
    assert current.status == "pending"


@pytest.mark.parametrize("end", ["cancelled", "expired"])
def test_an_answer_after_the_end_is_kept_as_late(any_store: Store, end: str) -> None:
    host, command = ready(any_store)
    call = rendezvous.dispatch(any_store, command, host)
    rendezvous.claim(any_store, host)

    rendezvous.end(any_store, call, end)
    answers = [rendezvous.answer(any_store, host, command.run, RESULT) for _ in range(2)]

    current = rendezvous.read_call(any_store, call.session_id, call.id)
    assert current is not None
    assert (current.status, current.late) == (end, True)
    assert answers == ["late", "late"]
    assert rendezvous.read_result(any_store, call) == RESULT


def test_a_late_commit_is_there_until_it_is_told(any_store: Store) -> None:
    host, command = ready(any_store)
    call = rendezvous.dispatch(any_store, command, host)
    rendezvous.end(any_store, call, "cancelled")
    rendezvous.answer(any_store, host, command.run, RESULT)

    late = rendezvous.late_answers(any_store, command.session)
    any_store.table.transact(*rendezvous.told(late))

    assert [(call.id, result) for call, result in late] == [("call_1", RESULT)]
    assert rendezvous.late_answers(any_store, command.session) == []


def test_a_cancelled_call_frees_its_host_and_is_not_claimed(any_store: Store) -> None:
    host, command = ready(any_store)
    call = rendezvous.dispatch(any_store, command, host)
    assert rendezvous.wanted(any_store, host, call.id)

    rendezvous.end(any_store, call, "cancelled")

    assert rendezvous.claim(any_store, host) is None
    assert not rendezvous.wanted(any_store, host, call.id)
    rendezvous.dispatch(any_store, command.model_copy(update={"id": "call_2"}), host)


def test_the_end_of_an_answered_call_changes_nothing(any_store: Store) -> None:
    host, command = ready(any_store)
    call = rendezvous.dispatch(any_store, command, host)
    rendezvous.answer(any_store, host, command.run, RESULT)

    rendezvous.end(any_store, call, "cancelled")

    current = rendezvous.read_call(any_store, call.session_id, call.id)
    assert current is not None
    assert current.status == "answered"


async def test_the_waiter_sees_the_host_at_work_until_it_has_answered(store: Store) -> None:
    host, command = ready(store)
    call = rendezvous.dispatch(store, command, host)
    store.hosts.seen(host)
    await asyncio.to_thread(rendezvous.claim, store, host)
    seen = []

    async for current, state in rendezvous.watch(store, call):
        seen.append((current.status, state))
        await asyncio.to_thread(rendezvous.answer, store, host, command.run, RESULT)

    assert seen == [("claimed", "working")]


async def test_a_call_that_nobody_claims_expires(store: Store, monkeypatch: pytest.MonkeyPatch) -> None:
    host, command = ready(store)
    call = rendezvous.dispatch(store, command, host)
    monkeypatch.setattr(rendezvous, "CLAIM_WITHIN_S", 0.0)

    assert [each async for each in rendezvous.watch(store, call)] == []

    current = rendezvous.read_call(store, call.session_id, call.id)
    assert current is not None
    assert current.status == "expired"
    assert rendezvous.claim(store, host) is None


@pytest.mark.parametrize(
    ("since_claim", "since_beat", "state"),
    [
        (1.0, 1.0, "working"),
        (59.0, 4.0, "working"),
        (400.0, 4.0, "dialog"),
        (30.0, 21.0, "gone"),
        (3.0, 900.0, "working"),
    ],
)
def test_working_waiting_for_a_dialog_and_gone_are_told_apart(
    store: Store, since_claim: float, since_beat: float, state: str
) -> None:
    call = rendezvous.Call("call_1", "s", "r", "ann", "h", "claimed", 0.0, claimed_at=1000.0 - since_claim)

    assert rendezvous.host_state(call, 1000.0 - since_beat, 1000.0) == state
