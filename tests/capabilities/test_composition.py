"""What is sent to a host: one text, with one hash, that its Python understands and that needs nothing of the host."""

import ast
import hashlib
import json
import os
import shutil
import subprocess

import pytest
from drafthand.capabilities import CAPABILITIES
from drafthand.commands import Changed, HostResult
from drafthand.results import protected_note, report_lines

from tests.capabilities.fakes import DESKS, RevitDesk2026
from tests.capabilities.running import diff, prepare, report
from tests.paths import ROOT

ON_2_7 = ("revit", "freecad", "blender")
IMPORTS = {
    "ifc": {"ifcopenshell.util.element", "ifcopenshell.util.placement"},
    "revit": {"System"},
    "freecad": set(),
    "blender": set(),
}
IN_REVIT = """
import io, json, sys, types
from tests.capabilities import fake_revit

code = io.open(sys.argv[1], encoding="utf-8").read()
system = types.ModuleType("System")
system.Int64 = fake_revit.Int64
sys.modules["System"] = system
doc = fake_revit.Document(int(sys.argv[2]))
doors = [doc.add_door(name, u"T\\u00fcr") for name in (u"Gr\\u00f6\\u00dfe", u"plain", u"\\u9580")]

def run(**given):
    given.update(doc=doc, uidoc=None, DB=doc.db)
    exec(compile(code, "<epilogue>", "exec"), given)
    return given

prepared = run(changed=None)["prepared"]
doc.elements[doors[0]].Parameters[0].value = u"\\u00bd h"
doc.elements[doors[1]].Parameters[0].broken = True
del doc.elements[doors[2]]
changed = {"added": [7], "modified": doors[:2], "deleted": doors[2:]}
print(json.dumps(run(changed=changed, prepared=prepared, entities={})["report"]))
"""


@pytest.fixture(scope="module")
def python27() -> str:
    found = shutil.which("python2.7")
    if found is None or subprocess.run([found, "-c", ""], capture_output=True).returncode != 0:
        pytest.skip("there is no python2.7 on the PATH")
    return found


@pytest.mark.parametrize("app", CAPABILITIES)
def test_the_hash_is_that_of_the_whole_text_and_the_text_is_ascii(app):
    code, sha256 = CAPABILITIES[app].build_task_automation_epilogue()

    assert sha256 == hashlib.sha256(code.encode("ascii")).hexdigest()
    assert code.count("def build_report(") == 1


@pytest.mark.parametrize("app", CAPABILITIES)
def test_nothing_is_imported_but_what_the_application_brings(app):
    tree = ast.parse(CAPABILITIES[app].build_task_automation_epilogue()[0])
    imported = {alias.name for node in ast.walk(tree) if isinstance(node, ast.Import) for alias in node.names}

    assert imported == IMPORTS[app]
    assert not [node for node in ast.walk(tree) if isinstance(node, ast.ImportFrom)]


@pytest.mark.parametrize("app", CAPABILITIES)
def test_only_ifc_can_show_the_document_as_it_was(app):
    assert CAPABILITIES[app].prepares is (app != "ifc")
    assert len(CAPABILITIES[app].examples) == 4


@pytest.mark.parametrize("app", CAPABILITIES)
def test_a_prompt_is_a_short_section_that_names_what_is_protected(app):
    prompt = CAPABILITIES[app].prompt

    assert prompt.startswith("## The document: ")
    assert len(prompt.splitlines()) <= 15
    assert prompt.endswith(f"unless the user asks for it: {', '.join(CAPABILITIES[app].protected)}.\n")


@pytest.mark.parametrize("app", ON_2_7)
def test_the_whole_text_compiles_on_2_7(python27, app, tmp_path):
    path = tmp_path / "epilogue.py"
    path.write_text(CAPABILITIES[app].build_task_automation_epilogue()[0])

    command = f"compile(open({str(path)!r}).read().decode('ascii'), 'x', 'exec')"
    done = subprocess.run([python27, "-c", command], capture_output=True, text=True)

    assert done.returncode == 0, done.stderr


@pytest.mark.parametrize("version", [2023, 2026])
def test_revits_report_is_the_same_on_2_7(python27, version, tmp_path):
    (tmp_path / "epilogue.py").write_text(CAPABILITIES["revit"].build_task_automation_epilogue()[0])
    (tmp_path / "run.py").write_text(IN_REVIT)
    done = subprocess.run(
        [python27, "-B", str(tmp_path / "run.py"), str(tmp_path / "epilogue.py"), str(version)],
        capture_output=True,
        text=True,
        env=os.environ | {"PYTHONPATH": str(ROOT)},
    )

    assert done.returncode == 0, done.stderr
    found = json.loads(done.stdout)
    assert [(row["id"], row["change"], row["name"], row["tag"], row["level"]) for row in found["elements"]] == [
        (103, "modified", "Größe", "Tür", "Level 2"),
        (104, "modified", "plain", "Tür", "Level 2"),
        (105, "deleted", "門", "Tür", "Level 2"),
    ]
    assert [row["changes"] for row in found["elements"]] == [
        [diff("FireRating", "EI30", "½ h")],
        [diff("FireRating", "EI30", "(not readable)")],
        [],
    ]
    assert (found["unresolved"], found["counts"]["added"]) == (1, 1)


@pytest.mark.parametrize("desk", [each() for each in DESKS], ids=lambda desk: type(desk).__name__)
def test_the_model_reads_a_row_with_all_that_names_the_element(desk):
    door = desk.add("Door 1")
    prepared = prepare(desk)
    desk.set_note(door, "EI60")
    result = HostResult(id="c", outcome="committed", changed=Changed(modified=[door]))

    lines = report_lines(result, report(desk, prepared, modified=[door]), CAPABILITIES[desk.APP])

    tag = f" tag {desk.tag(door)}" if desk.tag(door) else ""
    assert lines == [
        "changed: 1 modified, 0 added, 0 deleted",
        f'- modified {desk.CATEGORY} #{door} "Door 1"{tag} level Level 2 type {desk.TYPE} '
        f"({desk.NOTE}: 'EI30' -> 'EI60')",
    ]


def test_the_model_is_warned_when_a_level_moved_in_a_revit_of_any_language():
    desk = RevitDesk2026()
    level = desk.doc.number_of(desk.doc.level)
    found = report(desk, prepare(desk), modified=[level])

    assert protected_note(found, CAPABILITIES["revit"]) == ["Levels changed. Put that back unless it was asked for."]
