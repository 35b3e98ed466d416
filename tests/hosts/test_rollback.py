"""A script that doesn't get to its end leaves no trace: neither in the model in memory nor in the file."""

import pytest

from tests.hosts.host_support import Bench, bench, building, building_text

DOOR = "door = model.by_type('IfcDoor')[3]\n"
EDITS = "doors = model.by_type('IfcDoor')\nfor n in range(39): doors[n].Name = f'changed {n}'\n"
API = "import ifcopenshell.api.{0} as {0}\n"

RAISING = {
    "renaming": EDITS,
    "creating": "model.create_entity('IfcWall', GlobalId=ifcopenshell.guid.new())",
    "deleting": DOOR + "model.remove(door)",
    "adding a property set": API.format("pset")
    + DOOR
    + "new = pset.add_pset(model, product=door, name='New')\npset.edit_pset(model, pset=new, properties={'A': 1})",
    "editing a property set": API.format("pset")
    + DOOR
    + "common = door.IsDefinedBy[0].RelatingPropertyDefinition\n"
    + "pset.edit_pset(model, pset=common, properties={'FireRating': 'EI90'})",
    "reassigning a class": API.format("root")
    + DOOR
    + "root.reassign_class(model, product=door, ifc_class='IfcWindow')",
    "copying": API.format("root") + DOOR + "root.copy_class(model, product=door)",
    "removing a product": API.format("root") + DOOR + "root.remove_product(model, product=door)",
    "removing deeply": "from ifcopenshell.util.element import remove_deep2\n"
    + "remove_deep2(model, model.by_type('IfcWall')[1].Representation)",
    "placing": API.format("geometry")
    + "import numpy\nwall = model.by_type('IfcWall')[1]\n"
    + "geometry.edit_object_placement(model, product=wall, matrix=numpy.eye(4) * 2)",
    "doubling a GlobalId": DOOR + "door.GlobalId = model.by_type('IfcWall')[0].GlobalId",
    "adding from another file": "other = ifcopenshell.file(schema='IFC4')\n"
    + "model.add(other.create_entity('IfcWall', GlobalId=ifcopenshell.guid.new(), Name='stranger'))",
    "an edit in place": DOOR
    + "common = door.IsDefinedBy[0].RelatingPropertyDefinition\n"
    + "for each in common.HasProperties:\n"
    + "    each.NominalValue.wrappedValue = 'EI90' if each.Name == 'FireRating' else True",
    "transactions of its own": EDITS
    + "model.begin_transaction()\ndoors[40].Name = 'a'\nmodel.end_transaction()\n"
    + "model.begin_transaction()\ndoors[41].Name = 'b'\nmodel.discard_transaction()\nmodel.undo()\n"
    + "model.begin_transaction()",
    "a header edit": "model.header.file_name.name = 'x'\nmodel.header.file_description.description = ('x',)",
}
RAISING = {case: script + "\nraise RuntimeError('half way')" for case, script in RAISING.items()} | {
    "a wrong keyword after 39 edits": EDITS + "model.create_entity('IfcWall', Nome='typo')",
    "a value of a wrong type after 39 edits": EDITS + "model.create_entity('IfcWall', Name=3.5)",
}
ENDING = {
    "an endless loop": (EDITS + "while True: pass", "timed_out"),
    "a segmentation fault": (EDITS + "import os, signal; os.kill(os.getpid(), signal.SIGSEGV)", "crashed"),
    "a null pointer": (EDITS + "import ctypes; ctypes.string_at(0)", "crashed"),
    "os._exit": (EDITS + "import os; os._exit(0)", "crashed"),
    "sys.exit": (EDITS + "import sys; sys.exit(0)", "failed"),
    "KeyboardInterrupt": (EDITS + "raise KeyboardInterrupt", "failed"),
    "running out of memory": (EDITS + "'x' * 10 ** 15", "failed"),
    "closed descriptors": (EDITS + "import os; os.closerange(0, 4096)", "crashed"),
    "replacing its process": (EDITS + "import os; os.execv('/bin/true', ['true'])", "crashed"),
    "too much output": (EDITS + "while True: print('x' * 1000)", "failed"),
}
SURROUNDINGS = """
import builtins, json, os, sys, threading
model.begin_transaction()
os.chdir('/'); os.environ['HELLO'] = '1'; sys.path.insert(0, '/nowhere'); json.dumps = None; builtins.open = None
sys.modules['ifcopenshell'] = None; threading.Thread(target=threading.Event().wait).start()
"""
LOOK_AROUND = """
import json, os, sys, threading
print([os.getcwd(), os.environ.get('HELLO'), sys.path, json.dumps([1]), open('/dev/null').read(),
       threading.active_count(), model.transaction, model.history, sys.modules['ifcopenshell'] is ifcopenshell])
"""


@pytest.fixture(scope="module")
def forking(tmp_path_factory):
    with bench(tmp_path_factory.mktemp("fork")) as made:
        yield made


def run_and_compare(host: Bench, script: str, **changes: object) -> dict:
    before = host.fingerprint()
    result = host.run("commit", script, **changes)
    assert host.fingerprint() == before
    assert result["changed"] == {"added": [], "modified": [], "deleted": []}
    assert result["document"] == host.host.document()
    return result


@pytest.mark.parametrize("case", RAISING)
def test_a_script_that_raises_is_undone_to_the_byte(forking, case):
    result = run_and_compare(forking, RAISING[case])

    assert (result["outcome"], result["error"]["line"]) == ("failed", RAISING[case].count("\n") + 1), result


@pytest.mark.parametrize("case", ENDING)
def test_a_script_that_ends_badly_is_undone_to_the_byte(forking, case):
    script, outcome = ENDING[case]
    result = run_and_compare(forking, script, limits={"seconds": 0.5, "output_chars": 50_000})

    assert result["outcome"] == outcome, result


def test_without_fork_the_same_is_undone_to_the_byte(tmp_path):
    # Each run is a process that has to import and parse: so one comparison for them all.
    with bench(tmp_path, "snapshot") as spawning:
        before = spawning.fingerprint()

        for case in ("an edit in place", "transactions of its own", "a header edit"):
            result = spawning.run("commit", RAISING[case])
            assert (result["outcome"], result["error"]["line"]) == ("failed", RAISING[case].count("\n") + 1), case
        for case in ("an endless loop", "a segmentation fault", "os._exit"):
            script, outcome = ENDING[case]
            result = spawning.run("commit", script, limits={"seconds": 0.5, "output_chars": 50_000})
            assert result["outcome"] == outcome, case

        assert spawning.fingerprint() == before


def test_what_a_script_does_to_python_and_its_process_is_undone_too(forking):
    before = forking.read(LOOK_AROUND)

    # Without json even its failure can't be told; that counts as a crash.
    assert forking.run("commit", SURROUNDINGS)["outcome"] == "crashed"
    assert forking.read(LOOK_AROUND) == before


@pytest.mark.parametrize("mode", ["read", "preview"])
def test_a_script_that_is_only_tried_is_undone_to_the_byte(forking, mode):
    before = forking.fingerprint()

    result = forking.run(mode, EDITS)

    assert forking.fingerprint() == before
    assert result["outcome"] == {"read": "rolled_back", "preview": "previewed"}[mode]


def test_five_megabytes_of_output_arrive_whole(forking):
    result = run_and_compare(
        forking,
        "import sys\nfor n in range(60_000): print(f'{n:06}', '-' * 80)\nraise SystemExit",
        limits={"seconds": 20.0, "output_chars": 10_000_000},
    )

    expected = "".join(f"{n:06} {'-' * 80}\n" for n in range(60_000)).encode()
    assert result["stdout"]["bytes"] == len(expected) == 5_280_000
    assert forking.journal.stored(result["id"], result["stdout"]["sha256"]) == expected


def test_what_was_printed_before_a_crash_or_a_limit_is_kept(forking):
    for ending in ("import os; os.abort()", "while True: pass"):
        result = run_and_compare(forking, f"print('so far')\n{ending}", limits={"seconds": 0.5, "output_chars": 100})
        assert result["stdout"] == "so far\n"


@pytest.fixture(scope="module")
def ten_thousand_walls(tmp_path_factory):
    with bench(tmp_path_factory.mktemp("large"), text=_large_text()) as made:
        yield made


def _large_text() -> str:
    """The building with 10,000 walls more, of seven entities each, in one storey: 70,000 entities."""
    model = building()
    context = model.by_type("IfcGeometricRepresentationContext")[0].id()
    storey = model.by_type("IfcBuildingStorey")[0].id()
    first = max(model.entity_names()) + 1
    lines = []
    for number in range(first, first + 70_000, 7):
        lines += [
            f"#{number}=IFCCARTESIANPOINT(({number}.,0.,0.));",
            f"#{number + 1}=IFCAXIS2PLACEMENT3D(#{number},$,$);",
            f"#{number + 2}=IFCLOCALPLACEMENT($,#{number + 1});",
            f"#{number + 3}=IFCPOLYLINE((#{number},#{number}));",
            f"#{number + 4}=IFCSHAPEREPRESENTATION(#{context},'Axis','Curve2D',(#{number + 3}));",
            f"#{number + 5}=IFCPRODUCTDEFINITIONSHAPE($,$,(#{number + 4}));",
            f"#{number + 6}=IFCWALL('{number:022}',$,'Wall',$,$,#{number + 2},#{number + 5},$,$);",
        ]
    walls = ",".join(f"#{number + 6}" for number in range(first, first + 70_000, 7))
    lines.append(f"#{first + 70_000}=IFCRELCONTAINEDINSPATIALSTRUCTURE('{0:022}',$,$,$,({walls}),#{storey});")
    return building_text().replace("ENDSEC;\nEND-ISO", "\n".join(lines) + "\nENDSEC;\nEND-ISO")


REMOVE_200 = "for wall in model.by_type('IfcWall')[100:300]: model.remove(wall)"


def test_deleting_200_of_10_000_walls_is_undone_to_the_byte(ten_thousand_walls):
    result = run_and_compare(ten_thousand_walls, f"{REMOVE_200}\n1 / 0")

    assert result["outcome"] == "failed"


def test_deleting_200_of_10_000_walls_changes_no_other_element(ten_thousand_walls):
    result = ten_thousand_walls.run("preview", REMOVE_200)

    assert len(result["changed"]["deleted"]) == 200
    assert (result["changed"]["added"], result["changed"]["modified"]) == ([], [])
    assert result["geometry_changed"]
