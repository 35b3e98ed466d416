"""The isometric picture: seen from the south-east and above, flat shaded, with dark edges.

Highlighted elements are orange. What lies above their storey is left out, and where a highlighted element is still
behind something it shines through.
"""

from dataclasses import dataclass

import numpy as np
from PIL import Image

from hosts.ifc.picture import style, zbuffer
from hosts.ifc.picture.edges import darken, edges, unit_normals
from hosts.ifc.picture.tessellation import Shape

# Rows: right, down, and away from the eye, in world axes. The view is along (-1, 1, -1): from the south-east corner.
VIEW = np.array([[1, 1, 0], [1, -1, -2], [-1, 1, -1]]) / np.sqrt([[2], [6], [3]])
LIGHT = (0.3, -0.75, 1.5)
DARKEST = 0.80
MARGIN = 0.05  # of the picture, on each side
TINY = 0.16  # highlighted elements smaller than this part of the view get a closer one
SURROUNDINGS, SMALLEST_VIEW = 5.0, 8.0  # times their size; metres
SUPERSAMPLED_PIXELS = 13_000_000  # four samples per pixel up to here, one above


@dataclass(frozen=True)
class Solid:
    """A shape to draw: its class, and whether it is highlighted."""

    shape: Shape
    ifc_class: str
    highlighted: bool


def draw(solids: list[Solid], width: int, height: int) -> Image.Image:
    """The picture of `solids` (at least one), `width` x `height` pixels."""
    samples = 2 if width * height * 4 <= SUPERSAMPLED_PIXELS else 1
    # Highlighted first: of two coplanar faces the one with the lower index is seen.
    solids = sorted(solids, key=lambda solid: not solid.highlighted)
    world = np.concatenate([solid.shape.vertices[solid.shape.faces] for solid in solids])
    owner = np.repeat(np.arange(len(solids)), [len(solid.shape.faces) for solid in solids])
    corners = _project(world, solids, width * samples, height * samples)
    normals = unit_normals(world)
    normals = np.where((normals @ VIEW[2] > 0)[:, None], -normals, normals)  # files disagree on what is outside
    seen = zbuffer.rasterise(corners, width * samples, height * samples)
    # Face -1, nothing seen, takes the last colour.
    palette = np.vstack([_colours(solids, owner, normals), style.PAPER]).astype(np.uint8)
    pixels = np.take(palette, seen.face, axis=0)
    crease, outline_far, outline = edges(seen, owner, normals)
    for factor, where in ((0.72, crease), (0.6, outline_far), (0.38, outline)):
        darken(pixels, where, factor)
    _shine_through(pixels, seen, corners, owner, solids)
    picture = Image.fromarray(pixels)
    return picture.reduce(samples) if samples > 1 else picture


def _project(world: np.ndarray, solids: list[Solid], width: int, height: int) -> np.ndarray:
    """World corners (faces, 3, 3) to pixels and depth, so that the frame of interest fills the picture."""
    view = world @ VIEW.T
    low, high = _frame(view, solids, width / height)
    room = 1 - 2 * MARGIN
    scale = min(width * room / max(high[0] - low[0], 1e-6), height * room / max(high[1] - low[1], 1e-6))
    middle = (low + high) / 2
    view[:, :, 0] = (view[:, :, 0] - middle[0]) * scale + width / 2
    view[:, :, 1] = (view[:, :, 1] - middle[1]) * scale + height / 2
    view[:, :, 2] -= view[:, :, 2].min()
    return view


def _frame(view: np.ndarray, solids: list[Solid], aspect: float) -> tuple[np.ndarray, np.ndarray]:
    """Lower and upper bound (x, y) of what to show: everything, or a part when the highlighted ones are tiny in it."""
    points = view[:, :, :2].reshape(-1, 2)
    low, high = points.min(axis=0), points.max(axis=0)
    count = 3 * sum(len(solid.shape.faces) for solid in solids if solid.highlighted)
    if not count:
        return low, high
    inner_low, inner_high = points[:count].min(axis=0), points[:count].max(axis=0)
    size = inner_high - inner_low
    if (size > TINY * (high - low)).any():
        return low, high
    tall = max(size[1], size[0] / aspect, SMALLEST_VIEW / SURROUNDINGS) * SURROUNDINGS
    half = np.array([tall * aspect, tall]) / 2
    middle = (inner_low + inner_high) / 2
    return np.maximum(low, middle - half), np.minimum(high, middle + half)


def _colours(solids: list[Solid], owner: np.ndarray, normals: np.ndarray) -> np.ndarray:
    """Shaded colour of each face (faces, 3); highlighted ones stay bright."""
    bodies = np.array([style.ORANGE if solid.highlighted else style.pale(solid.ifc_class) for solid in solids], float)
    darkest = np.array([0.85 if solid.highlighted else DARKEST for solid in solids])
    facing = np.clip(normals @ (np.array(LIGHT) / np.linalg.norm(LIGHT)), 0.0, 1.0)
    dimmed = darkest[owner] + (1 - darkest[owner]) * facing
    return bodies[owner] * dimmed[:, None]


def _shine_through(
    pixels: np.ndarray, seen: zbuffer.Buffer, corners: np.ndarray, owner: np.ndarray, solids: list[Solid]
) -> None:
    """Tint the pixels where a highlighted solid is hidden by another one."""
    marked = np.array([solid.highlighted for solid in solids])
    chosen = marked[owner]
    if not chosen.any():
        return
    alone = zbuffer.rasterise(corners[chosen], seen.width, seen.height)
    hidden = (alone.face >= 0) & ~np.append(chosen, False)[seen.face]
    orange = np.array(style.ORANGE, dtype=np.float32)
    pixels[hidden] = (pixels[hidden] * 0.5 + orange * 0.5).astype(np.uint8)
    inside = alone.face >= 0
    rim = np.zeros_like(inside)
    rim[:-1] |= inside[:-1] != inside[1:]
    rim[:, :-1] |= inside[:, :-1] != inside[:, 1:]
    pixels[rim & hidden] = (orange * 0.8).astype(np.uint8)
