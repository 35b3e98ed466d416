"""Triangles of products, kept between pictures and made again only for what changed.

A shape is stale when its product, or anything that shapes or places it (type, openings, whole, whatever it is placed
relative to), was changed: `forget` is told so by id. Links that came or went are noticed without being told, because
each shape remembers them. Lengths are metres, coordinates are the model's own world.
"""

from collections.abc import Iterable
from dataclasses import dataclass

import ifcopenshell
import ifcopenshell.geom
import ifcopenshell.util.element
import numpy as np

Entity = ifcopenshell.entity_instance
# The first kernel is about three times faster; it gives some solids no faces, and those are tried with the second.
KERNELS = ("hybrid-cgal-simple-opencascade", "opencascade")
NOT_DRAWN = ("IfcFeatureElement", "IfcAnnotation", "IfcGrid", "IfcVirtualElement", "IfcPort")
NOT_DRAWN_SPATIAL = ("IfcSpatialElement", "IfcSpatialStructureElement")  # the first since IFC4, the second before


@dataclass(frozen=True)
class Shape:
    """Triangles of one product; no faces when it has no drawable geometry.

    `vertices` (n, 3) float, `faces` (m, 3) int, `items` (m,) int: which representation item each face belongs to.
    `matrix` (4, 4): the product's placement. `links`: what the shape was made from. `sources`: ids whose change makes
    it stale.
    """

    vertices: np.ndarray
    faces: np.ndarray
    items: np.ndarray
    matrix: np.ndarray
    links: tuple[object, ...]
    sources: frozenset[int]

    @property
    def bottom(self) -> float:
        """Lowest point in metres."""
        return float(self.vertices[:, 2].min())

    @property
    def top(self) -> float:
        """Highest point in metres."""
        return float(self.vertices[:, 2].max())


def drawable(model: ifcopenshell.file) -> list[Entity]:
    """Products that a picture shows: all with a representation, less rooms, the site, openings and annotations."""
    hidden = (*NOT_DRAWN, *NOT_DRAWN_SPATIAL)
    products = model.by_type("IfcProduct")
    return [p for p in products if p.Representation and not any(p.is_a(name) for name in hidden)]


def shapes(model: ifcopenshell.file, products: Iterable[Entity], cache: dict) -> dict[int, Shape]:
    """Shapes of `products` by id, taken from the cache where they still hold; products without faces are left out."""
    kept: dict[int, Shape] = cache.setdefault("shapes", {})
    _drop_forgotten(model, cache, kept)
    owners: dict[int, tuple[int, ...]] = {}
    wanted = {product.id(): product for product in products}
    facts = {number: _links_and_sources(product, owners) for number, product in wanted.items()}
    missing = [p for number, p in wanted.items() if number not in kept or kept[number].links != facts[number][0]]
    for product in missing:
        kept[product.id()] = _empty(*facts[product.id()])
    for kernel in KERNELS:
        empty = [product for product in missing if not len(kept[product.id()].faces)]
        for element in _tessellate(model, empty, kernel):
            kept[element.id] = _shape(element, *facts[element.id])
    return {number: kept[number] for number in wanted if len(kept[number].faces)}


def forget(cache: dict, element_ids: Iterable[int]) -> None:
    """Note elements that were changed or deleted; their shapes, and those that depend on them, are made again."""
    cache.setdefault("forgotten", set()).update(element_ids)


def _drop_forgotten(model: ifcopenshell.file, cache: dict, kept: dict[int, Shape]) -> None:
    forgotten: set[int] = cache.pop("forgotten", set())
    for number, shape in list(kept.items()):
        if number in forgotten or not shape.sources.isdisjoint(forgotten):
            del kept[number]
    if any(_concerns_all(model, number) for number in forgotten):
        kept.clear()


def _concerns_all(model: ifcopenshell.file, number: int) -> bool:
    """Whether an entity is neither product nor type: a project holds units and contexts, the rest is not known."""
    try:
        entity = model.by_id(number)
    except RuntimeError:  # deleted: the shapes made from it name it as a source
        return False
    return not (entity.is_a("IfcProduct") or entity.is_a("IfcTypeProduct"))


def _tessellate(model: ifcopenshell.file, products: list[Entity], kernel: str) -> Iterable[object]:
    if not products:
        return ()
    settings = ifcopenshell.geom.settings()
    # Local coordinates: the kernel then computes a mapped shape once for all products that share it.
    settings.set("use-world-coords", False)
    settings.set("no-normals", True)
    # One thread, because the process that draws may fork.
    return ifcopenshell.geom.iterator(settings, model, num_threads=1, include=products, geometry_library=kernel)


def _shape(element: object, links: tuple[object, ...], sources: frozenset[int]) -> Shape:
    geometry = element.geometry
    matrix = np.array(element.transformation.matrix, dtype=float).reshape(4, 4).T
    local = np.frombuffer(geometry.verts_buffer, dtype=float).reshape(-1, 3)
    faces = np.frombuffer(geometry.faces_buffer, dtype=np.int32).reshape(-1, 3).copy()
    items = np.frombuffer(geometry.item_ids_buffer, dtype=np.int32).copy()
    return Shape(local @ matrix[:3, :3].T + matrix[:3, 3], faces, items, matrix, links, sources)


def _empty(links: tuple[object, ...], sources: frozenset[int]) -> Shape:
    faces = np.empty((0, 3), dtype=np.int32)
    return Shape(np.empty((0, 3)), faces, np.empty(0, dtype=np.int32), np.eye(4), links, sources)


def _links_and_sources(
    product: Entity, owners: dict[int, tuple[int, ...]]
) -> tuple[tuple[object, ...], frozenset[int]]:
    """What the product's shape hangs on: as links to compare, and as the ids of the elements at their other ends."""
    product_type = ifcopenshell.util.element.get_type(product)
    sources = set(_placement_owners(product.ObjectPlacement, owners))
    if product_type is not None:
        sources.add(product_type.id())
    features = []
    whole: Entity | None = product
    while whole is not None and whole.is_a("IfcElement"):  # an opening in a whole cuts its parts too
        sources.add(whole.id())
        for relation in (*getattr(whole, "HasOpenings", ()), *getattr(whole, "HasProjections", ())):
            feature = relation[5]
            features.append(feature.id())
            sources.update(_placement_owners(feature.ObjectPlacement, owners))
        whole = next((relation.RelatingObject for relation in whole.Decomposes), None)
    sources.update(features)
    placement = product.ObjectPlacement
    links = (
        product.GlobalId,
        product.Representation.id(),
        placement.id() if placement else None,
        product_type.id() if product_type else None,
        tuple(sorted(features)),
    )
    return links, frozenset(sources)


def _placement_owners(placement: Entity | None, owners: dict[int, tuple[int, ...]]) -> tuple[int, ...]:
    """Ids of the products that use this placement or one that it is relative to."""
    if placement is None:
        return ()
    number = placement.id()
    if number not in owners:
        own = tuple(product.id() for product in placement.PlacesObject)
        above = placement.PlacementRelTo if placement.is_a("IfcLocalPlacement") else None
        owners[number] = own + _placement_owners(above, owners)
    return owners[number]
