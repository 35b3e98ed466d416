"""What a script changed, told as elements: added, modified and deleted objects (products, types, storeys, project).

The exact difference of two texts names raw entities. To say which elements a raw entity belongs to:

- An object is itself. A type that changed changed for all its occurrences.
- Anything else is followed upwards, from what is referred to to what refers to it, until objects are reached.
- A relation concerns the members that entered or left it; if it changed otherwise, all its members.
- Who is placed relative to what moved, drawn in a context that changed, or stamped with an edited owner history,
  did not change.

Deleted and added entities need no following: whatever referred to them has itself a changed line.
"""

from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from functools import cache

import ifcopenshell
from ifcopenshell import ifcopenshell_wrapper

from hosts.ifc import step
from hosts.ifc.step import Line

NOT_FOLLOWED = frozenset(("OwnerHistory", "PlacementRelTo", "ContextOfItems"))
SHAPE = frozenset(("Representation", "ObjectPlacement", "RepresentationMaps"))
DESCRIPTIVE = frozenset(("GlobalId", "OwnerHistory", "Name", "Description"))
# Relations between two elements that concern both of them, and those that cut or extend the first one's shape.
MUTUAL = frozenset(
    (
        "IfcRelVoidsElement",
        "IfcRelProjectsElement",
        "IfcRelConnectsElements",
        "IfcRelConnectsPorts",
        "IfcRelInterferesElements",
        "IfcRelSequence",
    )
)
SHAPING = frozenset(("IfcRelVoidsElement", "IfcRelProjectsElement"))
# Entities that refer to what they say something about; no attribute of the latter shows that they came or went.
STATEMENTS = {
    "IfcStyledItem": "Item",
    "IfcPresentationLayerAssignment": "AssignedItems",
    "IfcIndexedColourMap": "MappedTo",
    "IfcShapeAspect": "PartOfProductDefinitionShape",
    "IfcMaterialDefinitionRepresentation": "RepresentedMaterial",
    "IfcMaterialProperties": "Material",
    "IfcProfileProperties": "ProfileDefinition",
    "IfcCoordinateOperation": "SourceCRS",
    "IfcExternalReferenceRelationship": "RelatedResourceObjects",
}


@dataclass(frozen=True)
class Changes:
    """Element ids, ascending; `entities` counts raw STEP entities {added, modified, deleted}."""

    added: list[int] = field(default_factory=list)
    modified: list[int] = field(default_factory=list)
    deleted: list[int] = field(default_factory=list)
    geometry: bool = False
    entities: dict[str, int] = field(default_factory=lambda: {"added": 0, "modified": 0, "deleted": 0})

    def by_kind(self) -> dict[str, list[int]]:
        """{added, modified, deleted} as the wire contract has it."""
        return {"added": self.added, "modified": self.modified, "deleted": self.deleted}


def between(before: str, after: str, model: ifcopenshell.file) -> Changes:
    """Changes from one text to another; `model` is what the second one says."""
    if before == after:
        return Changes()
    found = step.difference(before, after)
    trace = _Trace(model)
    for number in found.added | found.deleted | found.modified:
        old, new = found.before.get(number), found.after.get(number)
        trace.follow_line(number, old and step.parse(old), new and step.parse(new))
    trace.follow_references()
    modified = trace.modified - trace.added - trace.deleted
    return Changes(sorted(trace.added), sorted(modified), sorted(trace.deleted), trace.geometry, found.counts())


@dataclass(frozen=True)
class _Class:
    """What matters of an IFC class.

    `members`: positions of the attributes by which a relation or a statement refers to those it is about; empty for
    every other class. `relating`: positions of the attributes at a relation's other end.
    """

    attributes: tuple[str, ...]
    is_object: bool
    is_product: bool
    is_type: bool
    is_mutual: bool
    is_shaping: bool
    members: tuple[int, ...]
    relating: tuple[int, ...]


class _Trace:
    """Collects the elements that raw changes lead to."""

    def __init__(self, model: ifcopenshell.file):
        self.added: set[int] = set()
        self.modified: set[int] = set()
        self.deleted: set[int] = set()
        self.geometry = False
        self._model = model
        self._waiting: list[ifcopenshell.entity_instance] = []
        self._followed: set[int] = set()
        self._occurrences = "ObjectTypeOf" if model.schema == "IFC2X3" else "Types"

    def follow_line(self, number: int, old: Line | None, new: Line | None) -> None:
        """Take in one changed line; None where the entity didn't or doesn't exist."""
        was = old and self._class(old.ifc_class)
        now = new and self._class(new.ifc_class)
        if was and now and was.is_object and now.is_object and not self._is_other_object(old, new):
            self._modify(self._model.by_id(number))
            self.geometry |= bool(SHAPE & {now.attributes[index] for index in _differing(was, old, now, new)})
            return
        for kind, collected in ((was, self.deleted), (now, self.added)):
            if kind and kind.is_object:
                collected.add(number)
                self.geometry |= kind.is_product
        if was and was.members and was is now:
            self._follow_changed_link(was, old, new)
        else:
            self._follow_link(was, old)
            self._follow_link(now, new)
        if was and now and not now.is_object:
            self._waiting.append(self._model.by_id(number))

    def follow_references(self) -> None:
        """Go upwards from everything that was taken in, until objects are reached."""
        while self._waiting:
            entity = self._waiting.pop()
            if entity.id() in self._followed or entity.is_a("IfcOwnerHistory"):
                continue
            self._followed.add(entity.id())
            pairs = self._model.get_inverse(entity, allow_duplicate=True, with_attribute_indices=True)
            for referrer, index in pairs:
                self._reach(referrer, self._class(referrer.is_a()), index)

    def _reach(self, entity: ifcopenshell.entity_instance, kind: _Class, index: int) -> None:
        """Something that `entity` refers to by the attribute at `index` has changed."""
        attribute = kind.attributes[index]
        if attribute in NOT_FOLLOWED:
            return
        if kind.is_object:
            self._modify(entity)
            self.geometry |= attribute in SHAPE
        elif index not in kind.members:
            for member in kind.members:
                self._touch(_ids(entity[member]))
            self._waiting.append(entity)

    def _follow_link(self, kind: _Class | None, line: Line | None) -> None:
        """A relation or statement came or went: it concerns all whom it is about."""
        if kind and kind.members:
            self._concern(kind, line.references(*kind.members), line.references(*kind.relating))

    def _follow_changed_link(self, kind: _Class, old: Line, new: Line) -> None:
        """It concerns those that entered or left; when it says something else now, all."""
        before, after = (line.references(*kind.members) for line in (old, new))
        relating = old.references(*kind.relating) | new.references(*kind.relating)
        differing = [
            index
            for index in _differing(kind, old, kind, new)
            if kind.attributes[index] not in DESCRIPTIVE
            and not (index in kind.members and (old.references(index) or new.references(index)))
        ]
        concerned = before | after if differing else before ^ after
        if concerned:
            self._concern(kind, concerned, relating)

    def _concern(self, kind: _Class, members: set[int], relating: set[int]) -> None:
        self.geometry |= kind.is_shaping
        self._touch(members | relating if kind.is_mutual else members)

    def _touch(self, numbers: Iterable[int]) -> None:
        """These entities count as changed, as far as they still exist."""
        for number in numbers:
            try:
                entity = self._model.by_id(number)
            except RuntimeError:
                continue
            if self._class(entity.is_a()).is_object:
                self._modify(entity)
            else:
                self._waiting.append(entity)

    def _modify(self, element: ifcopenshell.entity_instance) -> None:
        if element.id() in self.modified:
            return
        self.modified.add(element.id())
        if self._class(element.is_a()).is_type:
            for relation in getattr(element, self._occurrences):
                self.modified.update(occurrence.id() for occurrence in relation.RelatedObjects)

    def _is_other_object(self, old: Line, new: Line) -> bool:
        """An id can be used again after its entity was deleted; then neither class nor GlobalId stay."""
        return old.ifc_class != new.ifc_class and old.attributes[0] != new.attributes[0]

    def _class(self, name: str) -> _Class:
        return _class(self._model.schema_identifier, name)


@cache
def _class(schema_identifier: str, name: str) -> _Class:
    entity = ifcopenshell_wrapper.schema_by_name(schema_identifier).declaration_by_name(name).as_entity()
    ancestors = set()
    ancestor = entity
    while ancestor is not None:
        ancestors.add(ancestor.name())
        ancestor = ancestor.supertype()
    names = tuple(attribute.name() for attribute in entity.all_attributes())
    is_relation = "IfcRelationship" in ancestors
    about = {about for statement, about in STATEMENTS.items() if statement in ancestors}
    return _Class(
        attributes=names,
        is_object="IfcObjectDefinition" in ancestors,
        is_product="IfcProduct" in ancestors,
        is_type="IfcTypeObject" in ancestors,
        is_mutual=not ancestors.isdisjoint(MUTUAL),
        is_shaping=not ancestors.isdisjoint(SHAPING),
        members=_positions(names, lambda name: name in about or (is_relation and name.startswith("Related"))),
        relating=_positions(names, lambda name: is_relation and name.startswith("Relating")),
    )


def _positions(names: tuple[str, ...], wanted: Callable[[str], bool]) -> tuple[int, ...]:
    return tuple(index for index, name in enumerate(names) if wanted(name))


def _differing(was: _Class, old: Line, now: _Class, new: Line) -> list[int]:
    """Positions in the new line whose attribute had another value, or wasn't there, in the old one."""
    values = dict(zip(was.attributes, old.attributes, strict=True))
    named = zip(now.attributes, new.attributes, strict=True)
    return [index for index, (name, value) in enumerate(named) if values.get(name) != value]


def _ids(value: object) -> list[int]:
    """Ids of the entities in an attribute's value."""
    if isinstance(value, ifcopenshell.entity_instance):
        return [value.id()]
    if isinstance(value, tuple):
        return [number for item in value for number in _ids(item)]
    return []
