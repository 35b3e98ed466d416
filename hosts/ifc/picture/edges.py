"""Edges of a rasterised picture: where one product ends, a face turns, or a face stands before another."""

import numpy as np

from hosts.ifc.picture import zbuffer

KINK = 0.05  # metres that depth may bend over three pixels before an edge is seen
SHARP = 0.9  # cosine between two faces below which the edge between them is drawn
UP, DOWN, LEFT, RIGHT, ALL = slice(None, -1), slice(1, None), slice(None, -1), slice(1, None), slice(None)
NEIGHBOURS = (((UP, ALL), (DOWN, ALL)), ((ALL, LEFT), (ALL, RIGHT)))
MIDDLE, FIRST, LAST = slice(1, -1), slice(None, -2), slice(2, None)
LINES = (((FIRST, ALL), (MIDDLE, ALL), (LAST, ALL)), ((ALL, FIRST), (ALL, MIDDLE), (ALL, LAST)))


def unit_normals(corners: np.ndarray) -> np.ndarray:
    """Unit normals (faces, 3) of triangles (faces, 3, 3); zero for triangles without area."""
    normals = np.cross(corners[:, 1] - corners[:, 0], corners[:, 2] - corners[:, 0])
    return normals / np.maximum(np.linalg.norm(normals, axis=1, keepdims=True), 1e-12)


def edges(seen: zbuffer.Buffer, owner: np.ndarray, normals: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Masks (height, width) of edge pixels: creases and steps within a product, the far and the near side of outlines.

    `owner` (faces,): which product a face belongs to. `normals` (faces, 3): unit normals, turned towards the eye.
    """
    whose = np.append(owner, -1)[seen.face]
    crease = np.zeros(whose.shape, dtype=bool)
    outline, outline_far = crease.copy(), crease.copy()
    for here, there in NEIGHBOURS:
        differs = whose[here] != whose[there]
        outline[here] |= differs
        outline_far[there] |= differs
        y, x = np.nonzero((seen.face[here] != seen.face[there]) & ~differs)
        first, second = normals[seen.face[here][y, x]], normals[seen.face[there][y, x]]
        sharp = np.einsum("ij,ij->i", first, second) < SHARP
        crease[y[sharp], x[sharp]] = True
    # Depth is linear over a flat face, so its second difference is zero except where one face stands before another.
    for before, here, after in LINES:
        bend = np.abs(seen.depth[before] + seen.depth[after] - 2 * seen.depth[here])
        crease[here] |= bend > KINK
    outline_far &= ~outline
    crease &= ~(outline | outline_far)
    return crease, outline_far, outline


def darken(pixels: np.ndarray, where: np.ndarray, factor: float) -> None:
    """Multiply the pixels (height, width, 3) under a mask by a factor below 1, in place."""
    flat = pixels.reshape(-1, 3)
    index = np.flatnonzero(where)
    flat[index] = (flat[index] * factor).astype(np.uint8)
