"""Reads doors from an IFC file as text, without ifcopenshell: an oracle that shares no code with the product."""

import re
from pathlib import Path

ENTITY = re.compile(r"^#(\d+)\s*=\s*([A-Z0-9]+)\((.*)\);\s*$", re.MULTILINE)
CONTAINED = "IFCRELCONTAINEDINSPATIALSTRUCTURE"


def entities(path: Path) -> dict[int, str]:
    """{id: the whole text of the entity}."""
    return {int(match[1]): f"{match[2]}({match[3]})" for match in ENTITY.finditer(path.read_text())}


def changed_ids(before: Path, after: Path) -> tuple[set[int], set[int], set[int]]:
    """Ids added, modified, deleted between two files."""
    old, new = entities(before), entities(after)
    modified = {number for number in set(old) & set(new) if old[number] != new[number]}
    return set(new) - set(old), modified, set(old) - set(new)


def doors_on(path: Path, storey: str) -> set[int]:
    """Ids of the doors whose containment relation names the storey of this name."""
    found = entities(path)
    storeys = {
        number for number, body in found.items() if body.startswith("IFCBUILDINGSTOREY") and f"'{storey}'" in body
    }
    doors = {number for number, body in found.items() if body.startswith("IFCDOOR(")}
    contained: set[int] = set()
    for body in found.values():
        if body.startswith(CONTAINED):
            numbers = [int(number) for number in re.findall(r"#(\d+)", body)]
            if numbers[-1] in storeys:
                contained |= set(numbers[:-1])
    return doors & contained


def tags(path: Path, doors: set[int]) -> list[str]:
    """The Tag of each door: the eighth attribute of IfcDoor in IFC2X3 and IFC4."""
    found = entities(path)
    return [_attributes(found[door])[7].strip("'") for door in sorted(doors)]


def _attributes(body: str) -> list[str]:
    inner = body[body.index("(") + 1 : -1]
    return re.findall(r"'(?:[^']|'')*'|[^,]+", inner)
