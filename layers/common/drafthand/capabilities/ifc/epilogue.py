"""Runs beside an IFC file after a script, to report what it changed. Reads only; leaves `report`."""

import ifcopenshell.util.element as ifc_element
import ifcopenshell.util.placement as ifc_placement

ATTRIBUTES_LEFT_OUT = ("id", "type", "OwnerHistory")


def facts(element):
    """Class, attributes, properties, level, type and place of an element as {name: plain value}."""
    found = {"Class": element.is_a(), "Level": level_of(element), "Type": type_of(element)}
    found["Placement"] = place_of(element)
    for name, value in element.get_info(recursive=False).items():
        if name not in ATTRIBUTES_LEFT_OUT and (value is None or text(value) is not None):
            found[name] = text(value)
    for pset, properties in ifc_element.get_psets(element).items():
        for name, value in properties.items():
            if name != "id":
                found[pset + "." + name] = text(value)
    return found


def text(value):
    """A value for a table: plain as it is, a list of plain ones as text; None for entities and tables."""
    if isinstance(value, (list, tuple)) and value and all(plain(each) is not None for each in value):
        return ", ".join(str(each) for each in value)
    return plain(value)


def level_of(element):
    container = ifc_element.get_container(element) if element.is_a("IfcElement") else None
    return container.Name if container is not None else None


def type_of(element):
    found = ifc_element.get_type(element) if element.is_a("IfcObject") else None
    return found.Name if found is not None and found != element else None


def place_of(element):
    """Position and direction in the file's unit, as text; None for what has no place."""
    placement = getattr(element, "ObjectPlacement", None)
    if placement is None:
        return None
    matrix = ifc_placement.get_local_placement(placement)
    position, direction = ([float(matrix[axis][column]) for axis in range(3)] for column in (3, 0))
    return f"at {place(position)} along {place(direction)}"


READERS = {
    "category": lambda element: element.is_a(),
    "name": lambda element: element.Name,
    "tag": lambda element: getattr(element, "Tag", None),
    "level": level_of,
    "type": type_of,
    "values": facts,
    "computed": lambda element: (),
}


def seen_in(open_file):
    """A function of (id, wanted fields) that gives an element's state in a file, or None when there's no such id."""

    def seen(identifier, wanted):
        try:
            element = open_file().by_id(identifier)
        except RuntimeError:
            return None
        return state(element, READERS, wanted)

    return seen


report = build_report(changed, entities, seen_in(before), seen_in(lambda: model))
