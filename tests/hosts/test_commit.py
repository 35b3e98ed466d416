"""Every moment at which a commit can be cut off, as the journal and the file show it afterwards."""

import pytest

from hosts.ifc import commit, document
from hosts.runtime import durable, results
from hosts.runtime.journal import Journal
from tests.hosts.host_support import building_text, command, sha256

NEW = building_text().replace("Door 7", "Gate 7").encode()


@pytest.fixture
def path(tmp_path):
    path = tmp_path / "model.ifc"
    path.write_text(building_text(), encoding="ascii")
    return path


@pytest.fixture
def held(path):
    return document.load(path)


@pytest.fixture
def journal(tmp_path, held):
    made = Journal(tmp_path / "journal")
    made.begin(command("a1", "commit", "pass"), held.state())
    return made


def would_be(held: document.Document) -> dict:
    """The result of a commit that succeeds."""
    result = results.end(results.new({"id": "a1"}, held.state() | {"version": sha256(NEW)}), "committed")
    return result | {"changed": {"added": [], "modified": [7], "deleted": []}}


def prepare(journal: Journal, held: document.Document) -> None:
    record = {"path": str(held.path), "before": held.version, "after": sha256(NEW), "result": would_be(held)}
    journal.prepare("a1", record)


def test_a_commit_replaces_the_file_and_records_its_result(path, held, journal):
    path.chmod(0o640)

    commit.save(held, NEW, sha256(NEW), would_be(held), journal, undoable=True)

    assert path.read_bytes() == NEW
    assert path.stat().st_mode & 0o777 == 0o640
    assert journal.result("a1") == would_be(held)
    assert sorted(each.name for each in path.parent.iterdir()) == ["journal", "model.ifc"]


def test_cut_off_before_anything_was_prepared_nothing_was_committed(path, held, journal):
    durable.stage(str(path), NEW)

    commit.settle(journal)

    result = journal.result("a1")
    assert (result["outcome"], result["error"]["type"], result["document"]) == ("crashed", "Crashed", held.state())
    assert result["script_sha256"] == sha256("pass")


def test_cut_off_between_preparing_and_renaming_nothing_was_committed(path, held, journal):
    prepare(journal, held)

    commit.settle(journal)

    assert journal.result("a1")["outcome"] == "crashed"
    assert path.read_text() == building_text()


def test_cut_off_between_renaming_and_recording_it_was_committed(path, held, journal):
    prepare(journal, held)
    path.write_bytes(NEW)

    commit.settle(journal)

    assert journal.result("a1") == would_be(held)


def test_cut_off_and_then_changed_by_another_program_nobody_knows(path, held, journal):
    prepare(journal, held)
    path.write_bytes(NEW.replace(b"Door 8", b"Gate 8"))

    commit.settle(journal)

    result = journal.result("a1")
    assert (result["outcome"], result["error"]["type"]) == ("unknown", "HostEnded")


def test_cut_off_and_then_deleted_nobody_knows(path, held, journal):
    prepare(journal, held)
    path.unlink()

    commit.settle(journal)

    assert journal.result("a1")["outcome"] == "unknown"


def test_settling_twice_or_after_a_result_changes_nothing(path, held, journal):
    commit.save(held, NEW, sha256(NEW), would_be(held), journal, undoable=True)
    path.write_bytes(b"later")

    commit.settle(journal)

    assert journal.result("a1") == would_be(held)


def test_what_was_printed_before_the_cut_is_in_the_settled_result(held, journal):
    with open(journal.output_path("a1"), "wb") as output:
        output.write(b"so far\n")

    commit.settle(journal)

    assert journal.result("a1")["stdout"] == "so far\n"


def test_leftovers_of_a_killed_save_are_removed_and_nothing_else(path):
    durable.stage(str(path), NEW)
    (path.parent / "model.ifc.bak").write_text("mine")

    commit.remove_leftovers(path)

    assert sorted(each.name for each in path.parent.iterdir()) == ["model.ifc", "model.ifc.bak"]


def test_a_file_that_somebody_changed_is_never_overwritten(path, held, journal):
    theirs = building_text().replace("Door 9", "Theirs").encode()
    path.write_bytes(theirs)

    with pytest.raises(commit.Refused, match="changed on disk by another program"):
        commit.save(held, NEW, sha256(NEW), would_be(held), journal, undoable=True)

    assert path.read_bytes() == theirs
    assert journal.result("a1") is None


def test_a_file_with_entities_that_would_be_lost_is_not_overwritten(path, journal):
    path.write_text(building_text().replace("IFCWALL(", "IFCNONSENSE("), encoding="ascii")
    held = document.load(path)

    with pytest.raises(commit.Refused, match="4 entities"):
        commit.save(held, NEW, sha256(NEW), would_be(held), journal, undoable=True)


def test_a_folder_that_can_not_be_written_leaves_the_file_and_says_so(path, held, journal, monkeypatch):
    def full(*_: object) -> str:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(durable, "stage", full)

    with pytest.raises(commit.NotSaved, match="No space left"):
        commit.save(held, NEW, sha256(NEW), would_be(held), journal, undoable=True)
    assert path.read_text() == building_text()


def test_the_last_commit_can_be_undone_to_the_byte_and_only_the_last(path, held, journal):
    commit.save(held, NEW, sha256(NEW), would_be(held), journal, undoable=True)
    held.moved_on(NEW.decode(), sha256(NEW))

    assert commit.undo_bytes(held, journal) == building_text().encode()
    held.moved_on("", "something later")
    with pytest.raises(commit.Refused, match="moved on"):
        commit.undo_bytes(held, journal)


def test_without_a_commit_there_is_nothing_to_undo(held, journal):
    with pytest.raises(commit.Refused, match="nothing to undo"):
        commit.undo_bytes(held, journal)
