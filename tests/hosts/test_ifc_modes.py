"""What each mode does with the document, what is refused, and what report and picture add."""

import threading
from pathlib import Path

import ifcopenshell
import pytest
from drafthand.commands import HostResult

from tests.hosts.host_support import bench, building_text, epilogue, sha256

RENAME = "doors = model.by_type('IfcDoor')\nfor door in doors[:3]: door.Name = {0!r}"
VIEW = {"kind": "3d", "storey": None, "highlight": "changed", "width": 320, "height": 240, "when": "always"}
REPORT = """
first = changed["modified"][0]
report = {"names": [before().by_id(first).Name, model.by_id(first).Name], "entities": entities, "changed": changed}
"""
NOTHING = {"added": [], "modified": [], "deleted": []}


@pytest.fixture(scope="module")
def host(tmp_path_factory):
    with bench(tmp_path_factory.mktemp("modes")) as made:
        yield made


@pytest.fixture
def fresh(tmp_path):
    with bench(tmp_path) as made:
        yield made


def door_ids(count: int) -> list[int]:
    return [door.id() for door in ifcopenshell.file.from_string(building_text()).by_type("IfcDoor")[:count]]


def test_a_commit_is_on_disk_in_memory_and_in_the_result(fresh):
    before = fresh.host.document()

    result = fresh.run("commit", RENAME.format("new"))

    assert (result["outcome"], result["error"], result["notes"]) == ("committed", None, [])
    assert result["changed"] == NOTHING | {"modified": door_ids(3)}
    assert result["script_sha256"] == sha256(RENAME.format("new"))
    assert fresh.fingerprint() == (result["document"]["version"],) * 2
    assert result["document"] == fresh.host.document() == before | {"version": result["document"]["version"]}
    assert fresh.read("print(model.by_type('IfcDoor')[0].Name)") == "new\n"


def test_commits_follow_one_another_and_each_sees_the_last(host):
    door = "door = model.by_type('IfcDoor')[50]\n"
    for number in range(5):
        result = host.run("commit", f"{door}print(door.Name)\ndoor.Name = '{number}'")
        assert result["stdout"] == ("Door 50\n" if number == 0 else f"{number - 1}\n")

    assert ifcopenshell.open(host.path).by_type("IfcDoor")[50].Name == "4"


def test_without_fork_a_commit_and_its_report_are_the_same(tmp_path):
    with bench(tmp_path, "snapshot") as host:
        result = host.run("commit", RENAME.format("new"), epilogue=epilogue(REPORT))

        assert (result["outcome"], result["changed"]["modified"]) == ("committed", door_ids(3))
        assert result["report"]["names"] == ["Door 0", "new"]
        assert host.fingerprint() == (result["document"]["version"],) * 2


def test_a_commit_that_changes_nothing_leaves_the_file_alone(host):
    before = host.path.stat()

    result = host.run("commit", "print(len(model.by_type('IfcDoor')))")

    assert (result["outcome"], result["changed"]) == ("committed", NOTHING)
    assert host.path.stat().st_mtime_ns == before.st_mtime_ns


def test_a_preview_tells_what_would_change_and_changes_nothing(host):
    before = host.fingerprint()

    result = host.run("preview", RENAME.format("new"))

    assert (result["outcome"], result["changed"]["modified"]) == ("previewed", door_ids(3))
    assert host.fingerprint() == before


def test_a_read_that_edits_is_undone_and_told_so(host):
    result = host.run("read", RENAME.format("new"))

    assert (result["outcome"], result["changed"]) == ("rolled_back", NOTHING)
    assert result["notes"] == ["The script changed the document although it was only to read; that was undone."]
    assert host.run("read", "pass")["notes"] == []


def test_the_namespace_is_the_model_and_the_library(host):
    names = host.read("print(sorted(n for n in globals() if not n.startswith('__')), __name__)")

    assert names == "['ifcopenshell', 'model'] __main__\n"


def test_a_committed_script_leaves_its_folder_environment_and_threads_behind(fresh):
    look = "import os, threading; print(os.getcwd(), os.environ.get('HELLO'), threading.active_count())"
    before = fresh.read(look)
    script = "import os, threading\nos.chdir('/'); os.environ['HELLO'] = '1'\nmodel.by_type('IfcDoor')[0].Name = 'new'"

    assert fresh.run("commit", script)["outcome"] == "committed"
    assert fresh.read(look) == before
    threaded = script.replace("'new'", "'newer'") + "\nthreading.Thread(target=threading.Event().wait).start()"
    assert fresh.run("commit", threaded)["outcome"] == "committed"
    assert fresh.read(look) == before
    assert fresh.read("print(model.by_type('IfcDoor')[0].Name)") == "newer\n"


def test_a_transaction_that_a_committed_script_left_open_is_closed(host):
    host.run("commit", f"model.begin_transaction()\n{RENAME.format('in a transaction')}")

    assert host.read("print(model.transaction, model.history, model.by_type('IfcDoor')[0].Name)") == (
        "None [] in a transaction\n"
    )


def test_an_undo_brings_the_file_back_to_the_byte_once(tmp_path):
    original = building_text().replace("\n#7=", "\n\n/* kept as it was */\n#7=")
    with bench(tmp_path, text=original) as host:
        too_early = host.run("undo")
        done = host.run("commit", RENAME.format("first"))
        undone = host.run("undo")
        brought_back = host.path.read_text()
        twice = host.run("undo")
        host.run("commit", RENAME.format("second"))
        host.run("commit", RENAME.format("third"))
        host.run("undo")

        assert (undone["outcome"], undone["changed"]) == ("committed", done["changed"])
        assert brought_back == original
        assert (too_early["outcome"], twice["outcome"]) == ("refused", "refused")
        assert twice["error"]["message"] == "There is nothing to undo: the last change was undone already."
        assert host.read("print(model.by_type('IfcDoor')[0].Name)") == "second\n"


@pytest.mark.parametrize(
    ("changes", "why"),
    [
        ({"document": {"id": "another"}}, "Another document is open here: model.ifc"),
        ({"script_sha256": "0" * 64}, "changed on the way"),
        ({"script": None, "script_sha256": None}, "without a script"),
        ({"mode": "dance"}, "no mode 'dance'"),
    ],
)
def test_a_command_for_something_else_is_refused_and_not_run(host, changes, why, tmp_path):
    trace = tmp_path / "ran"

    result = host.run(**({"mode": "commit", "script": f"open({str(trace)!r}, 'w')"} | changes))

    assert result["outcome"] == "refused"
    assert why in result["error"]["message"]
    assert not trace.exists()


def test_a_pinned_version_must_be_the_one_that_is_open(host):
    current = host.host.document()

    stale = host.run("commit", "pass", document={"id": current["id"], "version": "0" * 64})
    fitting = host.run("commit", "pass", document={"id": current["id"], "version": current["version"]})

    assert (stale["outcome"], fitting["outcome"]) == ("refused", "committed")


def test_a_file_that_somebody_changed_is_read_again_and_a_commit_for_its_old_state_refused(fresh):
    theirs = building_text().replace("Door 0", "Theirs")
    fresh.path.write_text(theirs, encoding="ascii")

    refused = fresh.run("commit", RENAME.format("ours"))
    reading = fresh.run("read", "print(model.by_type('IfcDoor')[0].Name)")
    fresh.path.write_text(theirs.replace("Theirs", "Again"), encoding="ascii")
    later = fresh.run("read", "print(model.by_type('IfcDoor')[0].Name)")
    committed = fresh.run("commit", RENAME.format("ours"))

    assert (refused["outcome"], refused["document"]["version"]) == ("refused", sha256(theirs))
    assert (reading["stdout"], reading["notes"]) == ("Theirs\n", [])
    assert later["stdout"] == "Again\n"
    assert "read again" in later["notes"][0]
    assert committed["outcome"] == "committed"


def test_a_file_that_somebody_changes_while_the_script_runs_is_not_overwritten(fresh):
    theirs = building_text().replace("Door 0", "Theirs")
    script = f"{RENAME.format('ours')}\nopen({str(fresh.path)!r}, 'w').write({theirs!r})"

    result = fresh.run("commit", script)

    assert (result["outcome"], result["changed"]) == ("refused", NOTHING)
    assert "another program" in result["error"]["message"]
    assert fresh.path.read_text() == theirs
    assert fresh.read("print(model.by_type('IfcDoor')[0].Name)") == "Theirs\n"


def test_a_file_that_has_become_unreadable_is_said_and_a_repaired_one_taken_up_again(fresh):
    fresh.path.write_text("not an IFC file")

    broken = fresh.run("read", "pass")
    fresh.path.write_text(building_text(), encoding="ascii")
    repaired = fresh.run("read", "pass")

    assert (broken["outcome"], broken["error"]["type"]) == ("refused", "Unusable")
    assert "isn't an IFC file" in broken["error"]["message"]
    assert repaired["outcome"] == "rolled_back"


def test_a_cancelled_command_is_undone_and_the_next_one_runs(host, tmp_path):
    running = tmp_path / "running"
    script = f"{RENAME.format('new')}\nopen({str(running)!r}, 'w').close()\nwhile True: pass"
    before = host.fingerprint()

    def cancel() -> None:
        while not running.exists():
            threading.Event().wait(0.01)
        host.host.cancel(f"c{host.count}")

    thread = threading.Thread(target=cancel)
    thread.start()
    result = host.run("commit", script)
    thread.join()

    assert (result["outcome"], result["error"]["type"]) == ("rolled_back", "Cancelled")
    assert host.fingerprint() == before


def test_the_report_sees_before_and_after(host):
    before = host.read("print(model.by_type('IfcDoor')[0].Name)").strip()

    result = host.run("preview", RENAME.format("reported"), epilogue=epilogue(REPORT))

    assert result["report"]["names"] == [before, "reported"]
    assert result["report"]["entities"] == {"added": 0, "modified": 3, "deleted": 0}
    assert result["report"]["changed"] == result["changed"]


@pytest.mark.parametrize(
    ("code", "why"),
    [
        ("\n1 / 0", "line 2: ZeroDivisionError: division by zero"),
        ("import os; os.abort()", "signal SIGABRT"),
        ("pass", "no dict named report"),
        ("report = {'n': float('nan')}", "ValueError"),
        ("import sys; sys.exit()", "SystemExit"),
    ],
)
def test_a_report_that_fails_is_a_note_and_the_commit_stands(host, code, why):
    name = sha256(code)[:8]

    result = host.run("commit", RENAME.format(name), epilogue=epilogue(code))

    assert (result["outcome"], result["report"]) == ("committed", None)
    assert why in result["notes"][0]
    assert host.read("print(model.by_type('IfcDoor')[0].Name)") == f"{name}\n"


def test_a_report_that_was_changed_on_the_way_is_not_run(host, tmp_path):
    wrong = epilogue(f"open({str(tmp_path / 'ran')!r}, 'w'); report = {{}}") | {"sha256": "0" * 64}

    assert "sha256" in host.run("preview", RENAME.format("new"), epilogue=wrong)["notes"][0]
    assert not (tmp_path / "ran").exists()


def test_what_a_report_edits_is_not_saved(host):
    code = "model.by_type('IfcDoor')[9].Name = 'by the report'\nreport = {}"

    result = host.run("commit", RENAME.format("saved"), epilogue=epilogue(code))

    assert (result["outcome"], result["report"]) == ("committed", {})
    assert "by the report" not in host.path.read_text()
    assert host.read("print(model.by_type('IfcDoor')[9].Name)") == "Door 9\n"


def test_a_large_report_travels_beside_the_result(host):
    result = host.run("preview", RENAME.format("new"), epilogue=epilogue("report = {'text': 'x' * 200_000}"))

    assert result["report"]["media_type"] == "application/json"
    assert len(host.journal.stored(result["id"], result["report"]["sha256"])) == result["report"]["bytes"] > 200_000


def test_pictures_come_with_a_view_and_by_geometry_only_when_it_changed(host):
    wanted = {"view": VIEW | {"when": "geometry"}}

    looked = host.run("view", view=VIEW)
    renamed = host.run("preview", RENAME.format("new"), **wanted)
    moved = host.run("preview", "model.remove(model.by_type('IfcWall')[1].Representation)", **wanted)

    assert (looked["outcome"], looked["images"][0]["width"], looked["images"][0]["height"]) == ("rolled_back", 320, 240)
    assert looked["images"][0]["view"] == {"kind": "3d", "storey": None}
    assert renamed["images"] == []
    assert len(moved["images"]) == 1
    png = host.journal.stored(moved["id"], moved["images"][0]["sha256"])
    assert png[:8] == b"\x89PNG\r\n\x1a\n"


def test_a_picture_that_fails_is_a_note(host):
    result = host.run("preview", RENAME.format("new"), view=VIEW | {"kind": "plan", "storey": "Level 77"})

    assert (result["outcome"], result["images"]) == ("previewed", [])
    assert result["notes"][0].startswith("The picture failed: ValueError")


@pytest.mark.parametrize("script", ["model.remove(model.by_type('IfcDoor')[20])", "1 / 0", "import os; os._exit(1)"])
def test_every_result_is_what_the_server_takes(host, script):
    result = host.run("preview", script, view=VIEW, epilogue=epilogue("report = {'n': 1}"))

    taken = HostResult.model_validate(result, extra="forbid")

    assert taken.model_dump(mode="json") == result


def test_scripts_see_none_of_the_hosts_secrets(tmp_path, monkeypatch):
    monkeypatch.setenv("DRAFTHAND_HOST_TOKEN", "secret-1")
    monkeypatch.setenv("ANTHROPIC_API_KEY", "secret-2")
    monkeypatch.setenv("AWS_SECRET_ACCESS_KEY", "secret-3")
    monkeypatch.setenv("HARMLESS", "shown")

    with bench(tmp_path) as host:
        shown = host.read("import os; print(dict(os.environ))")

    assert "secret-" not in shown
    assert "'HARMLESS': 'shown'" in shown


def test_the_sample_building_can_be_worked_on(tmp_path):
    from hosts.ifc.sample import build_sample

    text = build_sample(tmp_path / "sample.ifc").to_string()
    with bench(tmp_path, text=text) as host:
        result = host.run("commit", "model.by_type('IfcDoor')[0].Tag = 'D-1'", view=VIEW)

    assert (result["outcome"], len(result["changed"]["modified"]), len(result["images"])) == ("committed", 1, 1)
    assert Path(tmp_path / "model.ifc").read_text() != text


def test_a_script_that_writes_over_the_file_itself_is_told_of(fresh):
    script = f"model.by_type('IfcDoor')[0].Name = 'own'\nmodel.write({str(fresh.path)!r})\nraise ValueError('no')"

    result = fresh.run("commit", script)

    assert result["outcome"] == "failed"
    assert any("That is not undone" in note for note in result["notes"])
