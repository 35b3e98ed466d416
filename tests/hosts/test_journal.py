import json
import os
import tempfile

import pytest
from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import Bundle, RuleBasedStateMachine, initialize, invariant, rule

from hosts.runtime import durable
from hosts.runtime.journal import Journal
from tests.hosts.host_support import command, sha256

DOCUMENT = {"id": "d", "title": "t.ifc", "version": "v"}


@pytest.fixture
def journal(tmp_path):
    return Journal(tmp_path)


def test_a_command_that_was_begun_is_known_to_the_next_process_and_its_script_is_not_kept(journal, tmp_path):
    journal.begin(command("a1", "commit", "print(1)"), DOCUMENT)

    record = Journal(tmp_path).started("a1")

    assert (record["run"], record["mode"], record["open"]) == ("run_1", "commit", DOCUMENT)
    assert "script" not in record


def test_a_command_is_begun_only_once(journal):
    journal.begin(command("a1"), DOCUMENT)

    with pytest.raises(ValueError, match="begun before"):
        journal.begin(command("a1"), DOCUMENT)


@pytest.mark.parametrize("command_id", ["", "../up", "A", "a b", "a" * 41, "a/b", "é"])
def test_an_id_that_could_be_a_path_is_refused(journal, command_id):
    with pytest.raises(ValueError, match="not a command id"):
        journal.begin(command(command_id), DOCUMENT)


def test_the_first_result_that_was_recorded_counts(journal):
    journal.begin(command("a1"), DOCUMENT)

    assert journal.finish("a1", {"outcome": "committed"}) == {"outcome": "committed"}
    assert journal.finish("a1", {"outcome": "crashed"}) == {"outcome": "committed"}
    assert journal.result("a1") == {"outcome": "committed"}


def test_a_folder_whose_start_was_never_recorded_is_no_command(journal):
    # The process was killed between making the folder and writing into it: nothing has run.
    os.mkdir(os.path.join(journal.folder, "commands", "a1"))

    assert journal.unsettled() == []
    journal.begin(command("a1"), DOCUMENT)
    assert journal.unsettled() == ["a1"]


def test_half_a_file_is_never_read(journal):
    journal.begin(command("a1"), DOCUMENT)
    final = os.path.join(journal.folder, "commands", "a1", "final.json")
    durable.stage(final, b'{"outcome": "comm')

    assert journal.result("a1") is None


def test_delivered_commands_are_forgotten_oldest_first_and_undelivered_ones_never(tmp_path):
    journal = Journal(tmp_path, keep=3)
    for number in range(6):
        journal.begin(command(f"c{number}"), DOCUMENT)
        journal.finish(f"c{number}", {"outcome": "rolled_back"})
    for number in (1, 2, 3, 4, 5):
        journal.deliver(f"c{number}")

    assert journal.undelivered() == ["c0"]
    assert sorted(os.listdir(tmp_path / "commands")) == ["c0", "c3", "c4", "c5"]


def test_stored_bytes_come_back_under_their_hash(journal):
    journal.begin(command("a1"), DOCUMENT)
    data = bytes(range(256)) * 100

    blob = journal.store("a1", data, "image/png")

    assert blob == {"sha256": sha256(data), "bytes": 25600, "media_type": "image/png"}
    assert journal.stored("a1", blob["sha256"]) == data


def test_a_failed_write_leaves_the_old_file_and_no_other(tmp_path):
    target = tmp_path / "model.ifc"
    target.write_bytes(b"old")

    with pytest.raises(TypeError):
        durable.write(str(target), "text is not bytes")

    assert target.read_bytes() == b"old"


class JournalLife(RuleBasedStateMachine):
    """Any order of begin, prepare, finish, deliver and restart gives what a plain dict of states would."""

    ids = Bundle("ids")

    @initialize()
    def start(self):
        self.folder = tempfile.TemporaryDirectory()
        self.journal = Journal(self.folder.name)
        self.begun, self.results, self.delivered = [], {}, set()

    @rule(target=ids, number=st.integers(0, 30))
    def begin(self, number):
        name = f"c{number}"
        if name not in self.begun:
            self.journal.begin(command(name), DOCUMENT)
            self.begun.append(name)
        return name

    @rule(name=ids)
    def prepare(self, name):
        self.journal.prepare(name, {"after": name})

    @rule(name=ids, outcome=st.sampled_from(["committed", "failed"]))
    def finish(self, name, outcome):
        self.results.setdefault(name, {"outcome": outcome})
        assert self.journal.finish(name, {"outcome": outcome}) == self.results[name]

    @rule(name=ids)
    def deliver(self, name):
        if name in self.results:
            self.journal.deliver(name)
            self.delivered.add(name)

    @rule()
    def restart(self):
        self.journal = Journal(self.folder.name)

    @invariant()
    def tells_the_same(self):
        if not hasattr(self, "journal"):
            return
        assert self.journal.unsettled() == [name for name in self.begun if name not in self.results]
        open_results = [name for name in self.begun if name in self.results and name not in self.delivered]
        assert self.journal.undelivered() == open_results

    def teardown(self):
        if hasattr(self, "folder"):
            self.folder.cleanup()


JournalLife.TestCase.settings = settings(max_examples=12, stateful_step_count=15, deadline=None)
TestJournalLife = JournalLife.TestCase


def test_records_are_plain_ascii_json(journal, tmp_path):
    journal.begin(command("a1"), {**DOCUMENT, "title": "Größe.ifc"})

    raw = (tmp_path / "commands" / "a1" / "started.json").read_bytes()

    assert raw.isascii()
    assert json.loads(raw)["open"]["title"] == "Größe.ifc"
