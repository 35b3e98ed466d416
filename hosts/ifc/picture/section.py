"""Horizontal sections of triangle meshes: where a level plane cuts them, and the areas inside."""

import numpy as np

from hosts.ifc.picture.tessellation import Shape


def cut(shape: Shape, height: float) -> tuple[np.ndarray, np.ndarray]:
    """Cut a shape at a height: segments (k, 2, 2) in x and y, and the item that each segment bounds (k,).

    A corner exactly on the plane counts as below it, so outlines stay closed.
    """
    corners = shape.vertices[shape.faces]
    above = corners[:, :, 2] > height
    count = above.sum(axis=1)
    crossing = (count == 1) | (count == 2)
    corners, above = corners[crossing], above[crossing]
    # One corner is alone on its side of the plane; the segment joins the two edges that leave it.
    alone = np.argmax(above == (count[crossing] == 1)[:, None], axis=1)
    row = np.arange(len(corners))
    tip = corners[row, alone]
    ends = []
    for step in (1, 2):
        other = corners[row, (alone + step) % 3]
        share = (height - tip[:, 2]) / (other[:, 2] - tip[:, 2])
        ends.append(tip[:, :2] + share[:, None] * (other[:, :2] - tip[:, :2]))
    return np.stack(ends, axis=1), shape.items[crossing]


def fill(segments: np.ndarray, group: np.ndarray, width: int, height: int) -> np.ndarray:
    """Mask (height, width) of the pixels inside closed outlines, given as segments (k, 2, 2) in pixels.

    Each `group` (k,) is an outline of its own, and holes in it count (even-odd rule). A pixel row in which an outline
    is not closed stays empty.
    """
    mask = np.zeros((height, width), dtype=bool)
    y, x, group = _crossings(segments, group, height)
    if not len(y):
        return mask
    order = np.lexsort((x, y, group))
    y, x, group = y[order], x[order], group[order]
    first = np.flatnonzero(np.r_[True, (np.diff(y) != 0) | (np.diff(group) != 0)])
    size = np.diff(np.r_[first, len(y)])
    place = np.arange(len(y)) - np.repeat(first, size)
    opens = np.flatnonzero((place % 2 == 0) & (np.repeat(size, size) % 2 == 0))
    left = np.clip(np.ceil(x[opens] - 0.5), 0, width).astype(np.int64)
    right = np.clip(np.ceil(x[opens + 1] - 0.5), 0, width).astype(np.int64)
    if not len(opens):
        return mask
    # +1 where a stretch begins, -1 behind its end: the running sum is positive inside. Only the part in use is summed.
    top, west = y[opens].min(), left.min()
    change = np.zeros((y[opens].max() + 1 - top, right.max() + 1 - west), dtype=np.int32)
    np.add.at(change, (y[opens] - top, left - west), 1)
    np.add.at(change, (y[opens] - top, right - west), -1)
    inside = np.cumsum(change, axis=1)[:, :-1] > 0
    mask[top : top + inside.shape[0], west : west + inside.shape[1]] = inside
    return mask


def _crossings(segments: np.ndarray, group: np.ndarray, height: int) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Row number, x and group wherever a segment crosses the middle of a pixel row."""
    y = segments[:, :, 1]
    top = np.clip(np.ceil(y.min(axis=1) - 0.5), 0, height).astype(np.int64)
    bottom = np.clip(np.ceil(y.max(axis=1) - 0.5), 0, height).astype(np.int64)
    number = bottom - top
    which = np.repeat(np.arange(len(segments)), number)
    row = np.arange(len(which)) - np.repeat(np.cumsum(number) - number, number) + top[which]
    start, end = segments[which, 0], segments[which, 1]
    share = (row + 0.5 - start[:, 1]) / (end[:, 1] - start[:, 1])
    return row, start[:, 0] + share * (end[:, 0] - start[:, 0]), group[which]
