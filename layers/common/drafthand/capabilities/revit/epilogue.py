"""Runs inside Revit before a script, to remember the document as it was, and after it, to report what it changed.

Reads only, on IronPython 2.7 as well as CPython 3; leaves `prepared` when `changed` is None, else `report`.
"""

import System

# Revit names categories in its own language; those that a script should leave alone are needed by one name.
NAMED_IN_ENGLISH = {
    DB.BuiltInCategory.OST_Grids: "Grids",
    DB.BuiltInCategory.OST_Levels: "Levels",
    DB.BuiltInCategory.OST_Phases: "Phases",
    DB.BuiltInCategory.OST_ProjectBasePoint: "Project Base Point",
    DB.BuiltInCategory.OST_ProjectInformation: "Project Information",
    DB.BuiltInCategory.OST_RvtLinks: "RVT Links",
    DB.BuiltInCategory.OST_SharedBasePoint: "Survey Point",
}
LEVELS = (
    DB.BuiltInParameter.SCHEDULE_LEVEL_PARAM,
    DB.BuiltInParameter.INSTANCE_REFERENCE_LEVEL_PARAM,
    DB.BuiltInParameter.FAMILY_LEVEL_PARAM,
)


def number_of(identifier):
    """The int of an ElementId: 64 bits in `Value` since Revit 2024, 32 in `IntegerValue` until 2025."""
    return int(identifier.Value if hasattr(identifier, "Value") else identifier.IntegerValue)


def element_of(number):
    if hasattr(DB.ElementId.InvalidElementId, "Value"):
        return doc.GetElement(DB.ElementId(System.Int64(number)))
    return doc.GetElement(DB.ElementId(number))


CATEGORIES = dict((number_of(DB.ElementId(each)), name) for each, name in NAMED_IN_ENGLISH.items())
SHARED_NAMES = {}


def all_elements():
    """Instances and types as [(id, element)]; a collector wants one of the two filters."""
    found = list(DB.FilteredElementCollector(doc).WhereElementIsNotElementType().ToElements())
    found += DB.FilteredElementCollector(doc).WhereElementIsElementType().ToElements()
    return [(number_of(element.Id), element) for element in found]


def category_of(element):
    category = element.Category
    if category is None:
        return element.GetType().Name
    return CATEGORIES.get(number_of(category.Id)) or category.Name


def name_of(element):
    try:
        return element.Name
    except AttributeError:  # IronPython does not find the name of types, which override its setter only
        return text_in(element, DB.BuiltInParameter.SYMBOL_NAME_PARAM)


def text_in(element, built_in):
    parameter = element.get_Parameter(built_in)
    return None if parameter is None else parameter.AsString()


def name_behind(identifier):
    """The name of a level or type, which many elements share, or None."""
    number = number_of(identifier)
    if number not in SHARED_NAMES:
        element = None if number == -1 else doc.GetElement(identifier)
        SHARED_NAMES[number] = None if element is None else name_of(element)
    return SHARED_NAMES[number]


def level_of(element):
    name = name_behind(element.LevelId)
    for built_in in LEVELS:
        parameter = element.get_Parameter(built_in) if name is None else None
        if parameter is not None:
            name = name_behind(parameter.AsElementId())
    return name


def parameters_of(element):
    """[(name, parameter)]. A name may occur twice: the later ids are numbered, so that runs before and after agree."""
    found, seen = [], {}
    for parameter in sorted(element.Parameters, key=lambda each: number_of(each.Id)):
        name = parameter.Definition.Name
        seen[name] = seen.get(name, 0) + 1
        found.append((name if seen[name] == 1 else "%s (%d)" % (name, seen[name]), parameter))
    return found


def shown(parameter):
    """The value as Revit shows it, with its unit; a plain one where it shows none."""
    if not parameter.HasValue:
        return None
    kind = parameter.StorageType
    if kind == DB.StorageType.String:
        return parameter.AsString()
    text = parameter.AsValueString()
    if text:
        return text
    if kind == DB.StorageType.Integer:
        return plain(parameter.AsInteger())
    if kind == DB.StorageType.Double:
        return plain(parameter.AsDouble())
    number = number_of(parameter.AsElementId())
    return None if number == -1 else number


def location_of(element):
    """A point or both ends of a line, in feet, as text; None for what has neither."""
    location = element.Location
    if isinstance(location, DB.LocationPoint):
        return "at %s ft" % point(location.Point)
    if isinstance(location, DB.LocationCurve) and location.Curve.IsBound:
        return "from %s to %s ft" % (point(location.Curve.GetEndPoint(0)), point(location.Curve.GetEndPoint(1)))
    return None


def point(xyz):
    return place((xyz.X, xyz.Y, xyz.Z))


def values_of(element):
    found = dict((name, attempt(shown, parameter)) for name, parameter in parameters_of(element))
    found["Location"] = attempt(location_of, element)
    found["Name"] = attempt(name_of, element)
    return found


def computed_of(element):
    return [name for name, parameter in parameters_of(element) if parameter.IsReadOnly]


READERS = {
    "category": category_of,
    "name": name_of,
    "tag": lambda element: text_in(element, DB.BuiltInParameter.ALL_MODEL_MARK),
    "level": level_of,
    "type": lambda element: name_behind(element.GetTypeId()),
    "values": values_of,
    "computed": computed_of,
}

if changed is None:
    prepared = remember(all_elements(), READERS)
else:
    report = build_remembered_report(changed, entities, prepared, element_of, READERS)
