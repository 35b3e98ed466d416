"""Runs beside an IFC file after a script, to report what it changed. Reads only; leaves `report`."""

import ifcopenshell.util.element as ifc_element

ATTRIBUTES_LEFT_OUT = ("id", "type", "OwnerHistory")


def plain(value):
    """A value for a table, or None for what is not one (an entity, a list of entities)."""
    if value is None or isinstance(value, (str, bool, int, float)):
        return value
    return None


def facts(element):
    """Attributes and properties of an element as {name: plain value}."""
    found = {}
    for name, value in element.get_info(recursive=False).items():
        if name not in ATTRIBUTES_LEFT_OUT and (value is None or plain(value) is not None):
            found[name] = plain(value)
    for pset, properties in ifc_element.get_psets(element).items():
        for name, value in properties.items():
            if name != "id":
                found[pset + "." + name] = plain(value)
    return found


def differences(old, new):
    """[{property, before, after}] of two elements, by name."""
    before, after = facts(old), facts(new)
    names = sorted(name for name in set(before) | set(after) if before.get(name) != after.get(name))
    return [{"property": name, "before": before.get(name), "after": after.get(name)} for name in names]


def level_of(element):
    container = ifc_element.get_container(element) if element.is_a("IfcElement") else None
    return container.Name if container is not None else None


def type_of(element):
    found = ifc_element.get_type(element) if element.is_a("IfcObject") else None
    return found.Name if found is not None and found != element else None


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
    """[{category, change, count, example}], largest first."""
    groups = {}
    for element in elements:
        key = (element["category"], element["change"])
        group = groups.setdefault(
            key,
            {
                "category": key[0],
                "change": key[1],
                "count": 0,
                "example": {"id": element["id"], "name": element["name"]},
            },
        )
        group["count"] += 1
    return sorted(groups.values(), key=lambda group: (-group["count"], group["category"], group["change"]))


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
