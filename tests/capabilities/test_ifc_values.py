"""Which values of IFC elements a report tells, and how; on real files, before and after."""

import ifcopenshell
import ifcopenshell.api.root as root
import pytest

from tests.capabilities.running import NOTHING, diff, execute
from tests.hosts.host_support import building


def row_of(before, model, element):
    """The row of an element that was modified."""
    given = {"model": model, "before": lambda: before, "entities": {}, "changed": NOTHING | {"modified": [element]}}
    return execute("ifc", given, {})["report"]["elements"][0]


def with_status(values, kind="IfcPropertyEnumeratedValue"):
    """The building, its first wall with a property Status that holds these values; and the wall's id."""
    model = building()
    wall = model.by_type("IfcWall")[0]
    told = [model.create_entity("IfcLabel", value) if isinstance(value, str) else value for value in values]
    told = [model.create_entity("IfcReal", value) if isinstance(value, float) else value for value in told]
    status = model.create_entity(kind, "Status", None, told)
    common = model.create_entity("IfcPropertySet", ifcopenshell.guid.new(), None, "Pset_WallCommon", None, [status])
    model.create_entity("IfcRelDefinesByProperties", ifcopenshell.guid.new(), None, None, None, [wall], common)
    return model, wall.id()


def test_a_change_of_class_is_told_as_one():
    model = building()
    door = model.by_type("IfcDoor")[40]

    changed = root.reassign_class(model, product=door, ifc_class="IfcWindow")
    row = row_of(building(), model, changed.id())

    assert row["category"] == "IfcWindow"
    assert diff("Class", "IfcDoor", "IfcWindow") in row["changes"]


@pytest.mark.parametrize(
    ("kind", "old", "new", "told"),
    [
        ("IfcPropertyEnumeratedValue", ["NEW"], ["DEMOLISH"], ("NEW", "DEMOLISH")),
        ("IfcPropertyEnumeratedValue", ["NEW"], ["NEW", "DEMOLISH"], ("NEW", "NEW, DEMOLISH")),
        ("IfcPropertyListValue", [1.0, 2.5], [1.0, 3.5], ("1.0, 2.5", "1.0, 3.5")),
        ("IfcPropertyListValue", [1.0], [], ("1.0", None)),
    ],
)
def test_enumerated_and_listed_values_are_told_as_text(kind, old, new, told):
    before, wall = with_status(old, kind)
    after, _ = with_status(new, kind)

    assert row_of(before, after, wall)["changes"] == [diff("Pset_WallCommon.Status", *told)]


def test_an_attribute_that_is_a_list_of_numbers_is_told_as_text():
    before, after = building(), building()
    for model, seconds in ((before, 10), (after, 20)):
        site = root.create_entity(model, ifc_class="IfcSite", name="Site")
        site.RefLatitude = (52, 30, seconds)

    changes = row_of(before, after, site.id())["changes"]

    assert diff("RefLatitude", "52, 30, 10", "52, 30, 20") in changes
