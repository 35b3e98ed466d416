"""The z-buffer and the sections against plain reckoning, pixel by pixel."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from hosts.ifc.picture import section, tessellation, zbuffer
from hosts.ifc.picture.edges import edges, unit_normals

SIZE = 12
corner = st.tuples(st.integers(-40, 160), st.integers(-40, 160), st.integers(-20, 200))
triangles = st.lists(st.tuples(corner, corner, corner), min_size=1, max_size=6)


def to_array(faces: list) -> np.ndarray:
    # Odd fractions keep corners and edges off the pixel middles, where either answer would be right.
    return np.array(faces, dtype=float) / [10.0, 10.0, 40.0] + [0.013, 0.027, 0.0]


def reckoned(corners: np.ndarray) -> list[list[list[tuple[float, int]]]]:
    """For every pixel the faces that cover its middle, as (depth, face), the nearest first."""
    pixels = []
    for y in range(SIZE):
        pixels.append([])
        for x in range(SIZE):
            hits = []
            for face, (a, b, c) in enumerate(corners):
                matrix = np.array([b[:2] - a[:2], c[:2] - a[:2]]).T
                if abs(np.linalg.det(matrix)) < 1e-6:
                    continue
                u, v = np.linalg.solve(matrix, [x + 0.5 - a[0], y + 0.5 - a[1]])
                depth = a[2] + u * (b[2] - a[2]) + v * (c[2] - a[2])
                if min(u, v, 1 - u - v) >= 0 and depth >= 0:
                    hits.append((depth, face))
            pixels[-1].append(sorted(hits))
    return pixels


@settings(max_examples=40, deadline=None)
@given(triangles)
def test_each_pixel_shows_the_nearest_face_that_covers_its_middle(faces):
    corners = to_array(faces)
    seen = zbuffer.rasterise(corners, SIZE, SIZE)
    for y, row in enumerate(reckoned(corners)):
        for x, hits in enumerate(row):
            if not hits:
                assert seen.face[y, x] == -1
                assert np.isnan(seen.depth[y, x])
                continue
            close = {face for depth, face in hits if depth <= hits[0][0] + 2 * zbuffer.DEPTH_STEP}
            assert seen.face[y, x] in close
            assert seen.depth[y, x] == pytest.approx(hits[0][0], abs=3 * zbuffer.DEPTH_STEP)


def test_of_two_coplanar_faces_the_first_is_seen():
    face = [(0, 0, 50), (110, 0, 50), (0, 110, 50)]
    seen = zbuffer.rasterise(to_array([face, face]), SIZE, SIZE)
    assert set(np.unique(seen.face)) == {-1, 0}


def test_many_rows_in_several_chunks_give_one_picture(monkeypatch):
    generator = np.random.default_rng(3)
    corners = generator.uniform(0, 60, (200, 3, 3))
    whole = zbuffer.rasterise(corners, 60, 60)
    monkeypatch.setattr(zbuffer, "CHUNK", 500)
    assert (zbuffer.rasterise(corners, 60, 60).face == whole.face).all()


def test_no_faces_give_an_empty_picture():
    seen = zbuffer.rasterise(np.empty((0, 3, 3)), 5, 4)
    assert seen.face.tolist() == [[-1] * 5] * 4


def test_a_flat_surface_of_two_triangles_has_no_edge_within_and_an_outline_around():
    square = [(10, 10, 40), (90, 10, 60), (90, 90, 80)], [(10, 10, 40), (90, 90, 80), (10, 90, 60)]
    corners = to_array(list(square))
    seen = zbuffer.rasterise(corners, SIZE, SIZE)
    crease, far, near = edges(seen, np.array([0, 0]), unit_normals(corners))
    assert crease.sum() == 0
    inside = seen.face >= 0
    assert (near | far)[inside].sum() == 4 * 8 - 4
    assert not (near | far)[3:7, 3:7].any()


def solid(low: tuple[float, float, float], high: tuple[float, float, float], item: int = 0) -> tessellation.Shape:
    corners = np.array([[x, y, z] for x in (0, 1) for y in (0, 1) for z in (0, 1)]) * np.subtract(high, low) + low
    sides = [(0, 1, 3, 2), (4, 5, 7, 6), (0, 1, 5, 4), (2, 3, 7, 6), (0, 2, 6, 4), (1, 3, 7, 5)]
    faces = np.array([part for a, b, c, d in sides for part in ((a, b, c), (a, c, d))])
    return tessellation.Shape(corners, faces, np.full(len(faces), item), np.eye(4), (), frozenset())


@settings(deadline=None)
@given(
    low=st.tuples(*[st.integers(1, 20)] * 3),
    size=st.tuples(*[st.integers(1, 20)] * 3),
    share=st.floats(0.01, 0.99),
)
def test_the_section_of_a_box_is_its_rectangle(low, size, share):
    shape = solid(low, tuple(np.add(low, size)))
    segments, items = section.cut(shape, low[2] + share * size[2])
    mask = section.fill(segments, items, 50, 50)
    y, x = np.nonzero(mask)
    assert (x.min(), y.min(), x.max() + 1, y.max() + 1) == (low[0], low[1], low[0] + size[0], low[1] + size[1])
    assert mask.sum() == size[0] * size[1]


@pytest.mark.parametrize("height", [0.5, 9.0])
def test_a_plane_below_or_above_cuts_nothing(height):
    segments, items = section.cut(solid((1, 1, 1), (5, 5, 5)), height)
    assert len(segments) == len(items) == 0
    assert not section.fill(segments, items, 10, 10).any()


def test_a_plane_through_the_top_face_still_closes_the_outline():
    segments, items = section.cut(solid((1, 1, 1), (5, 5, 5)), 1.0)
    assert section.fill(segments, items, 10, 10).sum() == 16


def test_an_outline_within_another_of_the_same_item_is_a_hole_and_of_another_item_is_not():
    outer, _ = section.cut(solid((1, 1, 0), (9, 9, 2)), 1.0)
    inner, _ = section.cut(solid((3, 3, 0), (6, 6, 2)), 1.0)
    both = np.concatenate([outer, inner])
    same = np.zeros(len(both), dtype=int)
    other = np.repeat([0, 1], [len(outer), len(inner)])
    assert section.fill(both, same, 12, 12).sum() == 64 - 9
    assert section.fill(both, other, 12, 12).sum() == 64


def test_rows_in_which_an_outline_is_open_stay_empty():
    segments, items = section.cut(solid((1, 1, 0), (9, 9, 2)), 1.0)
    vertical = segments[:, 0, 0] == segments[:, 1, 0]
    left = vertical & (segments[:, 0, 0] == 1)
    assert section.fill(segments[~left], items[~left], 12, 12).sum() == 0
