"""STEP text as `to_string` writes it: one entity in one line, `#12=IFCDOOR('guid',#5,$,'name',...);`."""

import re
from dataclasses import dataclass

TOKEN = re.compile(r"'(?:[^']|'')*'|[(),]|[^'(),]+")
REFERENCE = re.compile(r"#(\d+)")
STRING = re.compile(r"'(?:[^']|'')*'")


@dataclass(frozen=True)
class Line:
    """One entity: its class in capitals and its attributes as they are written, in schema order."""

    ifc_class: str
    attributes: tuple[str, ...]

    def references(self, *indices: int) -> set[int]:
        """Ids that these attributes refer to, at any depth."""
        written = " ".join(self.attributes[index] for index in indices)
        return {int(number) for number in REFERENCE.findall(STRING.sub("", written))}


@dataclass(frozen=True)
class Difference:
    """Lines that differ between two texts, by entity id; a modified id is in both."""

    before: dict[int, str]
    after: dict[int, str]

    @property
    def added(self) -> set[int]:
        return self.after.keys() - self.before.keys()

    @property
    def deleted(self) -> set[int]:
        return self.before.keys() - self.after.keys()

    @property
    def modified(self) -> set[int]:
        return self.before.keys() & self.after.keys()

    def counts(self) -> dict[str, int]:
        """Raw entity counts {added, modified, deleted}."""
        return {"added": len(self.added), "modified": len(self.modified), "deleted": len(self.deleted)}


def difference(before: str, after: str) -> Difference:
    """Which entities differ. A line names its own id, so sets of lines are enough to tell; the header has no part."""
    lines_before, lines_after = set(before.split("\n")), set(after.split("\n"))
    return Difference(_by_id(lines_before - lines_after), _by_id(lines_after - lines_before))


def parse(line: str) -> Line:
    """Split an entity's line into its class and attributes."""
    start = line.index("(")
    attributes: list[str] = []
    written: list[str] = []
    depth = 0
    for token in TOKEN.findall(line[start:]):
        if token == ")":
            depth -= 1
        if depth == 0 or (depth == 1 and token == ","):
            if written or token == ",":
                attributes.append("".join(written))
            written = []
            if depth == 0 and token == ")":
                break
        else:
            written.append(token)
        if token == "(":
            depth += 1
    return Line(line[line.index("=") + 1 : start].strip(), tuple(attributes))


def _by_id(lines: set[str]) -> dict[int, str]:
    return {int(line[1 : line.index("=")]): line for line in lines if line.startswith("#")}
