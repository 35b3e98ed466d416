"""Storeys of a model: their heights in metres, which one a name means, and which products stand on which."""

from dataclasses import dataclass

import ifcopenshell
import ifcopenshell.util.placement
import ifcopenshell.util.unit

Entity = ifcopenshell.entity_instance


@dataclass(frozen=True)
class Storey:
    """One IfcBuildingStorey; `elevation` is the height of its floor in world metres."""

    id: int
    name: str
    long_name: str
    global_id: str
    elevation: float


def storeys(model: ifcopenshell.file) -> list[Storey]:
    """All storeys from the lowest to the highest."""
    scale = ifcopenshell.util.unit.calculate_unit_scale(model)
    found = [
        Storey(s.id(), s.Name or "", s.LongName or "", s.GlobalId, _elevation(s, scale))
        for s in model.by_type("IfcBuildingStorey")
    ]
    return sorted(found, key=lambda storey: (storey.elevation, storey.id))


def _elevation(storey: Entity, scale: float) -> float:
    # The placement is where the geometry stands; the attribute may be relative to another datum.
    if storey.ObjectPlacement is not None:
        return float(ifcopenshell.util.placement.get_local_placement(storey.ObjectPlacement)[2][3]) * scale
    return (storey.Elevation or 0.0) * scale


def find(known: list[Storey], wanted: str) -> Storey:
    """The storey that `wanted` means: by Name in any case, else by LongName, else by GlobalId.

    Raises ValueError, which names the storeys there are.
    """
    text = wanted.strip()
    for matches in (
        lambda storey: storey.name.casefold() == text.casefold(),
        lambda storey: storey.long_name.casefold() == text.casefold(),
        lambda storey: storey.global_id == text,
    ):
        for storey in known:
            if matches(storey):
                return storey
    if not known:
        raise ValueError(f"No storey is called {wanted!r}: the model has no storeys.")
    names = ", ".join(repr(storey.name or storey.global_id) for storey in known)
    raise ValueError(f"No storey is called {wanted!r}. The storeys are: {names}.")


def membership(model: ifcopenshell.file) -> dict[int, int]:
    """Product id -> storey id, for what a storey contains directly, in its rooms, or as a part of either.

    What fills an opening of a wall and is contained nowhere stands on the wall's storey.
    """
    placed: dict[int, int] = {}
    queue = [(storey, storey.id()) for storey in model.by_type("IfcBuildingStorey")]
    while queue:
        whole, storey = queue.pop()
        for relation in (*getattr(whole, "ContainsElements", ()), *whole.IsDecomposedBy):
            members = relation.RelatedElements if relation.is_a("IfcRelContainedInSpatialStructure") else ()
            members = members or getattr(relation, "RelatedObjects", ())
            for member in members:
                if member.id() not in placed and not member.is_a("IfcBuildingStorey"):
                    placed[member.id()] = storey
                    queue.append((member, storey))
    for relation in model.by_type("IfcRelFillsElement"):
        opening, filling = relation.RelatingOpeningElement, relation.RelatedBuildingElement
        for void in opening.VoidsElements:
            host = placed.get(void.RelatingBuildingElement.id())
            if host is not None:
                placed.setdefault(filling.id(), host)
    return placed
