"""Answers about an IFC2X3 file from its STEP text alone: shares no code and no library with what is tested."""

import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

ENTITY = re.compile(r"^#(\d+)\s*=\s*([A-Z0-9]+)\s*\((.*)\);\s*$", re.MULTILINE)
TOKEN = re.compile(r"\s*('(?:[^']|'')*'|#\d+|\.[A-Z0-9_]+\.|[-+]?\d[\d.]*(?:E[-+]?\d+)?|[A-Z0-9]+(?=\()|[(),$*])")
BOOLEANS = {".T.": True, ".F.": False}
Place = tuple[float, float, float]
AXES: tuple[Place, Place, Place] = ((1.0, 0.0, 0.0), (0.0, 1.0, 0.0), (0.0, 0.0, 1.0))


class Ref(int):
    """The number of another entity."""


class Step:
    """A file: each entity's class and attributes by number.

    Attributes: Ref, str (also an enumeration, dots included), float, bool, None for $ and *, or a list of these; a
    typed value is its bare value. Their places are those of the schema.
    """

    def __init__(self, path: Path) -> None:
        found = ENTITY.findall(path.read_text("ascii"))
        self.classes = {int(number): name for number, name, _ in found}
        self._texts = {int(number): text for number, _, text in found}

    def of(self, *classes: str) -> list[int]:
        """Numbers of the entities of exactly these classes."""
        return [number for number, name in self.classes.items() if name in classes]

    def at(self, number: int, place: int) -> Any:
        """The attribute at a place, counted from 0."""
        return _values(self._texts[number])[place]

    def changed_in(self, later: "Step") -> tuple[set[int], set[int], set[int]]:
        """Entities added, modified and deleted by then; another spelling of the same number is no change."""
        old, new = set(self.classes), set(later.classes)
        return new - old, {each for each in old & new if not self._same(later, each)}, old - new

    def _same(self, other: "Step", number: int) -> bool:
        if self.classes[number] != other.classes[number]:
            return False
        mine, theirs = self._texts[number], other._texts[number]
        return mine == theirs or _values(mine) == _values(theirs)

    def related(self, relation: str, to: int) -> list[int]:
        """What relations of this class (related objects fifth, the relating one sixth) connect with an entity."""
        return [item for each in self.of(relation) if self.at(each, 5) == to for item in self.at(each, 4)]

    def storeys(self) -> dict[str, tuple[int, float]]:
        """{name: (number, elevation in the file's unit)}."""
        return {self.at(each, 2): (each, self.at(each, 9)) for each in self.of("IFCBUILDINGSTOREY")}

    def doors_on(self, storey: str) -> set[int]:
        """The doors that the storey's containment names."""
        contained = self.related("IFCRELCONTAINEDINSPATIALSTRUCTURE", self.storeys()[storey][0])
        return set(contained) & set(self.of("IFCDOOR"))

    def storey_of_host(self, filling: int) -> str:
        """The name of the storey that contains the wall in whose opening an element stands."""
        (opening,) = [self.at(each, 4) for each in self.of("IFCRELFILLSELEMENT") if self.at(each, 5) == filling]
        (host,) = [self.at(each, 4) for each in self.of("IFCRELVOIDSELEMENT") if self.at(each, 5) == opening]
        relations = self.of("IFCRELCONTAINEDINSPATIALSTRUCTURE")
        (storey,) = [self.at(each, 5) for each in relations if host in self.at(each, 4)]
        name: str = self.at(storey, 2)
        return name

    def doors_of_type(self, name: str) -> set[int]:
        styles = [style for style in self.of("IFCDOORSTYLE") if self.at(style, 2) == name]
        return {door for style in styles for door in self.related("IFCRELDEFINESBYTYPE", style)}

    def properties(self, pset: str, name: str) -> dict[int, Any]:
        """{element: value} of one property, for every element that has it."""
        values = {}
        for relation in self.of("IFCRELDEFINESBYPROPERTIES"):
            found = self.at(relation, 5)
            if self.classes[found] == "IFCPROPERTYSET" and self.at(found, 2) == pset:
                mine = [self.at(each, 2) for each in self.at(found, 4) if self.at(each, 0) == name]
                values |= {element: value for element in self.at(relation, 4) for value in mine}
        return values

    def length_prefix(self) -> str | None:
        """The prefix of the project's unit of length, such as .MILLI.; other units have units of length below them."""
        units = [unit for assignment in self.of("IFCUNITASSIGNMENT") for unit in self.at(assignment, 0)]
        (unit,) = [each for each in units if self.classes[each] == "IFCSIUNIT" and self.at(each, 1) == ".LENGTHUNIT."]
        prefix: str | None = self.at(unit, 2)
        return prefix

    def position(self, product: int) -> Place:
        """Where a product's own origin lies, in the world."""
        point: Place = (0.0, 0.0, 0.0)
        placement = self.at(product, 5)
        while placement is not None:
            origin, axes = self._frame(self.at(placement, 1))
            turned = [sum(axes[axis][i] * point[axis] for axis in range(3)) for i in range(3)]
            point = (origin[0] + turned[0], origin[1] + turned[1], origin[2] + turned[2])
            placement = self.at(placement, 0)
        return point

    def _frame(self, axis_placement: int) -> tuple[Place, tuple[Place, Place, Place]]:
        """Origin and the three axes of an IfcAxis2Placement3D whose directions are square to each other."""
        location, z, x = (self.at(axis_placement, place) for place in range(3))
        along = AXES[0] if x is None else _unit(self.at(x, 0))
        up = AXES[2] if z is None else _unit(self.at(z, 0))
        across = (
            up[1] * along[2] - up[2] * along[1],
            up[2] * along[0] - up[0] * along[2],
            up[0] * along[1] - up[1] * along[0],
        )
        return tuple(self.at(location, 0)), (along, across, up)


def _unit(direction: list[float]) -> Place:
    length = sum(part * part for part in direction) ** 0.5
    return (direction[0] / length, direction[1] / length, direction[2] / length)


def _values(text: str) -> list[Any]:
    tokens = iter(TOKEN.findall(text + ")"))
    return _list(tokens)


def _list(tokens: Iterator[str]) -> list[Any]:
    """The values up to the closing parenthesis."""
    values: list[Any] = []
    typed = False
    for token in tokens:
        if token == ")":
            return values
        if token == "(":
            inner = _list(tokens)
            values.append(inner[0] if typed else inner)
            typed = False
        elif token[0].isalpha():
            typed = True
        elif token != ",":
            values.append(_value(token))
    raise ValueError("the entity's parentheses don't match")


def _value(token: str) -> Any:
    if token in "$*":
        return None
    if token[0] == "'":
        return token[1:-1].replace("''", "'")
    if token[0] == "#":
        return Ref(token[1:])
    return BOOLEANS.get(token, token) if token[0] == "." else float(token)
