"""Runs inside FreeCAD before a script, to remember the document as it was, and after it, to report what it changed.

Reads only; leaves `prepared` when `changed` is None, else `report`.
"""

# What FreeCAD recomputes or keeps for itself, and what the report tells in other words.
LEFT_OUT = ("ExpressionEngine", "Label", "Proxy", "Shape", "_GroupTouched")


def kind_of(item):
    """What an Arch or BIM object is ("Wall", "Building Storey"); FreeCAD's own class for all else."""
    kind = getattr(item, "IfcType", None)
    return kind if kind and kind != "Undefined" else item.TypeId


def container_of(item):
    """The label of the storey, group, part or body an object lies in."""
    container = item.getParentGroup() or item.getParentGeoFeatureGroup()
    return None if container is None else container.Label


def text(value):
    """A value of a property for a table: plain as it is, else as text; None for what can't be told in a line."""
    if value is None or plain(value) is not None:
        return plain(value)
    if isinstance(value, App.Units.Quantity):
        return "%s" % value  # not UserString, which is rounded as the user likes it
    if isinstance(value, App.Vector):
        return place((value.x, value.y, value.z))
    if isinstance(value, App.Rotation):
        return "%g degrees about %s" % (round(value.Angle * 57.29577951308232, 4), text(value.Axis))
    if isinstance(value, App.Placement):
        turned = "" if abs(value.Rotation.Angle) < 1e-9 else " turned %s" % text(value.Rotation)
        return "at %s%s" % (text(value.Base), turned)
    if hasattr(value, "TypeId") and hasattr(value, "Label"):
        return value.Label
    if isinstance(value, dict):
        return "{%s}" % ", ".join("%s: %s" % (key, text(each)) for key, each in sorted(value.items()))
    if isinstance(value, (list, tuple)):
        return "[%s]" % ", ".join("%s" % text(each) for each in value)
    return None


def shape_of(item):
    """Volume (mm3), area (mm2) and number of faces as text; None for what has no shape of its own, as a group."""
    if "Shape" not in item.PropertiesList or item.Shape.isNull():
        return None
    shape = item.Shape
    return "volume %.9g, area %.9g, %d faces" % (shape.Volume, shape.Area, len(shape.Faces))


def values_of(item):
    found = {}
    for name in item.PropertiesList:
        if name not in LEFT_OUT:
            found[name] = attempt(lambda wanted: text(item.getPropertyByName(wanted)), name)
    for path, formula in attempt(lambda each: each.ExpressionEngine, item, [("*", UNREADABLE)]):
        found["formula of %s" % path] = formula
    found["Name"] = attempt(lambda each: each.Label, item)
    found["Shape"] = attempt(shape_of, item)
    return found


def computed_of(item):
    return [name for name in item.PropertiesList if name == "Shape" or "ReadOnly" in item.getEditorMode(name)]


READERS = {
    "category": kind_of,
    "name": lambda item: item.Label,
    "tag": lambda item: item.Name,
    "level": container_of,
    "type": lambda item: item.TypeId,
    "values": values_of,
    "computed": computed_of,
}
OBJECTS = dict((item.ID, item) for item in doc.Objects)

if changed is None:
    prepared = remember(list(OBJECTS.items()), READERS)
else:
    report = build_remembered_report(changed, entities, prepared, OBJECTS.get, READERS)
