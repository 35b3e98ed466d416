"""Stand-ins for what the epilogues read of FreeCAD and Blender, and one desk of equal handles for each application.

They are honest about names, shapes and refusals, and stand for nothing else. `test_real_applications.py` runs the same
epilogues inside the real ones where those are installed; Revit can't be.
"""

from collections.abc import Mapping
from types import MappingProxyType, ModuleType, SimpleNamespace
from typing import Any

from tests.capabilities import fake_revit


class Refused(Exception):
    """What an application raises when a property is read that it can't give."""


class Desk:
    """One open document: `note` is a property of every element, reported by the name NOTE."""

    APP: str
    NOTE: str
    CATEGORY: str
    LEVEL: str
    TYPE: str
    modules: Mapping[str, ModuleType] = MappingProxyType({})  # what the application lets a script import


class RevitDesk(Desk):
    APP, NOTE, CATEGORY, LEVEL, TYPE = "revit", "FireRating", "Doors", "Level 2", "Single"
    VERSION = 2023

    def __init__(self) -> None:
        self.doc = fake_revit.Document(self.VERSION)
        system = ModuleType("System")
        system.Int64 = fake_revit.Int64
        self.modules = {"System": system}

    def namespace(self) -> dict[str, Any]:
        return {"doc": self.doc, "uidoc": None, "DB": self.doc.db}

    def add(self, name: str) -> int:
        return self.doc.add_door(name, f"M{self.doc.count + 1}")

    def tag(self, identifier: int) -> str:
        return f"M{identifier}"

    def rename(self, identifier: int, name: str) -> None:
        self.doc.elements[identifier].name = name

    def remove(self, identifier: int) -> None:
        del self.doc.elements[identifier]

    def set_note(self, identifier: int, value: str) -> None:
        self.doc.elements[identifier].Parameters[0].value = value

    def break_note(self, identifier: int) -> None:
        self.doc.elements[identifier].Parameters[0].broken = True


class RevitDesk2026(RevitDesk):
    VERSION = 2026


class FreeCadObject:
    def __init__(self, number: int, label: str, container: Any):
        self.ID, self.Name, self.Label, self.TypeId = number, f"Wall{number:03}", label, "Part::FeaturePython"
        self.container = container
        self.properties = {"Label": label, "FireRating": "EI30", "ExpressionEngine": []}
        self.broken: set[str] = set()
        self.read_only: set[str] = set()

    def __getattr__(self, name: str) -> Any:
        try:
            return self.properties[name]
        except KeyError:
            raise AttributeError(name) from None

    @property
    def PropertiesList(self) -> list[str]:
        return list(self.properties)

    def getPropertyByName(self, name: str) -> Any:
        if name in self.broken:
            raise Refused(name)
        return self.properties[name]

    def getEditorMode(self, name: str) -> list[str]:
        return ["ReadOnly"] if name in self.read_only else []

    def getParentGroup(self) -> Any:
        return self.container

    def getParentGeoFeatureGroup(self) -> Any:
        return None


class FreeCadDesk(Desk):
    APP, NOTE, CATEGORY, LEVEL, TYPE = "freecad", "FireRating", "Wall", "Level 2", "Part::FeaturePython"

    def __init__(self) -> None:
        self.doc = SimpleNamespace(Objects=[])
        self.items: dict[int, FreeCadObject] = {}
        self.count = 100
        kinds = {name: type(name, (SimpleNamespace,), {}) for name in ("Vector", "Rotation", "Placement")}
        self.app = SimpleNamespace(Units=SimpleNamespace(Quantity=type("Quantity", (str,), {})), **kinds)
        self.level = SimpleNamespace(Label="Level 2")

    def namespace(self) -> dict[str, Any]:
        return {"doc": self.doc, "App": self.app}

    def add(self, name: str) -> int:
        self.count += 1
        item = FreeCadObject(self.count, name, self.level)
        item.properties["IfcType"] = "Wall"
        self.items[self.count] = item
        self.doc.Objects.append(item)
        return self.count

    def tag(self, identifier: int) -> str:
        return f"Wall{identifier:03}"

    def rename(self, identifier: int, name: str) -> None:
        self.items[identifier].Label = self.items[identifier].properties["Label"] = name

    def remove(self, identifier: int) -> None:
        self.doc.Objects.remove(self.items[identifier])

    def set_note(self, identifier: int, value: str) -> None:
        self.items[identifier].properties["FireRating"] = value

    def break_note(self, identifier: int) -> None:
        self.items[identifier].broken.add("FireRating")


class BlenderObject(dict):
    """Custom properties by key, as an object of Blender holds them."""

    def __init__(self, number: int, name: str):
        super().__init__(FireRating="EI30")
        self.session_uid, self.name, self.type, self.data = number, name, "MESH", SimpleNamespace(name="Panel")
        self.rotation_mode, self.rotation_euler = "XYZ", (0.0, 0.0, 0.0)
        self.location, self.scale, self.dimensions = (0.0, 0.0, 0.0), (1.0, 1.0, 1.0), (2.0, 2.0, 2.0)
        self.parent, self.modifiers, self.material_slots = None, [], []
        self.hide_viewport = self.hide_render = False
        self.broken: set[str] = set()

    __hash__ = object.__hash__

    def __getitem__(self, key: str) -> Any:
        if key in self.broken:
            raise Refused(key)
        return super().__getitem__(key)


class BlenderDesk(Desk):
    APP, NOTE, CATEGORY, LEVEL, TYPE = "blender", "property FireRating", "MESH", "Level 2", "Panel"

    def __init__(self) -> None:
        self.objects: list[BlenderObject] = []
        self.items: dict[int, BlenderObject] = {}
        level = SimpleNamespace(name="Level 2", objects=self.objects)
        self.bpy = SimpleNamespace(data=SimpleNamespace(objects=self.objects, collections=[level]))
        self.count = 100

    def namespace(self) -> dict[str, Any]:
        return {"bpy": self.bpy}

    def add(self, name: str) -> int:
        self.count += 1
        self.items[self.count] = BlenderObject(self.count, name)
        self.objects.append(self.items[self.count])
        return self.count

    def tag(self, identifier: int) -> None:
        return None

    def rename(self, identifier: int, name: str) -> None:
        self.items[identifier].name = name

    def remove(self, identifier: int) -> None:
        self.objects.pop(next(at for at, item in enumerate(self.objects) if item.session_uid == identifier))

    def set_note(self, identifier: int, value: str) -> None:
        self.items[identifier]["FireRating"] = value

    def break_note(self, identifier: int) -> None:
        self.items[identifier].broken.add("FireRating")


DESKS = (RevitDesk, RevitDesk2026, FreeCadDesk, BlenderDesk)
