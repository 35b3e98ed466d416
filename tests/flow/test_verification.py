"""The model is caught in being wrong, and stops for the right reason: whole runs on a real file, in every dialect."""

import json
import tracemalloc
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import ifcopenshell
import ifcopenshell.api.root as root
import pytest
from drafthand.ids import sha256_hex
from drafthand.vendors.models import models

from tests.bench import Bench, bench
from tests.flow.served import kinds

DIALECTS = [each.id for each in models().values() if each.rehearsal]

TYPO = """
name: typo
title: Misspell it
match: misspell
turns:
  - name: again
    say: I try.
    call: {tool: execute_task_automation, input: {summary: Try., code: 'model.by_typ("IfcProject")'}}
    next: [{when: 'outcome: failed', go: again}]
"""
DESIGN = """
name: design
title: Never be content
match: content
turns:
  - name: again
    say: I add one more.
    call: {tool: execute_task_automation, input: {summary: Add one., code: 'model.create_entity("IfcProxy")'}}
    next: [{when: 'outcome: committed', go: again}]
"""
TOO_MANY = """
name: too-many
title: Mark two with chalk
match: 'mark two with (?P<word>\\w+)'
turns:
  - name: mark
    say: I mark two.
    call:
      tool: execute_task_automation
      input:
        summary: Mark two elements.
        code: |
          for each in model.by_type("IfcFurniture"):
              each.Description = "{word}"
          print("2 elements were marked")
    next: [{when: '^changed: (?P<all>240) modified', go: correct}]
  - name: correct
    say: The report says {all}, so I was wrong. I put the others back.
    call:
      tool: execute_task_automation
      input:
        summary: Unmark all but the first two.
        code: |
          for each in model.by_type("IfcFurniture")[2:]:
              each.Description = None
    next: [{when: '^changed: (?P<back>238) modified', go: end}]
  - name: end
    say: Two are marked. I had marked {all} at first and put {back} back.
"""
NOTHING = """
name: nothing
title: Change nothing
match: 'change nothing'
turns:
  - name: nothing
    say: I run it.
    call: {tool: execute_task_automation, input: {summary: Nothing., code: 'print("all 12 doors are done")'}}
    next: [{when: '^0 element\\(s\\) changed', go: end}]
  - name: end
    say: Nothing was changed.
"""
MENDED = """
name: mended
title: Edit it
match: edit it
turns:
  - name: write
    say: I write.
    call:
      tool: execute_task_automation
      input:
        summary: Write.
        code: |
          first = 1
          second = 2
          print(first, secnd)
    next: [{when: '^error: NameError', go: mend}]
  - name: mend
    say: I mend.
    call:
      tool: execute_task_automation
      input:
        summary: Mend.
        edits:
          - start_line: 3
            end_line: 3
            replacement: |
              second = 2
              print(first, second)
    next:
      - when: 'note: The edit of lines 3 to 3 repeats[\\s\\S]*merged script around the edits:\\s+1 . first = 1'
        go: end
  - name: end
    say: It ran.
"""
LONG = """
name: long
title: Print a lot
match: print a lot
turns:
  - name: print
    say: I print.
    call:
      tool: execute_data_collection
      input: {purpose: Print., code: "for n in range(60112): print('row', n)"}
    next: [{when: 'showing [\\d,]+ of (?P<lines>60,112) lines', go: end}]
  - name: end
    say: There were {lines} lines.
"""


@pytest.fixture(scope="module")
def furnished(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A file with 240 pieces of furniture."""
    model = ifcopenshell.file(schema="IFC4")
    root.create_entity(model, ifc_class="IfcProject", name="House")
    for number in range(240):
        root.create_entity(model, ifc_class="IfcFurniture", name=f"Chair {number}")
    path: Path = tmp_path_factory.mktemp("furnished") / "furnished.ifc"
    model.write(str(path))
    return path


@pytest.fixture(scope="module")
def desk(furnished: Path, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Bench]:
    scripts = [TYPO, DESIGN, TOO_MANY, NOTHING, MENDED, LONG]
    with bench(tmp_path_factory.mktemp("desk"), furnished, scripts) as made:
        yield made


def marked(path: Path, word: str) -> int:
    return sum(each.Description == word for each in ifcopenshell.open(str(path)).by_type("IfcFurniture"))


@pytest.mark.parametrize("dialect", DIALECTS)
@pytest.mark.parametrize(
    ("message", "limit", "outcomes", "counters"),
    [
        ("Misspell it", "fix", ["failed"] * 3, {"turns": 5, "scripts": 3, "fix": 2, "iteration": 0}),
        ("Never be content", "iteration", ["committed"] * 4, {"turns": 6, "scripts": 4, "fix": 0, "iteration": 3}),
    ],
)
def test_a_burnt_budget_ends_in_a_summary_and_leaves_the_other_whole(
    desk: Bench, dialect: str, message: str, limit: str, outcomes: list[str], counters: dict[str, int]
) -> None:
    chunks = desk.run(message, model=dialect, limits={"fix": 2, "iteration": 3})

    assert [result["outcome"] for result in kinds(chunks, "tool_result")] == [*outcomes, "refused"]
    (reached,) = kinds(chunks, "limits")
    assert (reached["limit"], reached["used"], reached["cap"]) == (limit, counters[limit], counters[limit])
    assert [turn["phase"] for turn in kinds(chunks, "model")][-1] == "Summary"
    last = chunks[-1]
    assert (last["type"], last["metadata"]["limit"]) == ("Complete", limit)
    assert last["metadata"]["counters"] == counters
    assert f"{counters[limit]} of {counters[limit]} automations after" in last["content"], "what was used is told"


@pytest.mark.parametrize("dialect", DIALECTS)
def test_a_new_message_starts_the_budgets_afresh(desk: Bench, dialect: str) -> None:
    first = desk.run("Misspell it", model=dialect, limits={"fix": 1})
    session_id = first[0]["metadata"]["session_id"]

    second = desk.run("Misspell it", model=dialect, session_id=session_id, limits={"fix": 1})

    assert [chunks[-1]["metadata"]["counters"]["fix"] for chunks in (first, second)] == [1, 1]
    assert desk.services.store.sessions.get(desk.owner, session_id).progress.fix == 1


@pytest.mark.parametrize("dialect", DIALECTS)
def test_turns_end_a_run_in_words_too(desk: Bench, dialect: str) -> None:
    chunks = desk.run("Never be content", model=dialect, limits={"turns": 2})

    assert chunks[-1]["metadata"]["limit"] == "turns"
    assert chunks[-1]["metadata"]["counters"]["turns"] == 3


@pytest.mark.parametrize("dialect", DIALECTS)
def test_a_script_that_says_2_and_changes_240_is_seen_in_the_report_and_corrected(desk: Bench, dialect: str) -> None:
    word = dialect.replace("-", "_")

    chunks = desk.run(f"Mark two with {word}", model=dialect)

    results = kinds(chunks, "tool_result")
    assert [result["changed"]["modified"] for result in results] == [240, 238]
    (group,) = results[0]["report"]["groups"]
    assert (group["count"], group["changes"][0]["property"], group["changes"][0]["after"]) == (240, "Description", word)
    assert len(json.loads(desk.blob(results[0]["report_url"]))["elements"]) == 240
    assert chunks[-1]["content"] == "Two are marked. I had marked 240 at first and put 238 back."
    assert marked(desk.model, word) == 2


@pytest.mark.parametrize("dialect", DIALECTS)
def test_a_script_that_changes_nothing_is_told_so(desk: Bench, dialect: str) -> None:
    chunks = desk.run("Change nothing", model=dialect)

    assert kinds(chunks, "tool_result")[0]["summary"] == "Committed: 0 modified, 0 added, 0 deleted."
    assert chunks[-1]["content"] == "Nothing was changed."


@pytest.mark.parametrize("dialect", DIALECTS)
def test_an_edit_shows_its_diff_its_doubts_and_the_merged_lines(desk: Bench, dialect: str) -> None:
    chunks = desk.run("Edit it", model=dialect)

    calls = [chunk["metadata"] for chunk in chunks if chunk["type"] == "ToolCall"]
    assert calls[0]["diff"] == ""
    assert "-print(first, secnd)" in calls[1]["diff"]
    assert "+print(first, second)" in calls[1]["diff"]
    result = kinds(chunks, "tool_result")[1]
    assert (result["outcome"], len(result["notes"])) == ("committed", 1)
    assert chunks[-1]["content"] == "It ran."


@pytest.mark.parametrize("dialect", DIALECTS)
def test_a_long_output_reaches_the_user_whole_and_the_model_capped(desk: Bench, dialect: str) -> None:
    chunks = desk.run("Print a lot", model=dialect)

    (result,) = kinds(chunks, "tool_result")
    whole = desk.blob(result["output_url"])
    assert whole == "".join(f"row {number}\n" for number in range(60112)).encode()
    assert (result["lines"], result["bytes"]) == (60112, len(whole))
    assert chunks[-1]["content"] == "There were 60,112 lines."


def test_a_long_output_takes_little_memory(desk: Bench) -> None:
    desk.run("Print a lot")  # whatever is imported and cached once

    tracemalloc.start()
    try:
        desk.run("Print a lot")
        _, most = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()

    assert most < 200_000_000


def test_the_audit_names_who_had_which_bytes_run_and_what_became_of_them(desk: Bench) -> None:
    chunks = desk.run("Edit it")
    session_id = chunks[0]["metadata"]["session_id"]
    store = desk.services.store

    lines: list[dict[str, Any]] = list(store.sessions.audit(store.sessions.get(desk.owner, session_id)))

    assert [line["outcome"] for line in lines] == ["failed", "committed"]
    for line in lines:
        assert line["owner"] == desk.owner
        assert line["host"] == desk.host_id
        assert line["application"]["name"] == "ifc"
        assert line["ran_sha256"] == line["script_sha256"]
        for name in ("script", "epilogue"):
            stored = store.scripts.get(desk.owner, line[f"{name}_sha256"])
            assert stored is not None
            assert sha256_hex(stored.encode()) == line[f"{name}_sha256"]
    assert lines[0]["document_before"]["version"] == lines[1]["document_before"]["version"]
    assert lines[1]["document_after"]["id"] == lines[1]["document_before"]["id"]
