"""The epilogues inside the real Blender (package bpy) and the real FreeCAD (freecadcmd), where they are installed."""

import importlib.util
import json
import os
import shutil
import subprocess
import sys

import pytest
from drafthand.capabilities import CAPABILITIES
from drafthand.commands import Report

from tests.capabilities.running import diff
from tests.paths import ROOT

HERE = ROOT / "tests" / "capabilities"


def report_of(app, command, tmp_path):
    """What the epilogue reports inside an application: rows by name, and how many were not resolved."""
    epilogue = tmp_path / "epilogue.py"
    epilogue.write_text(CAPABILITIES[app].build_task_automation_epilogue()[0], encoding="ascii")
    script = HERE / f"in_{app}.py"
    arguments = [script, epilogue] if app == "blender" else [script]
    environment = os.environ | {"EPILOGUE": str(epilogue)}
    done = subprocess.run([*command, *arguments], capture_output=True, text=True, env=environment)
    told = [line for line in done.stdout.splitlines() if "REPORT " in line]
    assert told, done.stdout + done.stderr
    found = json.loads(told[0].split("REPORT ", 1)[1])
    assert Report.model_validate(found).model_dump() == found
    return {row["name"]: row for row in found["elements"]}, found["unresolved"]


def test_blender(tmp_path):
    if importlib.util.find_spec("bpy") is None:
        pytest.skip("bpy is not installed")

    rows, unresolved = report_of("blender", [sys.executable], tmp_path)

    assert {name: (row["change"], row["category"], row["level"], row["type"]) for name, row in rows.items()} == {
        "Wänd": ("added", "MESH", "Level 2", "Panel"),
        "Cube": ("modified", "MESH", "Collection", "Cube"),
        "Light": ("deleted", "LIGHT", "Collection", "Light"),
    }
    assert rows["Cube"]["changes"] == [
        diff("Location", "at (0, 0, 0)", "at (0, 0, 1)"),
        diff("Modifiers", 0, 1),
        diff("Rotation", "(0, 0, 0) degrees XYZ", "(0, 0, 28.6479) degrees XYZ"),
        diff("Scale", "(1, 1, 1)", "(2, 1, 1)"),
        diff("property FireRating", "EI30", "EI60"),
        diff("property Layers", "[1, 2]", "[1, 3]"),
        diff("property Maker", "{name: A, year: 2020}", "{name: A, year: 2021}"),
        diff("Dimensions", "(2, 2, 2)", "(4, 2, 2)"),
    ]
    assert unresolved == 1


def test_freecad(tmp_path):
    command = shutil.which("freecadcmd")
    if command is None:
        pytest.skip("freecadcmd is not on the PATH")

    rows, unresolved = report_of("freecad", [command], tmp_path)

    assert {name: (row["change"], row["category"], row["tag"], row["level"]) for name, row in rows.items()} == {
        "Würfel": ("added", "Part::Sphere", "Ball", None),
        "Box": ("modified", "Part::Box", "Box", "Level 2"),
        "Level 2": ("modified", "App::DocumentObjectGroup", "Level", None),
        "Peg": ("deleted", "Part::Cylinder", "Peg", None),
    }
    assert rows["Box"]["changes"] == [
        diff("FireRating", "EI30", "EI60"),
        diff("Height", "10.0 mm", "20.0 mm"),
        diff("Holes", "[]", "[1.0, 2.5]"),
        diff("Length", "10.0 mm", "25.0005 mm"),
        diff("Maker", "{}", "{name: A}"),
        diff("Placement", "at (0, 0, 0)", "at (1, 2, 3) turned 90 degrees about (0, 0, 1)"),
        diff("formula of Height", None, "Width * 2"),
        diff("Shape", "volume 1000, area 600, 6 faces", "volume 5000.1, area 1900.03, 6 faces"),
    ]
    assert rows["Level 2"]["changes"] == [diff("shape or relations", None, None)]
    assert unresolved == 1
