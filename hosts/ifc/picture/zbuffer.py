"""A z-buffer in numpy: which face is seen in each pixel, and how deep it lies.

Faces are cut into rows, rows into pixels, all at once; `np.minimum.at` keeps the nearest. No loop runs over faces.
"""

import itertools
import math

import numpy as np

CHUNK = 2_000_000  # pixels tested at once: bounds the memory at about 150 MB
DEPTH_STEP = 0.0005  # metres; nearer than this is the same depth, and the face with the lower index wins


class Buffer:
    """What a rasterised picture holds: `face` (height x width, index or -1) and `depth` (same shape, metres, nan)."""

    def __init__(self, width: int, height: int) -> None:
        self.width, self.height = width, height
        self.face = np.full((height, width), -1, dtype=np.int32)
        self.depth = np.full((height, width), np.nan, dtype=np.float32)


def rasterise(corners: np.ndarray, width: int, height: int) -> Buffer:
    """Find the nearest face in every pixel of a `width` x `height` picture.

    `corners`: (faces, 3, 3) float: x to the right and y down in pixels, depth in metres growing away from the eye.
    A pixel belongs to a face that covers its middle. Faces with a depth below 0 anywhere are cut off there: they lie
    before the front plane.
    """
    result = Buffer(width, height)
    if not len(corners) or width < 1 or height < 1:
        return result
    plane, usable = _depth_planes(corners)
    rows = _rows(corners, usable, width, height)
    faces = len(corners)
    # A key must stay exact in a float; only for absurdly deep models does that need a coarser step.
    step = max(DEPTH_STEP, float(corners[:, :, 2].max()) * faces / 2**52)
    nearest = np.full(width * height, np.inf)
    for part in _chunks(rows["count"]):
        _test(nearest, plane, {name: values[part] for name, values in rows.items()}, width, step)
    pixel = np.flatnonzero(np.isfinite(nearest))
    face = (nearest[pixel] % faces).astype(np.int32)
    a, b, c = plane[face].T
    y, x = np.divmod(pixel, width)
    result.face.flat[pixel] = face
    result.depth.flat[pixel] = a * (x + 0.5) + b * (y + 0.5) + c
    return result


def _depth_planes(corners: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """depth = a x + b y + c for every face: (faces, 3), and which faces are not seen edge-on."""
    first, second, third = corners[:, 0], corners[:, 1], corners[:, 2]
    u, v = second - first, third - first
    area = u[:, 0] * v[:, 1] - u[:, 1] * v[:, 0]
    usable = np.abs(area) > 1e-6
    area = np.where(usable, area, 1.0)
    a = (u[:, 2] * v[:, 1] - v[:, 2] * u[:, 1]) / area
    b = (v[:, 2] * u[:, 0] - u[:, 2] * v[:, 0]) / area
    c = first[:, 2] - a * first[:, 0] - b * first[:, 1]
    return np.stack([a, b, c], axis=1), usable


def _rows(corners: np.ndarray, usable: np.ndarray, width: int, height: int) -> dict[str, np.ndarray]:
    """Every pixel row of every face: `face`, `y`, first pixel `x`, and `count` of pixels."""
    y = corners[:, :, 1]
    top = np.clip(np.ceil(y.min(axis=1) - 0.5), 0, height).astype(np.int64)
    bottom = np.clip(np.ceil(y.max(axis=1) - 0.5), 0, height).astype(np.int64)
    number = np.where(usable, bottom - top, 0)
    face = np.repeat(np.arange(len(corners)), number)
    row = np.arange(len(face)) - np.repeat(np.cumsum(number) - number, number) + top[face]
    middle = row + 0.5
    left, right = np.full(len(face), np.inf), np.full(len(face), -np.inf)
    for start, end in ((0, 1), (1, 2), (2, 0)):
        ax, ay = corners[face, start, 0], corners[face, start, 1]
        bx, by = corners[face, end, 0], corners[face, end, 1]
        crossed = (ay <= middle) != (by <= middle)
        rise = np.where(crossed, by - ay, 1.0)
        x = ax + (middle - ay) * (bx - ax) / rise
        left = np.where(crossed & (x < left), x, left)
        right = np.where(crossed & (x > right), x, right)
    first = np.clip(np.ceil(left - 0.5), 0, width)
    count = np.clip(np.ceil(right - 0.5), 0, width) - first
    kept = count > 0
    return {
        "face": face[kept],
        "y": row[kept],
        "x": first[kept].astype(np.int64),
        "count": count[kept].astype(np.int64),
    }


def _chunks(count: np.ndarray) -> list[slice]:
    """Slices of the rows that hold about CHUNK pixels each."""
    total = np.cumsum(count)
    if not len(total):
        return []
    marks = np.arange(1, math.ceil(total[-1] / CHUNK)) * CHUNK
    edges = [0, *(np.searchsorted(total, marks) + 1), len(total)]
    return [slice(start, end) for start, end in itertools.pairwise(edges) if end > start]


def _test(nearest: np.ndarray, plane: np.ndarray, rows: dict[str, np.ndarray], width: int, step: float) -> None:
    """Test all pixels of these rows against the nearest so far; a key is depth in steps x number of faces + face."""
    face, x, y, count = rows["face"], rows["x"], rows["y"], rows["count"]
    a, b, c = plane[face].T
    start = (a * (x + 0.5) + b * (y + 0.5) + c) / step
    offset = np.cumsum(count) - count
    along = np.arange(int(count.sum()), dtype=np.float64)
    # start + a * (pixel - first pixel), with the subtraction moved out of the per-pixel work
    depth = np.repeat(start - offset * (a / step), count)
    depth += np.repeat(a / step, count) * along
    np.floor(depth, out=depth)
    behind_front = depth >= 0
    depth *= len(plane)
    depth += np.repeat(face.astype(np.float64), count)
    pixel = np.repeat(y * width + x - offset, count)
    pixel += np.arange(len(pixel))
    if not behind_front.all():
        pixel, depth = pixel[behind_front], depth[behind_front]
    np.minimum.at(nearest, pixel, depth)
