"""Runs inside Blender before a script, to remember the file as it was, and after it, to report what it changed.

Reads only; leaves `prepared` when `changed` is None, else `report`. References die with an undo: it keeps text alone.
"""

DEGREES = 57.29577951308232


def collections():
    """{session_uid of an object: names of its collections}; asking each object would look through all of them."""
    found = {}
    for collection in bpy.data.collections:
        for item in collection.objects:
            found.setdefault(item.session_uid, []).append(collection.name)
    return dict((identifier, ", ".join(sorted(names))) for identifier, names in found.items())


def data_of(item):
    return None if item.data is None else item.data.name


def rotation_of(item):
    """As it is stored: angles in degrees, or a quaternion, or an axis with its angle."""
    if item.rotation_mode == "QUATERNION":
        return "quaternion %s" % place(item.rotation_quaternion)
    if item.rotation_mode == "AXIS_ANGLE":
        angle, x, y, z = item.rotation_axis_angle
        return "%g degrees about %s" % (round(angle * DEGREES, 4), place((x, y, z)))
    return "%s degrees %s" % (place(angle * DEGREES for angle in item.rotation_euler), item.rotation_mode)


def text(value):
    """A custom property for a table: plain as it is, lists and groups as text."""
    if value is None or plain(value) is not None:
        return plain(value)
    if hasattr(value, "to_dict"):
        return "{%s}" % ", ".join("%s: %s" % (key, text(each)) for key, each in sorted(value.to_dict().items()))
    if hasattr(value, "to_list"):
        value = value.to_list()
    if isinstance(value, (list, tuple)):
        return "[%s]" % ", ".join("%s" % text(each) for each in value)
    return getattr(value, "name", None)


PROPERTIES = {
    "Name": lambda item: item.name,
    "Location": lambda item: "at %s" % place(item.location),
    "Rotation": rotation_of,
    "Scale": lambda item: place(item.scale),
    "Dimensions": lambda item: place(item.dimensions),
    "Data": data_of,
    "Collections": lambda item: COLLECTIONS.get(item.session_uid),
    "Parent": lambda item: None if item.parent is None else item.parent.name,
    "Modifiers": lambda item: len(item.modifiers),
    "Materials": lambda item: ", ".join(slot.name for slot in item.material_slots) or None,
    "Hidden in viewports": lambda item: item.hide_viewport,
    "Hidden in renders": lambda item: item.hide_render,
}


def values_of(item):
    found = dict((name, attempt(read, item)) for name, read in PROPERTIES.items())
    for key in item.keys():
        found["property %s" % key] = attempt(lambda wanted: text(item[wanted]), key)
    return found


READERS = {
    "category": lambda item: item.type,
    "name": lambda item: item.name,
    "tag": lambda item: None,
    "level": lambda item: COLLECTIONS.get(item.session_uid),
    "type": data_of,
    "values": values_of,
    "computed": lambda item: ("Dimensions",),
}
COLLECTIONS = collections()
OBJECTS = dict((item.session_uid, item) for item in bpy.data.objects)

if changed is None:
    prepared = remember(list(OBJECTS.items()), READERS)
else:
    report = build_remembered_report(changed, entities, prepared, OBJECTS.get, READERS)
