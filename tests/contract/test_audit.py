"""The audit line of a call, through every end that a call may have, on two implementations of the store."""

from typing import Any

import pytest
from drafthand import rendezvous
from drafthand.commands import Changed, Command, DocumentState, Epilogue, HostResult, ScriptError
from drafthand.ids import sha256_hex
from drafthand.store import Store
from drafthand.store.hosts import Host

from tests.contract.test_rendezvous import make_host
from tests.contract.test_store import make_run, make_session

SCRIPT, REPORT = "print(1)\n", "report = {}\n"
BEFORE = {"id": "d", "title": "house.ifc", "version": "1"}
AFTER = DocumentState(id="d", title="house.ifc", version="2")


def dispatched(store: Store) -> tuple[Host, Command, rendezvous.Call]:
    session = make_session(store)
    run = make_run(store, session)
    made = make_host(store)
    store.hosts.seen(made, application={"name": "ifc", "version": "0.9"}, document=BEFORE)
    host = store.hosts.get("ann", made.id)
    command = Command(
        id="call_1",
        run=run.id,
        session=session.id,
        mode="commit",
        script=SCRIPT,
        script_sha256=sha256_hex(SCRIPT.encode()),
        epilogue=Epilogue(host="ifc", version="7", code=REPORT, sha256=sha256_hex(REPORT.encode())),
    )
    return host, command, rendezvous.dispatch(store, command, host)


def answer(**facts: Any) -> HostResult:
    committed = {"outcome": "committed", "changed": Changed(modified=[4, 7]), "document": AFTER, "seconds": 1.5}
    return HostResult(id="call_1", script_sha256=sha256_hex(SCRIPT.encode()), **(committed | facts))


def line(store: Store, command: Command) -> dict[str, Any]:
    (found,) = store.sessions.audit(store.sessions.get("ann", command.session))
    return found


def test_a_dispatched_command_has_a_line_before_anybody_answers(any_store: Store) -> None:
    host, command, call = dispatched(any_store)

    found = line(any_store, command)

    assert found["dispatched_at"] == call.created_at
    named = ("owner", "session", "run", "call", "mode", "host", "application", "document_before", "outcome")
    expected = ("ann", command.session, command.run, "call_1", "commit", host.id, host.application, BEFORE, None)
    assert tuple(found[name] for name in named) == expected
    assert found["script_sha256"] == sha256_hex(SCRIPT.encode())
    assert found["epilogue_sha256"] == sha256_hex(REPORT.encode())
    assert found["capability_version"] is not None


def test_an_answer_completes_the_line_with_what_was_really_run(any_store: Store) -> None:
    host, command, _ = dispatched(any_store)

    rendezvous.answer(any_store, host, command.run, answer())

    found = line(any_store, command)
    assert (found["outcome"], found["late"], found["seconds"]) == ("committed", False, 1.5)
    assert found["ran_sha256"] == found["script_sha256"]
    assert found["document_after"] == AFTER.model_dump()
    assert found["changed"] == {"added": 0, "modified": 2, "deleted": 0}
    assert found["ended_at"] >= found["dispatched_at"]


def test_a_failure_names_its_error(any_store: Store) -> None:
    host, command, _ = dispatched(any_store)

    error = ScriptError(type="TypeError", message="no", line=1)
    rendezvous.answer(any_store, host, command.run, answer(outcome="failed", changed=Changed(), error=error))

    found = line(any_store, command)
    assert (found["outcome"], found["error"]) == ("failed", "TypeError")


@pytest.mark.parametrize("status", ["cancelled", "expired"])
def test_a_wait_that_ended_says_so_until_a_late_answer_tells_more(any_store: Store, status: Any) -> None:
    host, command, call = dispatched(any_store)

    rendezvous.end(any_store, call, status)
    assert line(any_store, command)["outcome"] == status
    rendezvous.answer(any_store, host, command.run, answer())

    found = line(any_store, command)
    assert (found["outcome"], found["late"]) == ("committed", True)


def test_the_same_answer_again_leaves_the_line_alone(any_store: Store) -> None:
    host, command, _ = dispatched(any_store)
    rendezvous.answer(any_store, host, command.run, answer())
    first = line(any_store, command)

    rendezvous.answer(any_store, host, command.run, answer())

    assert line(any_store, command) == first
