"""How values of FreeCAD and Blender are told, against stand-ins for their objects (see fakes.py)."""

from types import SimpleNamespace

import pytest

from tests.capabilities.fakes import BlenderDesk, FreeCadDesk
from tests.capabilities.running import diff, prepare, report


def changes_of(desk, identifier, change):
    prepared = prepare(desk)
    change()
    (row,) = report(desk, prepared, modified=[identifier])["elements"]
    return row["changes"]


class IdPropertyArray:
    def __init__(self, *values):
        self.values = values

    def to_list(self):
        return list(self.values)


class IdPropertyGroup:
    def __init__(self, **values):
        self.values = values

    def to_dict(self):
        return self.values


@pytest.mark.parametrize(
    ("value", "told"),
    [
        (7, 7),
        (0.5, 0.5),
        (True, True),
        (float("nan"), "nan"),
        (IdPropertyArray(1, 2.5), "[1, 2.5]"),
        (IdPropertyGroup(b=[1], a="x"), "{a: x, b: [1]}"),
        (SimpleNamespace(name="Camera"), "Camera"),
    ],
)
def test_a_custom_property_of_blender_is_told_plain_or_as_text(value, told):
    desk = BlenderDesk()
    door = desk.add("Door")

    assert changes_of(desk, door, lambda: desk.set_note(door, value)) == [diff(desk.NOTE, "EI30", told)]


@pytest.mark.parametrize(
    ("mode", "turned", "told"),
    [
        ("XYZ", {"rotation_euler": (0.0, 0.0, 1.5707963)}, "(0, 0, 90) degrees XYZ"),
        ("ZYX", {}, "(0, 0, 0) degrees ZYX"),
        ("QUATERNION", {"rotation_quaternion": (1.0, 0.0, 0.0, 0.0)}, "quaternion (1, 0, 0, 0)"),
        ("AXIS_ANGLE", {"rotation_axis_angle": (3.1415927, 0.0, 0.0, 1.0)}, "180 degrees about (0, 0, 1)"),
    ],
)
def test_a_rotation_of_blender_is_told_as_it_is_stored(mode, turned, told):
    desk = BlenderDesk()
    door = desk.add("Door")

    changes = changes_of(desk, door, lambda: vars(desk.items[door]).update(turned, rotation_mode=mode))

    assert changes == [diff("Rotation", "(0, 0, 0) degrees XYZ", told)]


def test_the_dimensions_of_blender_follow_from_the_scale_and_are_told_last():
    desk = BlenderDesk()
    door = desk.add("Door")
    changed = {"scale": (2.0, 1.0, 1.0), "dimensions": (4.0, 2.0, 2.0)}

    assert changes_of(desk, door, lambda: vars(desk.items[door]).update(changed)) == [
        diff("Scale", "(1, 1, 1)", "(2, 1, 1)"),
        diff("Dimensions", "(2, 2, 2)", "(4, 2, 2)"),
    ]


def test_an_object_in_no_collection_or_in_several_and_without_data():
    desk = BlenderDesk()
    door, loose = desk.add("Door"), desk.add("Loose")
    desk.items[loose].data = None
    desk.objects = [desk.items[door]]
    desk.bpy.data.collections = [SimpleNamespace(name=name, objects=desk.objects) for name in ("Level 2", "Fire")]

    rows = report(desk, None, added=[door, loose])["elements"]

    assert [(row["level"], row["type"]) for row in rows] == [("Fire, Level 2", "Panel"), (None, None)]


def test_a_read_only_property_of_freecad_is_told_last_and_a_formula_by_itself():
    desk = FreeCadDesk()
    wall = desk.add("Wall")
    item = desk.items[wall]
    item.properties["Area"] = 1.0
    item.read_only.add("Area")

    def change():
        item.properties |= {"Area": 2.0, "ExpressionEngine": [("Width", "Height / 2")], "FireRating": "EI60"}

    assert changes_of(desk, wall, change) == [
        diff("FireRating", "EI30", "EI60"),
        diff("formula of Width", None, "Height / 2"),
        diff("Area", 1.0, 2.0),
    ]


@pytest.mark.parametrize("kind", [None, "Undefined"])
def test_an_object_of_freecad_that_is_nothing_in_a_building_goes_by_its_class(kind):
    desk = FreeCadDesk()
    wall = desk.add("Wall")
    desk.items[wall].properties["IfcType"] = kind
    desk.items[wall].container = None

    (row,) = report(desk, None, added=[wall])["elements"]

    assert (row["category"], row["level"]) == ("Part::FeaturePython", None)


def test_a_placement_and_a_link_of_freecad_are_told_as_text():
    desk = FreeCadDesk()
    wall = desk.add("Wall")
    axis = desk.app.Vector(x=0, y=0, z=1)
    placed = desk.app.Placement(
        Base=desk.app.Vector(x=1.0, y=2.0, z=3.0), Rotation=desk.app.Rotation(Angle=3.1415927, Axis=axis)
    )
    host = SimpleNamespace(TypeId="Part::Box", Label="Slab")

    changes = changes_of(desk, wall, lambda: desk.items[wall].properties.update(Placement=placed, Hosts=[host]))

    assert changes == [
        diff("Hosts", None, "[Slab]"),
        diff("Placement", None, "at (1, 2, 3) turned 180 degrees about (0, 0, 1)"),
    ]
