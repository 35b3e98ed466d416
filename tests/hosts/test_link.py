import contextlib
import queue
import socket
import threading
from collections.abc import Iterator

import pytest

from hosts.runtime import outbox, results
from hosts.runtime.journal import Journal
from hosts.runtime.link import Link
from hosts.runtime.outbox import Outbox, Unauthorized, backoff
from hosts.runtime.transport import Transport, TransportError
from tests.hosts.host_support import TOKEN, FakeCloud, command, fake_cloud, sha256

SOON_S = 20.0  # far beyond what any of this takes; only a fault waits so long


class PlainHost:
    """A host that does what a test tells it to."""

    def __init__(self) -> None:
        self.ran: list[str] = []
        self.cancelled = threading.Event()
        self.work = lambda result: results.end(result, "rolled_back")

    def document(self) -> dict:
        return {"id": "d1", "title": "t.ifc", "version": "v1"}

    def application(self) -> dict:
        return {"name": "plain", "version": "1"}

    def run(self, order: dict) -> dict:
        self.ran.append(order["id"])
        return self.work(results.new(order, self.document()))

    def cancel(self, command_id: str) -> None:
        self.cancelled.set()


@pytest.fixture
def cloud() -> Iterator[FakeCloud]:
    with fake_cloud() as made:
        yield made


@pytest.fixture
def journal(tmp_path) -> Journal:
    return Journal(tmp_path)


@pytest.fixture
def host() -> PlainHost:
    return PlainHost()


@contextlib.contextmanager
def linked(host: PlainHost, journal: Journal, cloud: FakeCloud) -> Iterator[list[str]]:
    """A link at work in a thread; yields what it logs and that it connected."""
    said: list[str] = []
    link = Link(host, journal, Transport(cloud.url, TOKEN), said.append, lambda: said.append("connected"))
    thread = threading.Thread(target=link.run)
    thread.start()
    try:
        yield said
    finally:
        link.stop()
        thread.join(SOON_S)
        assert not thread.is_alive()


def test_a_command_is_run_and_its_result_brought_back(cloud, journal, host):
    cloud.commands.put(command("a1"))

    with linked(host, journal, cloud) as said:
        result = cloud.results.get(timeout=SOON_S)

    assert result["path"] == "/api/runs/run_1/calls/a1/result"
    assert (result["outcome"], result["document"]["id"]) == ("rolled_back", "d1")
    assert said[0] == "connected"
    assert cloud.polls.get()["application"] == {"name": "plain", "version": "1"}


def test_a_redelivered_command_is_answered_from_the_journal_and_not_run_again(cloud, journal, host):
    for _ in range(3):
        cloud.commands.put(command("a1"))

    with linked(host, journal, cloud):
        answers = [cloud.results.get(timeout=SOON_S) for _ in range(3)]

    assert host.ran == ["a1"]
    assert answers[0] == answers[1] == answers[2]


def test_a_result_is_sent_until_the_server_takes_it(cloud, journal, host, monkeypatch):
    monkeypatch.setattr(outbox, "LONGEST_PAUSE_S", 0.01)
    statuses = iter([500, 503, 429])
    cloud.on_result = lambda _: next(statuses, 202)
    cloud.commands.put(command("a1"))

    with linked(host, journal, cloud):
        posts = [cloud.results.get(timeout=SOON_S) for _ in range(4)]
        cloud.commands.put(command("a2"))
        assert cloud.results.get(timeout=SOON_S)["id"] == "a2"

    assert {post["id"] for post in posts} == {"a1"}
    assert host.ran == ["a1", "a2"]
    assert journal.undelivered() == []


@pytest.mark.parametrize("status", [404, 409, 413])
def test_a_result_that_is_refused_is_told_and_not_sent_again(cloud, journal, host, status):
    cloud.on_result = lambda _: status
    cloud.commands.put(command("a1"))
    cloud.commands.put(command("a2"))

    with linked(host, journal, cloud) as said:
        ids = [cloud.results.get(timeout=SOON_S)["id"] for _ in range(2)]

    assert ids == ["a1", "a2"]
    assert f"The server answered {status} to the result of a1; it isn't sent again." in said


def test_large_output_and_pictures_are_uploaded_first_without_our_token(cloud, journal, host):
    stdout = "é" * 40_000
    host.work = lambda result: (
        results.end(result, "rolled_back")
        | {
            "stdout": stdout,
            "images": [{"png": b"\x89PNG!", "width": 4, "height": 3, "view": {"kind": "3d", "storey": None}}],
        }
    )
    cloud.commands.put(command("a1"))

    with linked(host, journal, cloud):
        result = cloud.results.get(timeout=SOON_S)

    blob = {"sha256": sha256(stdout), "bytes": 80_000, "media_type": "text/plain; charset=utf-8"}
    assert result["stdout"] == blob
    assert cloud.blobs[blob["sha256"]].decode() == stdout
    assert cloud.blobs[result["images"][0]["sha256"]] == b"\x89PNG!"
    assert all("Authorization" not in headers and headers["X-Needed"] == "yes" for headers in cloud.put_headers)


def test_output_of_exactly_64_kib_stays_in_the_result(cloud, journal, host):
    host.work = lambda result: results.end(result, "rolled_back") | {"stdout": "x" * 65_536}
    cloud.commands.put(command("a1"))

    with linked(host, journal, cloud):
        assert cloud.results.get(timeout=SOON_S)["stdout"] == "x" * 65_536


def test_bytes_that_the_store_has_already_are_not_sent(cloud, journal, host):
    cloud.blobs[sha256("x" * 70_000)] = b"kept"
    host.work = lambda result: results.end(result, "rolled_back") | {"stdout": "x" * 70_000}
    cloud.commands.put(command("a1"))

    with linked(host, journal, cloud):
        cloud.results.get(timeout=SOON_S)

    assert cloud.put_headers == []


def test_an_upload_that_is_refused_is_left_out_and_said_in_the_result(cloud, journal, host):
    cloud.on_upload = lambda _: 413
    host.work = lambda result: (
        results.end(result, "committed")
        | {"images": [{"png": b"\x89PNG!", "width": 4, "height": 3, "view": {"kind": "3d", "storey": None}}]}
    )
    cloud.commands.put(command("a1"))

    with linked(host, journal, cloud):
        result = cloud.results.get(timeout=SOON_S)

    assert (result["outcome"], result["images"]) == ("committed", [])
    assert result["notes"] == ["5 bytes of image/png couldn't be uploaded: the server answered 413."]


def test_while_a_command_runs_heartbeats_say_so_and_a_cancel_reaches_the_host(cloud, journal, host):
    def work(result: dict) -> dict:
        assert host.cancelled.wait(SOON_S)
        return results.end(result, "rolled_back", "Cancelled", "stopped")

    host.work = work
    cloud.cancelled.add("a1")
    cloud.commands.put(command("a1"))

    with linked(host, journal, cloud):
        result = cloud.results.get(timeout=SOON_S)

    beats = [beat for beat in drained(cloud.polls) if beat["busy_since"] is not None]
    assert result["error"]["type"] == "Cancelled"
    assert beats
    assert {beat["command_id"] for beat in beats} == {"a1"}


def test_a_host_that_raises_answers_that_it_does_not_know(cloud, journal, host):
    def work(_: dict) -> dict:
        raise RuntimeError("the application is gone")

    host.work = work
    cloud.commands.put(command("a1"))

    with linked(host, journal, cloud):
        result = cloud.results.get(timeout=SOON_S)

    assert (result["outcome"], result["error"]["type"]) == ("unknown", "RuntimeError")
    assert "the application is gone" in result["error"]["message"]


@pytest.mark.parametrize("status", [401, 403])
def test_a_refused_token_ends_the_link(cloud, journal, host, status):
    cloud.on_poll = lambda _: status
    link = Link(host, journal, Transport(cloud.url, TOKEN), print, print)

    with pytest.raises(Unauthorized, match=str(status)):
        link.run()


def test_a_token_that_is_refused_while_a_result_waits_keeps_the_result(cloud, journal, host):
    cloud.on_result = lambda _: 401
    cloud.commands.put(command("a1"))
    link = Link(host, journal, Transport(cloud.url, TOKEN), print, print)

    with pytest.raises(Unauthorized):
        link.run()

    assert journal.undelivered() == ["a1"]


def test_what_an_earlier_process_left_is_answered_before_anything_else(cloud, journal, host):
    for name in ("done", "cut_off"):
        journal.begin(command(name), host.document())
    journal.finish("done", results.end(results.new({"id": "done"}, host.document()), "committed"))
    cloud.commands.put(command("a1"))

    with linked(host, journal, cloud):
        answers = [cloud.results.get(timeout=SOON_S) for _ in range(3)]

    assert [(each["id"], each["outcome"]) for each in answers] == [
        ("done", "committed"),
        ("cut_off", "unknown"),
        ("a1", "rolled_back"),
    ]
    assert host.ran == ["a1"]


def test_a_server_that_is_not_there_is_tried_again(journal, host, monkeypatch):
    monkeypatch.setattr(outbox, "LONGEST_PAUSE_S", 0.01)
    with socket.create_server(("127.0.0.1", 0)) as listener:
        port = listener.getsockname()[1]
    said: queue.Queue[str] = queue.Queue()
    link = Link(host, journal, Transport(f"http://127.0.0.1:{port}", TOKEN), said.put, print)
    thread = threading.Thread(target=link.run)
    thread.start()

    lines = [said.get(timeout=SOON_S) for _ in range(3)]
    link.stop()
    thread.join(SOON_S)

    assert all("No answer from" in line for line in lines)
    assert not thread.is_alive()


def test_a_command_with_an_impossible_id_is_ignored_and_told(cloud, journal, host, monkeypatch):
    monkeypatch.setattr("hosts.runtime.link.PAUSE_AFTER_NONSENSE_S", 0.0)
    cloud.commands.put(command("../../etc"))
    cloud.commands.put(command("a1"))

    with linked(host, journal, cloud) as said:
        assert cloud.results.get(timeout=SOON_S)["id"] == "a1"

    assert host.ran == ["a1"]
    assert any("not a command id" in line for line in said)


@pytest.mark.parametrize("url", ["http://example.com", "ftp://127.0.0.1", "127.0.0.1:8787", "http://10.0.0.1:80"])
def test_a_token_never_crosses_a_network_in_the_clear(url):
    with pytest.raises(ValueError, match="https://"):
        Transport(url, TOKEN)


def test_a_broken_answer_is_no_answer():
    with socket.create_server(("127.0.0.1", 0)) as listener:
        transport = Transport(f"http://127.0.0.1:{listener.getsockname()[1]}", TOKEN)
        listener.listen()

        def serve() -> None:
            connection, _ = listener.accept()
            received = b""
            while not received.endswith(b"{}"):  # what is left unread would make the close a reset
                received += connection.recv(65536)
            connection.sendall(b"HTTP/1.1 200 OK\r\nContent-Length: 100\r\n\r\n{")
            connection.close()

        thread = threading.Thread(target=serve)
        thread.start()
        with pytest.raises(TransportError, match="IncompleteRead"):
            transport.post("/api/hosts/poll", {}, 10)
        thread.join()


def test_pauses_grow_to_half_a_minute_and_differ():
    first, later = {backoff(1) for _ in range(50)}, {backoff(20) for _ in range(50)}

    assert max(first) < 1 < 15 <= min(later)
    assert max(later) <= 45
    assert len(first) > 1


def test_a_stopped_outbox_leaves_the_result_for_the_next_start(cloud, journal, host):
    cloud.on_result = lambda _: 500
    journal.begin(command("a1"), host.document())
    journal.finish("a1", results.end(results.new({"id": "a1"}, host.document()), "committed"))
    stopped = Outbox(journal, Transport(cloud.url, TOKEN), lambda _: True, print)

    with pytest.raises(outbox.Stopped):
        stopped.deliver("a1")

    assert journal.undelivered() == ["a1"]


def drained(source: queue.Queue) -> list:
    found = []
    with contextlib.suppress(queue.Empty):
        while True:
            found.append(source.get_nowait())
    return found
