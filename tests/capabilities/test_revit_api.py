"""Every name of Revit's API that our texts use exists in the versions we speak of, by the stubs of pyRevit.

The stubs of several versions can't be installed side by side, so DRAFTHAND_REVIT_STUBS names a folder that holds one
folder for each: `pip install --no-deps --target $DRAFTHAND_REVIT_STUBS/24 pyrevit-stubs-24`, and 23 and 26 likewise.
"""

import ast
import functools
import os
import re
from pathlib import Path

import pytest
from drafthand.capabilities import CAPABILITIES

from tests.paths import ROOT

FOLDER = ROOT / "layers" / "common" / "drafthand" / "capabilities" / "revit"
TEXTS = ("epilogue.py", "prompt.md")
VERSIONS = ("23", "24", "26")

# What each member is a member of. A property with an argument is `get_Parameter` for Python, `Parameter` in the stubs.
MEMBERS = {
    "BuiltInCategory": (
        "OST_Grids OST_Levels OST_Phases OST_ProjectBasePoint OST_ProjectInformation OST_RvtLinks OST_SharedBasePoint "
        "OST_Doors"
    ),
    "BuiltInParameter": (
        "ALL_MODEL_MARK FAMILY_LEVEL_PARAM INSTANCE_REFERENCE_LEVEL_PARAM SCHEDULE_LEVEL_PARAM SYMBOL_NAME_PARAM"
    ),
    "Category": "Id Name",
    "Curve": "GetEndPoint IsBound",
    "Definition": "Name",
    "Document": "GetElement Regenerate",
    "Element": "Category GetTypeId Id LevelId Location LookupParameter Name Parameters get_Parameter",
    "ElementId": "InvalidElementId",
    "FamilySymbol": "Activate",
    "FilteredElementCollector": "OfCategory ToElements WhereElementIsElementType WhereElementIsNotElementType",
    "LocationCurve": "Curve",
    "LocationPoint": "Point",
    "Parameter": (
        "AsDouble AsElementId AsInteger AsString AsValueString Definition HasValue Id IsReadOnly Set StorageType"
    ),
    "StorageType": "Double Integer String",
    "UnitTypeId": "Millimeters",
    "UnitUtils": "ConvertToInternalUnits",
    "XYZ": "X Y Z",
}
CLASSES = {"SubTransaction", "Transaction", "TransactionGroup", *MEMBERS}
OF_SOME_VERSIONS = {"Value": {"24", "26"}, "IntegerValue": {"23", "24"}}
OF_DOTNET = {"GetType", "Int64", "GetValue"}  # GetValue: IronPython's own way to a property


@functools.cache
def stubs(version: str) -> dict[str, tuple[list[str], str]]:
    """{class: (its bases, the text of its body)}; the files aren't valid Python, so they are read as text."""
    folder = os.environ.get("DRAFTHAND_REVIT_STUBS")
    if not folder:
        pytest.skip("DRAFTHAND_REVIT_STUBS names no folder with the stubs of pyRevit")
    text = Path(folder, version, "Autodesk", "Revit", "DB", "__init__.pyi").read_text(encoding="utf-8")
    parts = re.split(r"^class (\w+)(?:\((.*)\))?:", text, flags=re.MULTILINE)
    found = {}
    for name, bases, body in zip(parts[1::3], parts[2::3], parts[3::3], strict=True):
        found[name] = (re.findall(r"\w+", bases or ""), body)
    return found


def has(version: str, owner: str, member: str) -> bool:
    bases, body = stubs(version)[owner]
    name = member.removeprefix("get_")
    if re.search(rf"^    (?:def )?{name}\b", body, flags=re.MULTILINE):
        return True
    return any(base in stubs(version) and has(version, base, member) for base in bases)


@pytest.mark.parametrize("version", VERSIONS)
def test_every_class_and_member_exists_in_the_stubs(version):
    absent = [name for name in CLASSES if name not in stubs(version)]
    absent += [
        f"{owner}.{member}"
        for owner, members in MEMBERS.items()
        for member in members.split()
        if not has(version, owner, member)
    ]

    assert absent == []


@pytest.mark.parametrize("version", VERSIONS)
def test_an_id_has_the_value_that_its_version_is_said_to_have(version):
    for member, versions in OF_SOME_VERSIONS.items():
        assert has(version, "ElementId", member) is (version in versions), member
    constructors = re.findall(r"def __init__\(self, \w+: (\w+)\)", stubs(version)["ElementId"][1])
    assert ("Int64" in constructors) is (version != "23")
    assert ("int" in constructors or "Int32" in constructors) is (version != "26")


def test_the_list_of_names_is_that_of_the_epilogue():
    tree = ast.parse(CAPABILITIES["revit"].build_task_automation_epilogue()[0])
    used = {node.attr for node in ast.walk(tree) if isinstance(node, ast.Attribute) and not node.attr[0].islower()}
    used |= {"get_Parameter" for node in ast.walk(tree) if getattr(node, "attr", "") == "get_Parameter"}
    known = CLASSES | OF_DOTNET | set(OF_SOME_VERSIONS) | set(" ".join(MEMBERS.values()).split())

    assert used <= known


def test_the_list_of_names_is_that_of_the_prompt():
    text = (FOLDER / "prompt.md").read_text(encoding="utf-8")
    quoted = " ".join(re.findall(r"`([^`]+)`", text)).replace("Autodesk.Revit.DB", "")
    used = set(re.findall(r"\b(?:[A-Z]\w*[a-z]\w*|[A-Z]+_\w+|get_\w+)\b", quoted))
    known = CLASSES | OF_DOTNET | set(OF_SOME_VERSIONS) | set(" ".join(MEMBERS.values()).split()) | {"System"}

    assert used <= known


def test_no_name_is_listed_that_neither_text_uses():
    texts = " ".join((FOLDER / name).read_text(encoding="utf-8") for name in TEXTS)
    words = set(re.findall(r"\w+", texts))

    assert {member for members in MEMBERS.values() for member in members.split()} <= words
