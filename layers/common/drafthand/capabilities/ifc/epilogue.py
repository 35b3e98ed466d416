"""Runs beside an IFC file after a script, to report what it changed. Reads only; leaves `report`."""

import ifcopenshell.util.element as ifc_element
import ifcopenshell.util.placement as ifc_placement

VARIOUS = "(various)"
ATTRIBUTES_LEFT_OUT = ("id", "type", "OwnerHistory")


def plain(value):
    """A value for a table, or None for what is not one (an entity, a list of entities)."""
    if value is None or isinstance(value, (str, bool, int, float)):
        return value
    return None


def facts(element):
    """Attributes, properties, level, type and place of an element as {name: plain value}."""
    found = {"Level": level_of(element), "Type": type_of(element), "Placement": place_of(element)}
    for name, value in element.get_info(recursive=False).items():
        if name not in ATTRIBUTES_LEFT_OUT and (value is None or plain(value) is not None):
            found[name] = plain(value)
    for pset, properties in ifc_element.get_psets(element).items():
        for name, value in properties.items():
            if name != "id":
                found[pset + "." + name] = plain(value)
    return found


def differences(old, new):
    """[{property, before, after}] of two elements, by name; never empty, for the element did change."""
    before, after = facts(old), facts(new)
    names = sorted(name for name in set(before) | set(after) if before.get(name) != after.get(name))
    changes = [{"property": name, "before": before.get(name), "after": after.get(name)} for name in names]
    return changes or [{"property": "shape or relations", "before": None, "after": None}]


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
    x, y, z = (round(float(matrix[axis][3]), 4) + 0.0 for axis in range(3))
    dx, dy, dz = (round(float(matrix[axis][0]), 4) + 0.0 for axis in range(3))
    return f"at ({x:g}, {y:g}, {z:g}) along ({dx:g}, {dy:g}, {dz:g})"


def row(element, change, changes):
    return {
        "id": element.id(),
        "change": change,
        "category": element.is_a(),
        "name": element.Name,
        "tag": getattr(element, "Tag", None),
        "level": level_of(element),
        "type": type_of(element),
        "changes": changes,
    }


def find(model, identifier):
    """The element, or None when the id can't be resolved any more."""
    try:
        return model.by_id(identifier)
    except RuntimeError:
        return None


def rows(model, before, changed):
    """One row an element, in the order added, modified, deleted; and how many ids could not be resolved."""
    found, unresolved = [], 0
    for change in ("added", "modified", "deleted"):
        for identifier in changed[change]:
            element = find(before() if change == "deleted" else model, identifier)
            if element is None:
                unresolved += 1
                continue
            old = find(before(), identifier) if change == "modified" else None
            found.append(row(element, change, differences(old, element) if old is not None else []))
    return found, unresolved


def grouped(elements):
    """[{category, change, count, example, changes}], largest first; a group's elements changed in the same properties.

    `changes` holds the values that are the same in the whole group, and VARIOUS for others.
    """
    groups = {}
    for element in elements:
        key = (element["category"], element["change"], tuple(each["property"] for each in element["changes"]))
        groups.setdefault(key, []).append(element)
    found = [
        {
            "category": members[0]["category"],
            "change": members[0]["change"],
            "count": len(members),
            "example": {"id": members[0]["id"], "name": members[0]["name"]},
            "changes": [in_common([member["changes"][place] for member in members]) for place in range(len(key[2]))],
        }
        for key, members in groups.items()
    ]
    return sorted(found, key=lambda group: (-group["count"], group["category"], group["change"]))


def in_common(changes):
    """One change for several of the same property."""
    told = {"property": changes[0]["property"]}
    for side in ("before", "after"):
        alike = all(change[side] == changes[0][side] for change in changes)
        told[side] = changes[0][side] if alike else VARIOUS
    return told


def build_report(model, before, changed, entities):
    """The report: counts, a row for every element that changed, groups, and what could not be resolved."""
    elements, unresolved = rows(model, before, changed)
    return {
        "counts": {change: len(changed[change]) for change in ("added", "modified", "deleted")},
        "elements": elements,
        "groups": grouped(elements),
        "unresolved": unresolved,
        "entities": entities,
    }


report = build_report(model, before, changed, entities)
