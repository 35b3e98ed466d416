"""The main job, end to end: a person asks, the model works, the file holds what was asked and nothing else."""

import hashlib
import json
import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest
from PIL import Image

from tests.flow.doors import changed_ids, doors_on, tags
from tests.flow.served import Served, dump, kinds, serve, text
from tests.paths import ROOT, shared

ASK = "Renumber every door on level 2, left to right from the north"


def test_the_demo_renumbers_exactly_the_doors_of_level_2(sample: Path, tmp_path: Path) -> None:
    environment = {name: value for name, value in os.environ.items() if not name.endswith("_API_KEY")}

    demo = subprocess.run(
        [sys.executable, "-m", "clients.cli.main", "demo", "--folder", str(tmp_path / "demo"), "--pace", "0"],
        cwd=ROOT,
        env=environment | {"COLUMNS": "160"},
        capture_output=True,
        text=True,
        timeout=100,
    )

    assert demo.returncode == 0, demo.stdout + demo.stderr
    after = tmp_path / "demo" / "demo.ifc"
    doors = doors_on(sample, "Level 2")
    assert changed_ids(sample, after) == (set(), doors, set())
    assert sorted(tags(after, doors)) == [f"2-{number:02}" for number in range(1, len(doors) + 1)]
    assert f"Committed: {len(doors)} modified, 0 added, 0 deleted." in demo.stdout
    assert "What changed" in demo.stdout
    assert "no language model" in demo.stdout
    assert "run run_" in demo.stdout
    picture = Path(demo.stdout.split("picture ")[1].split("\n")[0])
    assert Image.open(picture).size == (1600, 1200)


def test_a_run_shows_the_error_the_edit_the_report_and_the_picture(model: Path, tmp_path: Path) -> None:
    with serve(tmp_path / "state", model) as served:
        chunks = served.run(ASK)

        results = kinds(chunks, "tool_result")
        assert [result["outcome"] for result in results] == ["rolled_back", "failed", "committed"]
        assert results[1]["error"]["type"] == "TypeError"
        assert results[1]["error"]["line"] is not None
        assert results[1]["changed"] == {"added": 0, "modified": 0, "deleted": 0}
        calls = [json.loads(chunk["content"]) for chunk in chunks if chunk["type"] == "ToolCall"]
        assert len(calls[2]["edits"]) == 1, "the fix is an edit of one place, not the whole script again"
        failed, mended = [served.api.download(result["script_url"]).decode() for result in results[1:]]
        different = [(old, new) for old, new in zip(failed.split("\n"), mended.split("\n"), strict=True) if old != new]
        assert len(different) == 1
        report = results[2]["report"]
        assert {row["level"] for row in report["elements"]} == {"Level 2"}
        assert all(row["changes"][0]["property"] == "Tag" for row in report["elements"])
        assert served.api.download(results[2]["images"][0]["url"]).startswith(b"\x89PNG")
        complete = chunks[-1]
        assert complete["type"] == "Complete"
        assert complete["metadata"]["changed"] == results[2]["changed"]
        assert complete["metadata"]["counters"] == {"turns": 4, "scripts": 3, "fix": 1, "iteration": 0}
        assert str(results[2]["changed"]["modified"]) in complete["content"]


def test_everything_the_model_writes_is_streamed_in_pieces(served: Served) -> None:
    chunks = served.run("What is in this model?")

    pieces = [chunk for chunk in chunks if chunk["type"] == "ToolInputDelta"]
    assert len(pieces) > 10
    assert json.loads(text(chunks, "ToolInputDelta")) == json.loads(text(chunks, "ToolCall"))
    assert len([chunk for chunk in chunks if chunk["type"] == "Message"]) > 5
    assert text(chunks, "Thinking")


def test_a_replayed_run_is_the_run_that_was_seen_live(served: Served) -> None:
    live = served.run("What is in this model?")
    run_id = live[0]["metadata"]["run_id"]

    assert dump(list(served.api.follow(run_id))) == dump(live)
    assert dump(list(served.api.follow(run_id, seq=5))) == dump(live[5:])


def test_a_session_goes_on_after_its_first_run(served: Served) -> None:
    first = served.run("What is in this model?")
    session_id = first[0]["metadata"]["session_id"]

    second = served.run("What is in this model?", session_id=session_id)

    runs = served.api.get(f"/sessions/{session_id}")["runs"]
    assert [run["id"] for run in runs] == [run[0]["metadata"]["run_id"] for run in (first, second)]
    assert [run["state"] for run in runs] == ["complete", "complete"]
    assert second[-1]["type"] == "Complete"


def test_the_audit_of_a_session_has_the_very_bytes_that_ran(served: Served) -> None:
    chunks = served.run("What is in this model?")
    session_id = chunks[0]["metadata"]["session_id"]
    command = [sys.executable, "-m", "clients.cli.main", "audit", session_id, "--bytes", "--folder", str(served.folder)]

    printed = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, timeout=30, check=True).stdout

    lines = [json.loads(line) for line in printed.splitlines()]
    scripts = [json.loads(chunk["content"])["code"] for chunk in chunks if chunk["type"] == "ToolCall"]
    assert [line["script"] for line in lines] == scripts
    assert [line["outcome"] for line in lines] == ["rolled_back"]
    assert hashlib.sha256(lines[0]["script"].encode()).hexdigest() == lines[0]["ran_sha256"]
    plain = served.http.get(f"/sessions/{session_id}/audit")
    assert plain.headers["content-type"] == "application/jsonl"
    assert "script" not in plain.json()


def test_a_read_only_session_looks_but_does_not_change(served: Served, sample: Path) -> None:
    chunks = served.run(ASK, mode="read_only")

    outcomes = [result["outcome"] for result in kinds(chunks, "tool_result")]
    assert outcomes[:2] == ["rolled_back", "refused"]
    assert served.model.read_bytes() == sample.read_bytes()


def test_the_eight_doors_of_level_2_of_a_real_model(tmp_path: Path) -> None:
    original = shared("ifc", "Duplex_A_20110907.ifc")
    model = tmp_path / "duplex.ifc"
    shutil.copyfile(original, model)

    with serve(tmp_path / "state", model) as served:
        chunks = served.run(ASK)

    committed = kinds(chunks, "tool_result")[-1]
    assert committed["changed"] == {"added": 0, "modified": 8, "deleted": 0}
    doors = doors_on(original, "Level 2")
    assert len(doors) == 8
    assert doors_on(model, "Level 2") == doors
    assert {row["id"] for row in committed["report"]["elements"]} == doors
    assert sorted(tags(model, doors)) == [f"2-{number:02}" for number in range(1, 9)]


def test_sessions_survive_a_normal_stop(tmp_path: Path) -> None:
    model = tmp_path / "nobody.ifc"
    model.write_text("a host is not needed for this\n")
    with serve(tmp_path / "state", model, host=False) as served:
        first = served.run("What is in this model?")
    session_id, run_id = (first[0]["metadata"][name] for name in ("session_id", "run_id"))

    with serve(tmp_path / "state", model, host=False) as again:
        assert [each["id"] for each in again.api.get("/sessions")["sessions"]] == [session_id]
        assert dump(list(again.api.follow(run_id))) == dump(first)
        second = again.run("What is in this model?", session_id=session_id)

    assert second[-1]["type"] == "Complete"


@pytest.mark.parametrize("arguments", [["run", "hello"], ["sessions"], ["watch", "run_1"]])
def test_the_command_line_says_how_to_start_a_server(tmp_path: Path, arguments: list[str]) -> None:
    command = [sys.executable, "-m", "clients.cli.main", *arguments, "--folder", str(tmp_path)]

    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, timeout=30)

    assert done.returncode == 1
    assert "drafthand up" in done.stderr
