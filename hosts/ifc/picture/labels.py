"""Placing text in a plan: each label goes where it covers the least ink and no other label."""

from dataclasses import dataclass

import numpy as np
from PIL import Image, ImageDraw

from hosts.ifc.picture import style

HALO = 2  # pixels of paper around letters
TINT = 225  # greys from here to white are floors, and carry text as well as paper does
# What a place for a label costs: covering other labels wholly, leaving the picture, lying on nothing but black.
COLLISION, OUTSIDE, INK = 8.0, 4.0, 3.0
GRID = np.stack(np.meshgrid(*[np.linspace(0, 1, 13)[1:-1]] * 2), axis=-1).reshape(-1, 2)  # places within a room
MEASURE = ImageDraw.Draw(Image.new("L", (1, 1)))


@dataclass(frozen=True)
class Look:
    """How a label is written."""

    size: int
    colour: style.Colour
    bold: bool = False


class Labels:
    """Writes labels onto a finished plan."""

    def __init__(self, picture: Image.Image) -> None:
        self.draw = ImageDraw.Draw(picture)
        grey = np.asarray(picture.convert("L"), dtype=np.float64)
        self.ink = _sums(np.clip(1.0 - grey / TINT, 0.0, None))
        self.limits = np.array([picture.width, picture.height])
        self.taken = np.empty((0, 4))  # left, top, right, bottom of the labels so far

    def beside(self, text: str, at: np.ndarray, across: np.ndarray, reach: float, look: Look) -> None:
        """Write `text` near the point `at`, on either side of the line through it that `across` (unit) is normal to.

        `reach`: pixels that the thing itself extends along `across`.
        """
        size = _size(text, look)
        half = float(np.abs(across) @ size) / 2
        along = np.array([-across[1], across[0]]) * size.max() / 2
        gap = look.size * 0.45
        spots = np.array(
            [
                at + across * side * (reach + half + gap + far * look.size) + along * shift
                for far in (0.0, 1.0, 2.2)
                for side in (1, -1)
                for shift in (0.0, 0.6, -0.6, 1.2, -1.2)
            ]
        )
        away = np.linalg.norm(spots - at, axis=1)
        best = int(np.argmin(self._cost(spots, size) + away / (60 * look.size)))
        if away[best] > reach + half + gap + 1.5 * look.size:
            self.draw.line([tuple(at), tuple(spots[best])], fill=look.colour, width=1)
        self._write(text, spots[best], size, look)

    def inside(self, lines: list[str], mask: np.ndarray, look: Look) -> None:
        """Write `lines` into the area `mask` (height, width); fewer of them, or none, where they do not fit."""
        rows, columns = np.flatnonzero(mask.any(axis=1)), np.flatnonzero(mask.any(axis=0))
        if not len(rows):
            return
        corner = np.array([columns[0], rows[0]])
        area = mask[rows[0] : rows[-1] + 1, columns[0] : columns[-1] + 1]
        middle = np.flip(np.mean(np.nonzero(area), axis=1)) + corner
        spots = np.vstack([middle, corner + GRID * area.shape[::-1]])
        away = np.linalg.norm(spots - middle, axis=1)
        room = _sums(area.astype(np.float64))
        for count in range(len(lines), 0, -1):
            text = "\n".join(lines[:count])
            size = _size(text, look)
            within, covered = _share(room, spots - corner, size), self._covered(spots, size)
            cost = 4 * (1 - within) + 2 * self._cost(spots, size) + away / (40 * look.size)
            best = int(np.argmin(cost))
            if within[best] > 0.97 and covered[best] < 0.02:
                self._write(text, spots[best], size, look)
                return

    def _cost(self, spots: np.ndarray, size: np.ndarray) -> np.ndarray:
        outside = ((spots - size / 2 < 0) | (spots + size / 2 > self.limits)).any(axis=1)
        return INK * _share(self.ink, spots, size) + COLLISION * self._covered(spots, size) + OUTSIDE * outside

    def _covered(self, spots: np.ndarray, size: np.ndarray) -> np.ndarray:
        """Part of a box around each spot that other labels take."""
        low, high = (spots - size / 2)[:, None], (spots + size / 2)[:, None]
        shared = np.minimum(high, self.taken[:, 2:]) - np.maximum(low, self.taken[:, :2])
        return np.clip(shared, 0, None).prod(axis=2).sum(axis=1) / size.prod()

    def _write(self, text: str, spot: np.ndarray, size: np.ndarray, look: Look) -> None:
        face = style.font(look.size, look.bold)
        looks = {"font": face, "fill": look.colour, "stroke_width": HALO, "stroke_fill": style.PAPER}
        self.draw.multiline_text(tuple(spot), text, anchor="mm", align="center", **looks)
        self.taken = np.vstack([self.taken, [*(spot - size / 2), *(spot + size / 2)]])


def _sums(values: np.ndarray) -> np.ndarray:
    """Sums over every rectangle from the upper left corner, with a leading row and column of zeros."""
    sums = np.zeros((values.shape[0] + 1, values.shape[1] + 1))
    sums[1:, 1:] = values.cumsum(axis=0).cumsum(axis=1)
    return sums


def _size(text: str, look: Look) -> np.ndarray:
    """Width and height (2,) in pixels with the halo, of text that is drawn around its middle."""
    face = style.font(look.size, look.bold)
    left, top, right, bottom = MEASURE.multiline_textbbox((0, 0), text, font=face, anchor="mm", stroke_width=HALO)
    return np.array([2 * max(-left, right), 2 * max(-top, bottom)], dtype=float)


def _share(sums: np.ndarray, spots: np.ndarray, size: np.ndarray) -> np.ndarray:
    """Mean of the values in a box around each spot (n, 2); outside the picture they count as 0."""
    low, high = np.rint(spots - size / 2).astype(int), np.rint(spots + size / 2).astype(int)
    area = np.maximum((high - low).prod(axis=1), 1)
    limits = np.flip(sums.shape) - 1
    (left, top), (right, bottom) = np.clip(low, 0, limits).T, np.clip(high, 0, limits).T
    return (sums[bottom, right] - sums[top, right] - sums[bottom, left] + sums[top, left]) / area
