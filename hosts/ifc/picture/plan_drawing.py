"""The layers of a plan: what is seen below the cut, what is cut, what is highlighted above it."""

from dataclasses import dataclass

import ifcopenshell
import numpy as np
from PIL import Image, ImageDraw

from hosts.ifc.picture import plan_symbols as symbols
from hosts.ifc.picture import section, style, zbuffer
from hosts.ifc.picture.edges import darken, edges, unit_normals
from hosts.ifc.picture.tessellation import Shape

SAMPLES = 2  # per pixel and direction
LIGHTEN = 0.5  # how far the colours of what is seen below the cut go towards white


@dataclass(frozen=True)
class Look:
    """How a class is drawn where it is cut."""

    fill: style.Colour
    line: style.Colour


WINDOW = Look((70, 140, 210), (40, 100, 170))
DOOR = Look((205, 40, 40), (170, 20, 20))
LOOKS: tuple[tuple[tuple[str, ...], Look], ...] = (
    (("IfcWindow", "IfcPlate"), WINDOW),
    (("IfcDoor",), DOOR),
    (("IfcFurni", "IfcBuildingElementProxy", "IfcFlow", "IfcRailing"), Look((226, 226, 220), (160, 160, 155))),
    (("IfcSlab", "IfcStair", "IfcRamp", "IfcCovering"), Look((150, 150, 152), (110, 110, 112))),
)
SOLID = Look(style.INK, style.INK)
MARKED = Look(style.ORANGE, (214, 100, 0))
GLASS_GAP, DOOR_GAP, MARKED_GAP = (219, 234, 247), style.PAPER, (255, 228, 192)
SWING, MARKED_ROOM = (228, 150, 150), (255, 226, 186)


@dataclass(frozen=True)
class Part:
    """One product in the plan."""

    entity: ifcopenshell.entity_instance
    shape: Shape
    marked: bool

    @property
    def ifc_class(self) -> str:
        """Its IFC class."""
        return self.entity.is_a()

    @property
    def look(self) -> Look:
        """How it is drawn where it is cut."""
        if self.marked:
            return MARKED
        return next((look for names, look in LOOKS if self.ifc_class.startswith(names)), SOLID)


@dataclass(frozen=True)
class Paper:
    """World metres to pixels: `left` and `upper` are the world's x and y at the picture's upper left corner."""

    left: float
    upper: float
    scale: float
    width: int
    height: int

    def pixels(self, points: np.ndarray) -> np.ndarray:
        """(..., 2) world x and y to pixels, y down."""
        return np.stack([(points[..., 0] - self.left) * self.scale, (self.upper - points[..., 1]) * self.scale], -1)

    def finer(self) -> "Paper":
        """The same paper in samples, SAMPLES to a pixel."""
        return Paper(self.left, self.upper, self.scale * SAMPLES, self.width * SAMPLES, self.height * SAMPLES)


def draw(parts: list[Part], rooms: list[Part], paper: Paper, height: float) -> Image.Image:
    """Draw the plan without text. `height`: of the cut, in world metres."""
    fine = paper.finer()
    picture = Image.fromarray(_below(parts, rooms, fine, height))
    sections = {part.entity.id(): section.cut(part.shape, height) for part in parts}
    _gaps(ImageDraw.Draw(picture), parts, fine)
    # The highlighted last, so that nothing covers them.
    order = sorted(parts, key=lambda part: (part.marked, part.look is DOOR, part.look is WINDOW))
    looks = list(dict.fromkeys(part.look for part in order))
    for look in looks:
        cut = [sections[part.entity.id()] for part in order if part.look is look]
        _cut_layer(picture, cut, look, fine)
    _above(picture, parts, fine, height)
    return picture.reduce(SAMPLES)


def room_mask(shape: Shape, paper: Paper) -> np.ndarray:
    """Mask of the pixels inside a room, cut at half its height."""
    segments, items = section.cut(shape, (shape.bottom + shape.top) / 2)
    return section.fill(paper.pixels(segments), items, paper.width, paper.height)


def _below(parts: list[Part], rooms: list[Part], paper: Paper, height: float) -> np.ndarray:
    """Pixels (height, width, 3) of what stands below the cut, seen from above, in light colours."""
    corners = [part.shape.vertices[part.shape.faces] for part in parts]
    low = [c[:, :, 2].min(axis=1) < height for c in corners]
    world = np.concatenate([c[keep] for c, keep in zip(corners, low, strict=True)])
    owner = np.repeat(np.arange(len(parts)), [int(keep.sum()) for keep in low])
    view = np.concatenate([paper.pixels(world[:, :, :2]), (height - world[:, :, 2])[:, :, None]], axis=2)
    seen = zbuffer.rasterise(view, paper.width, paper.height)
    floors = np.array([_floor_colour(part) for part in parts])
    palette = np.vstack([floors[owner], style.PAPER]).astype(np.uint8)  # face -1, nothing seen, takes the last
    pixels = np.take(palette, seen.face, axis=0)
    for room in rooms:
        if room.marked:
            pixels[room_mask(room.shape, paper)] = MARKED_ROOM
    normals = unit_normals(world)
    normals[normals[:, 2] < 0] *= -1
    crease, outline_far, outline = edges(seen, owner, normals)
    for factor, where in ((0.86, crease), (0.9, outline_far), (0.74, outline)):
        darken(pixels, where, factor)
    return pixels


def _floor_colour(part: Part) -> np.ndarray:
    if part.marked:
        return np.array(MARKED_ROOM)
    colour = np.array(style.pale(part.ifc_class))
    return colour + (255 - colour) * LIGHTEN


def _gaps(canvas: ImageDraw.ImageDraw, parts: list[Part], paper: Paper) -> None:
    """Clear the openings of doors and windows through the whole wall, and draw how doors swing."""
    shapes = {part.entity.id(): part.shape for part in parts}
    for part in parts:
        if not part.ifc_class.startswith(("IfcDoor", "IfcWindow")):
            continue
        is_door = part.ifc_class.startswith("IfcDoor")
        colour = MARKED_GAP if part.marked else DOOR_GAP if is_door else GLASS_GAP
        host = shapes.get(symbols.host_id(part.entity))
        canvas.polygon([tuple(p) for p in paper.pixels(symbols.opening(part.shape, host))], fill=colour)
        for line in symbols.swing(part.shape, symbols.operation(part.entity)) if is_door else ():
            points = [tuple(p) for p in paper.pixels(line)]
            canvas.line(points, fill=MARKED.fill if part.marked else SWING, width=SAMPLES)


def _cut_layer(picture: Image.Image, cut: list[tuple[np.ndarray, np.ndarray]], look: Look, paper: Paper) -> None:
    """Fill the sections of all parts of one look, and draw their outlines so that thin ones do not vanish."""
    segments = paper.pixels(np.concatenate([segments for segments, _ in cut]))
    if not len(segments):
        return
    # An outline is one item of one part: number them through.
    group = np.concatenate([np.full(len(items), number) for number, (_, items) in enumerate(cut)])
    items = np.concatenate([items for _, items in cut])
    _, outline = np.unique(np.stack([group, items], axis=1), axis=0, return_inverse=True)
    mask = section.fill(segments, outline, paper.width, paper.height)
    picture.paste(look.fill, mask=Image.fromarray(mask))
    canvas = ImageDraw.Draw(picture)
    # Pillow puts the width on one side, which depends on the direction: draw all in the same.
    for start, end in sorted((min(ends), max(ends)) for ends in (tuple(map(tuple, s)) for s in segments.tolist())):
        canvas.line([start, end], fill=look.line, width=1 if look is SOLID else SAMPLES)


def _above(picture: Image.Image, parts: list[Part], paper: Paper, height: float) -> None:
    """Tint where a highlighted part lies wholly above the cut: it would not be in the plan otherwise."""
    high = [part for part in parts if part.marked and part.shape.bottom >= height]
    if not high:
        return
    world = np.concatenate([part.shape.vertices[part.shape.faces] for part in high])
    view = np.concatenate([paper.pixels(world[:, :, :2]), world[:, :, 2:].max() - world[:, :, 2:]], axis=2)
    mask = zbuffer.rasterise(view, paper.width, paper.height).face >= 0
    tint = Image.new("RGB", picture.size, style.ORANGE)
    picture.paste(Image.blend(picture, tint, 0.45), mask=Image.fromarray(mask))
