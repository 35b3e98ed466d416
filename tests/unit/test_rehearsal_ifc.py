"""The Python of the bundled scripts does what the turns around it say, on a small model and on a real one."""

from __future__ import annotations

import contextlib
import io
import traceback
from collections.abc import Callable

import ifcopenshell
import ifcopenshell.api.aggregate as aggregate
import ifcopenshell.api.geometry as geometry
import ifcopenshell.api.project as project
import ifcopenshell.api.root as root
import ifcopenshell.api.spatial as spatial
import ifcopenshell.api.unit as unit
import numpy as np
import pytest

from local.rehearsal.script import load
from local.rehearsal.walk import Exchange, Play, View, walk
from tests.paths import shared

SCRIPTS = load()
TOOLS = frozenset({"execute_data_collection", "execute_task_automation"})
NORTH_FIRST = ["north west", "north east", "middle", "south west", "south middle", "south east"]
Model = ifcopenshell.file


def small() -> Model:
    """IFC4 in millimetres: six doors on Level 2 in three rows, one on Level 1; file order is not plan order."""
    model = project.create_file(version="IFC4")
    root.create_entity(model, ifc_class="IfcProject", name="Small")
    unit.assign_unit(model, units=[unit.add_si_unit(model, unit_type="LENGTHUNIT", prefix="MILLI")])
    building = root.create_entity(model, ifc_class="IfcBuilding", name="House")
    storeys = {}
    for name, elevation in (("Level 1", 0.0), ("Level 2", 3000.0)):
        storeys[name] = root.create_entity(model, ifc_class="IfcBuildingStorey", name=name)
        storeys[name].Elevation = elevation
    aggregate.assign_object(model, products=list(storeys.values()), relating_object=building)
    doors = [
        ("south east", "Level 2", 9.0, 0.0),
        ("north west", "Level 2", 1.0, 9.0),
        ("entrance", "Level 1", 1.0, 9.0),
        ("south west", "Level 2", 1.0, 0.4),
        ("middle", "Level 2", 5.0, 5.0),
        ("north east", "Level 2", 8.0, 9.3),
        ("south middle", "Level 2", 5.0, -0.4),
    ]
    for number, (name, level, x, y) in enumerate(doors):
        door = root.create_entity(model, ifc_class="IfcDoor", name=name)
        door.Tag = f"old {number}"
        matrix = np.eye(4)
        matrix[:3, 3] = x, y, 0.0
        geometry.edit_object_placement(model, product=door, matrix=matrix)
        spatial.assign_container(model, products=[door], relating_structure=storeys[level])
    return model


def duplex() -> Model:
    return ifcopenshell.open(shared("ifc", "Duplex_A_20110907.ifc"))


def run(code: str, model: Model) -> str:
    """What the script prints; its namespace is the one the IFC host gives."""
    printed = io.StringIO()
    with contextlib.redirect_stdout(printed):
        exec(compile(code, "<script>", "exec"), {"model": model, "ifcopenshell": ifcopenshell})
    return f"outcome: rolled_back\nstdout:\n{printed.getvalue()}"


def answer(*results: str, request: str = "Renumber every door on level 2") -> Play:
    return walk(SCRIPTS, View(request, tuple(Exchange(result) for result in results), TOOLS))


def fail(code: str, model: Model) -> tuple[TypeError, int]:
    """The error of the first attempt, and the line of the script it came from."""
    with pytest.raises(TypeError) as caught:
        run(code, model)
    lines = [frame.lineno for frame in traceback.extract_tb(caught.value.__traceback__) if frame.filename == "<script>"]
    return caught.value, lines[-1]


def tags(model: Model) -> dict[str, str | None]:
    return {door.GlobalId: door.Tag for door in model.by_type("IfcDoor")}


@pytest.mark.parametrize(("make", "doors"), [(small, 6), (duplex, 8)])
def test_the_first_script_counts_the_doors_the_level_contains(make: Callable[[], Model], doors: int):
    model = make()

    printed = run(answer().call.input["code"], model)

    assert f"storey Level 2: elevation {3.1 if make is duplex else 3.0:.2f} m, {doors} doors" in printed
    assert answer(printed).call.input["summary"].startswith(f"Renumber the {doors} doors of Level 2")


@pytest.mark.parametrize("make", [small, duplex])
def test_the_second_script_fails_after_it_has_cleared_the_tags(make: Callable[[], Model]):
    model = make()
    before = tags(model)
    listed = run(answer().call.input["code"], model)
    code = answer(listed).call.input["code"]

    error, line = fail(code, model)

    assert "unexpected keyword argument 'attribute'" in str(error)
    assert "attribute={" in code.split("\n")[line - 1]
    assert 20 <= len(code.splitlines()) <= 40
    cleared = [tag for name, tag in tags(model).items() if tag != before[name]]
    assert cleared == [None] * (8 if make is duplex else 6)


@pytest.mark.parametrize("make", [small, duplex])
def test_the_mended_script_renumbers_exactly_the_doors_of_the_level(make: Callable[[], Model]):
    model = make()
    before = tags(model)
    listed = run(answer().call.input["code"], model)
    code = answer(listed).call.input["code"]
    error, line = fail(code, make())
    failed = f"outcome: failed\nerror: TypeError: {error} (line {line})\nnothing was changed\nstdout: (empty)"
    (edit,) = answer(listed, failed).call.input["edits"]
    assert (edit["start_line"], edit["end_line"]) == (line, line)
    lines = code.split("\n")
    lines[line - 1] = edit["replacement"]

    run("\n".join(lines), model)

    given = sorted(tag for name, tag in tags(model).items() if tag != before[name])
    assert given == [f"2-{number:02d}" for number in range(1, 9 if make is duplex else 7)]
    if make is small:
        by_tag = {door.Tag: door.Name for door in model.by_type("IfcDoor")}
        assert [by_tag[tag] for tag in given] == NORTH_FIRST


def test_a_level_that_is_not_there_is_said_to_be_missing():
    listed = run(answer(request="Renumber all doors on level 7").call.input["code"], small())

    play = answer(listed, request="Renumber all doors on level 7")

    assert play.turn == "no-such-level"
    assert "no storey named Level 7" in play.say


def test_a_level_without_doors_has_nothing_to_renumber():
    model = small()
    for storey in model.by_type("IfcBuildingStorey"):
        storey.Name = {"Level 1": "Level 2", "Level 2": "Attic"}[storey.Name]
    spatial.unassign_container(model, products=[door for door in model.by_type("IfcDoor") if door.Name == "entrance"])

    listed = run(answer().call.input["code"], model)

    assert answer(listed).turn == "no-doors"


@pytest.mark.parametrize(
    ("make", "facts"),
    [
        (small, ["follows IFC4.", "7 building elements of 1 classes", "2 (Level 1, Level 2)", "7 IfcDoor"]),
        (duplex, ["follows IFC2X3.", "268 building elements of 15 classes and 21 spaces", "56 IfcWallStandardCase"]),
    ],
)
def test_the_overview_quotes_what_the_script_counted(make: Callable[[], Model], facts: list[str]):
    ask = "What is in this model?"
    printed = run(answer(request=ask).call.input["code"], make())

    summary = answer(printed, request=ask)

    assert summary.call is None
    assert [fact for fact in facts if fact not in summary.say] == []
