"""What the store promises, on two implementations that nobody here wrote."""

import contextlib
import random
import threading

import pytest
from drafthand.errors import CallerError, ConditionFailed
from drafthand.session import Run, Session
from drafthand.store import Store
from drafthand.store.table import ABSENT, Delete, In, Put, Update
from drafthand.transcript import Message, Opaque, Text, Thinking, ToolCall

AT = 1_796_000_000.5


def make_session(store: Store, owner: str = "ann", session_id: str = "ses_1", at: float = AT) -> Session:
    facts = {"title": "Doors", "model": "rehearsal", "host_id": None, "created_at": at, "updated_at": at}
    session = Session(id=session_id, owner=owner, **facts)
    store.sessions.create(session)
    return session


def make_run(store: Store, session: Session, run_id: str = "run_1") -> Run:
    facts = {"model": "rehearsal", "host_id": None, "message": "hi", "state": "running", "started_at": AT}
    run = Run(id=run_id, session_id=session.id, owner=session.owner, **facts)
    store.sessions.start_run(store.sessions.get(session.owner, session.id), run, said("hi"))
    return run


def said(text: str) -> Message:
    return Message(role="user", parts=(Text(text=text),))


def test_values_come_back_as_they_were(any_store: Store) -> None:
    item = {"pk": "A", "sk": "1", "n": 3, "f": 0.1, "none": None, "b": b"\x00\xff", "deep": {"list": [1, 2.5, "x"]}}

    any_store.table.write(Put(item))

    assert any_store.table.get("A", "1") == item


def test_a_condition_that_fails_writes_nothing(any_store: Store) -> None:
    any_store.table.write(Put({"pk": "A", "sk": "1", "n": 1}))

    with pytest.raises(ConditionFailed):
        any_store.table.write(Put({"pk": "A", "sk": "1", "n": 2}, expect={"pk": ABSENT}))
    with pytest.raises(ConditionFailed):
        any_store.table.write(Update("A", "1", set={"n": 3}, expect={"n": In(5, 6)}))
    with pytest.raises(ConditionFailed):
        any_store.table.write(Delete("A", "1", expect={"n": 9}))

    assert any_store.table.get("A", "1") == {"pk": "A", "sk": "1", "n": 1}


def test_null_is_a_value_that_can_be_expected(any_store: Store) -> None:
    any_store.table.write(Put({"pk": "A", "sk": "1", "taken": None}))

    any_store.table.write(Update("A", "1", set={"taken": "x"}, expect={"taken": None}))

    with pytest.raises(ConditionFailed):
        any_store.table.write(Update("A", "1", set={"taken": "y"}, expect={"taken": None}))


def test_a_transaction_writes_all_or_nothing(any_store: Store) -> None:
    any_store.table.write(Put({"pk": "A", "sk": "2"}))

    with pytest.raises(ConditionFailed):
        any_store.table.transact(Put({"pk": "A", "sk": "1"}), Put({"pk": "A", "sk": "2"}, expect={"pk": ABSENT}))

    assert any_store.table.get("A", "1") is None


def test_of_many_writers_one_wins(any_store: Store) -> None:
    any_store.table.write(Put({"pk": "A", "sk": "1", "winner": None}))
    won: list[int] = []

    def race(number: int) -> None:
        try:
            any_store.table.write(Update("A", "1", set={"winner": number}, expect={"winner": None}))
        except ConditionFailed:
            return
        won.append(number)

    racers = [threading.Thread(target=race, args=(number,)) for number in range(20)]
    for racer in racers:
        racer.start()
    for racer in racers:
        racer.join()

    item = any_store.table.get("A", "1")
    assert item is not None
    assert won == [item["winner"]]


def test_a_query_goes_on_after_a_key(any_store: Store) -> None:
    for number in (1, 2, 10):
        any_store.table.write(Put({"pk": "R", "sk": f"EVT#{number:06d}"}))
    any_store.table.write(Put({"pk": "R", "sk": "META"}))

    assert [item["sk"] for item in any_store.table.query("R", "EVT#", after="EVT#000001")] == [
        "EVT#000002",
        "EVT#000010",
    ]


def test_a_transcript_returns_byte_for_byte(any_store: Store) -> None:
    session = make_session(any_store)
    opaque = Opaque(vendor="anthropic", model="m", kind="thinking", data="EqQBCg\u2028é\n")
    call = ToolCall(id="call_1", name="execute_data_collection", input={"code": "x = '😀'"}, raw='{"code": "x"}')
    messages = [
        said("Renumber " + "every door " * 500),
        Message(role="assistant", parts=(Thinking(text="hm", opaque=opaque), call), model="m"),
    ]

    for message in messages:
        session = any_store.sessions.append(session, message)

    assert any_store.sessions.messages(any_store.sessions.get("ann", "ses_1")) == messages


def test_of_two_appends_from_one_state_the_second_is_refused(any_store: Store) -> None:
    session = make_session(any_store)
    any_store.sessions.append(session, said("first"))

    with pytest.raises(ConditionFailed):
        any_store.sessions.append(session, said("second"))

    assert any_store.sessions.messages(session) == [said("first")]


def test_a_message_larger_than_an_item_goes_to_the_bucket(any_store: Store) -> None:
    session = make_session(any_store)
    noise = "".join(map(chr, random.Random(7).choices(range(0x4E00, 0x9FFF), k=400_000)))

    any_store.sessions.append(session, said(noise))

    item = any_store.table.get("SESSION#ses_1", "MSG#000001")
    assert item is not None
    assert "body_blob" in item
    assert any_store.sessions.messages(session) == [said(noise)]


def test_a_session_has_one_active_run(any_store: Store) -> None:
    session = make_session(any_store)
    run = make_run(any_store, session, "run_1")

    with pytest.raises(ConditionFailed):
        make_run(any_store, session, "run_2")
    any_store.sessions.end_run(any_store.sessions.get("ann", "ses_1"), run, "complete")
    make_run(any_store, session, "run_2")

    assert [each.id for each in any_store.sessions.runs(session)] == ["run_1", "run_2"]
    assert any_store.sessions.get("ann", "ses_1").active_run == "run_2"


def test_a_run_begins_with_its_message_or_not_at_all(any_store: Store) -> None:
    session = make_session(any_store)
    make_run(any_store, session, "run_1")

    with pytest.raises(ConditionFailed):
        make_run(any_store, session, "run_2")

    current = any_store.sessions.get("ann", "ses_1")
    assert (current.messages, current.active_run) == (1, "run_1")
    assert any_store.sessions.messages(current) == [said("hi")]


def test_whoever_has_lost_the_lease_writes_nothing_more(any_store: Store, monkeypatch: pytest.MonkeyPatch) -> None:
    run = make_run(any_store, make_session(any_store))
    slow = any_store.sessions.get("ann", "ses_1")
    fast = any_store.sessions.take_over(slow)

    for write in (
        lambda: any_store.sessions.append(slow, said("late")),
        lambda: any_store.sessions.update(slow, title="late"),
        lambda: any_store.sessions.renew(slow),
        lambda: any_store.sessions.hand_over(slow, run),
        lambda: any_store.sessions.end_run(slow, run, "error"),
        lambda: any_store.sessions.take_over(slow),
    ):
        with pytest.raises(ConditionFailed):
            write()

    current = any_store.sessions.get("ann", "ses_1")
    assert (current.fence, current.messages, current.title, current.active_run) == (fast.fence, 1, "Doors", "run_1")
    any_store.sessions.renew(fast)


def test_of_many_that_take_over_one_has_the_session(any_store: Store) -> None:
    make_run(any_store, make_session(any_store))
    session = any_store.sessions.get("ann", "ses_1")
    won: list[int] = []

    def take() -> None:
        with contextlib.suppress(ConditionFailed):
            won.append(any_store.sessions.take_over(session).fence)

    takers = [threading.Thread(target=take) for _ in range(6)]
    for each in takers:
        each.start()
    for each in takers:
        each.join()

    assert won == [session.fence + 1]


def test_a_run_that_has_ended_is_not_ended_again(any_store: Store) -> None:
    session = make_session(any_store)
    first = make_run(any_store, session, "run_1")
    held = any_store.sessions.get("ann", "ses_1")
    any_store.sessions.end_run(held, first, "error")
    make_run(any_store, session, "run_2")

    with pytest.raises(ConditionFailed):
        any_store.sessions.end_run(held, first, "complete")

    assert any_store.sessions.get("ann", "ses_1").active_run == "run_2"
    assert any_store.sessions.run("ann", "run_1").state == "error"


def test_what_belongs_to_somebody_else_is_not_found(any_store: Store) -> None:
    session = make_session(any_store, owner="ann")
    run = make_run(any_store, session)
    sha256 = any_store.blobs.put("ann", b"secret", "text/plain")
    script = any_store.scripts.put("ann", "print(1)")
    host_id, _ = any_store.hosts.create("ann")

    for read in (
        lambda: any_store.sessions.get("bob", session.id),
        lambda: any_store.sessions.run("bob", run.id),
        lambda: any_store.hosts.get("bob", host_id),
    ):
        with pytest.raises(CallerError, match="not found") as refused:
            read()
        assert refused.value.status == 404
    assert any_store.blobs.get("bob", sha256) is None
    assert any_store.scripts.get("bob", script) is None
    assert list(any_store.sessions.of_owner("bob")) == []


def test_sessions_are_listed_newest_first(any_store: Store) -> None:
    for number in (1, 2, 3):
        make_session(any_store, session_id=f"ses_{number}", at=AT + number)

    assert [each.id for each in any_store.sessions.of_owner("ann")] == ["ses_3", "ses_2", "ses_1"]


def test_a_blob_is_read_whole_and_in_ranges(any_store: Store) -> None:
    sha256 = any_store.blobs.put("ann", b"0123456789", "text/plain; charset=utf-8")

    assert any_store.blobs.get("ann", sha256) == b"0123456789"
    assert any_store.blobs.get("ann", sha256, 4, 3) == b"456"
    assert any_store.blobs.get("ann", sha256, 8, 100) == b"89"
    assert any_store.blobs.get("ann", sha256, 10, 5) == b""
    info = any_store.blobs.head("ann", sha256)
    assert (info and info.bytes, info and info.media_type) == (10, "text/plain; charset=utf-8")


def test_a_host_token_is_known_by_its_hash_alone(any_store: Store) -> None:
    host_id, token = any_store.hosts.create("ann")

    found = any_store.hosts.by_token(token)

    assert found is not None
    assert (found.id, found.owner) == (host_id, "ann")
    assert token.partition(".")[2] not in str(any_store.table.get(f"HOST#{host_id}", "META"))
    assert any_store.hosts.by_token(token + "x") is None
    assert any_store.hosts.by_token("host_none.secret") is None
    any_store.hosts.create("ann", host_id)
    assert any_store.hosts.by_token(token) is None, "a new token ends the old one"
