"""What a plan adds to the section: the swing of doors, a north arrow and a scale bar."""

import math

import ifcopenshell
import ifcopenshell.util.element
import numpy as np
from PIL import Image, ImageDraw

from hosts.ifc.picture import style
from hosts.ifc.picture.tessellation import Shape

Entity = ifcopenshell.entity_instance
THICKEST_WALL = 1.0  # metres; a host that is thicker across a door is not a straight wall
LENGTHS = (0.5, 1, 2, 5, 10, 20, 50, 100, 200, 500)  # metres that a scale bar may stand for


def footprint(shape: Shape) -> np.ndarray:
    """Corners (4, 2) of the smallest rectangle along the product's own axes that holds it, in world x and y."""
    low, high = _local_bounds(shape)
    return _rectangle(shape, low, high)


def opening(shape: Shape, host: Shape | None) -> np.ndarray:
    """The footprint of a door or window, as deep as the wall it is in where that is straight: corners (4, 2)."""
    low, high = _local_bounds(shape)
    if host is not None:
        local = (host.vertices - shape.matrix[:3, 3]) @ shape.matrix[:3, 1]
        if local.max() - local.min() < THICKEST_WALL:
            low[1], high[1] = min(low[1], local.min()), max(high[1], local.max())
    return _rectangle(shape, low, high)


def host_id(filling: Entity) -> int | None:
    """The id of the element whose opening a door or window fills."""
    for fills in filling.FillsVoids:
        for voids in fills.RelatingOpeningElement.VoidsElements:
            return voids.RelatingBuildingElement.id()
    return None


def across(shape: Shape) -> np.ndarray:
    """Unit direction (2,) of a door's or window's own y axis: at a right angle to its wall."""
    direction = shape.matrix[:2, 1]
    length = np.hypot(*direction)
    return direction / length if length > 1e-6 else np.array([0.0, 1.0])


def operation(door: Entity) -> str:
    """IfcDoorTypeOperationEnum of a door, from itself or its type; "" when unknown."""
    own = getattr(door, "OperationType", None)
    if own and own != "NOTDEFINED":
        return own
    door_type = ifcopenshell.util.element.get_type(door)
    return getattr(door_type, "OperationType", None) or ""


def swing(shape: Shape, door_operation: str) -> list[np.ndarray]:
    """Open leaf and arc of each leaf as one line of points (n, 2) in world x and y; none for other operations.

    IFC: seen along the door's y axis, a left-swinging door has its hinges on the left, and it opens towards +y.
    """
    low, high = _local_bounds(shape)
    width, middle = high[0] - low[0], (low[1] + high[1]) / 2
    leaves = {
        "SINGLE_SWING_LEFT": [(low[0], 1, width)],
        "SINGLE_SWING_RIGHT": [(high[0], -1, width)],
        "DOUBLE_DOOR_SINGLE_SWING": [(low[0], 1, width / 2), (high[0], -1, width / 2)],
    }.get(door_operation, [])
    lines = []
    for hinge, sense, radius in leaves:
        angle = np.linspace(math.pi / 2, 0, 19)
        arc = np.stack([hinge + sense * radius * np.cos(angle), middle + radius * np.sin(angle)], axis=1)
        lines.append(_to_world(shape, np.vstack([[hinge, middle], arc])))
    return lines


def _local_bounds(shape: Shape) -> tuple[np.ndarray, np.ndarray]:
    local = (shape.vertices - shape.matrix[:3, 3]) @ shape.matrix[:3, :3]
    return local.min(axis=0), local.max(axis=0)


def _rectangle(shape: Shape, low: np.ndarray, high: np.ndarray) -> np.ndarray:
    corners = np.array([[low[0], low[1]], [high[0], low[1]], [high[0], high[1]], [low[0], high[1]]])
    return _to_world(shape, corners)


def _to_world(shape: Shape, points: np.ndarray) -> np.ndarray:
    return points @ shape.matrix[:2, :2].T + shape.matrix[:2, 3]


def true_north(model: ifcopenshell.file) -> tuple[float, float]:
    """Direction of north in the model's x and y, of length 1; y where the file does not say."""
    for context in model.by_type("IfcGeometricRepresentationContext", include_subtypes=False):
        if context.ContextType == "Model" and context.TrueNorth is not None:
            x, y = context.TrueNorth.DirectionRatios[:2]
            length = math.hypot(x, y)
            if length > 0:
                return x / length, y / length
    return 0.0, 1.0


def draw_north(picture: Image.Image, north: tuple[float, float]) -> None:
    """A small arrow in the upper right corner."""
    size = max(14, picture.height / 36)
    draw = ImageDraw.Draw(picture)
    middle = np.array([picture.width - 2 * size, 2 * size])
    ahead = np.array([north[0], -north[1]])
    aside = np.array([-ahead[1], ahead[0]])
    tip, left, right = (
        middle + ahead * size,
        middle - ahead * size + aside * size / 2,
        middle - ahead * size - aside * size / 2,
    )
    notch = middle - ahead * size * 0.55
    draw.polygon([tuple(tip), tuple(left), tuple(notch)], outline=style.QUIET, fill=style.PAPER)
    draw.polygon([tuple(tip), tuple(right), tuple(notch)], outline=style.QUIET, fill=style.QUIET)
    face = style.font(max(10, round(size * 0.6)))
    draw.text(tuple(middle + ahead * size * 1.45), "N", font=face, fill=style.QUIET, anchor="mm")


def draw_scale(picture: Image.Image, pixels_per_metre: float) -> None:
    """A bar in the lower right corner, at most a fifth of the picture long, with its length in metres."""
    wanted = picture.width / 5 / pixels_per_metre
    length = max((value for value in LENGTHS if value <= wanted), default=LENGTHS[0])
    bar = length * pixels_per_metre
    size = max(10, round(picture.height / 75))
    right, bottom = picture.width - size, picture.height - size
    draw = ImageDraw.Draw(picture)
    left, top = right - bar, bottom - size * 0.5
    draw.rectangle((left, top, right, bottom), fill=style.PAPER, outline=style.QUIET)
    draw.rectangle((left, top, left + bar / 2, bottom), fill=style.QUIET)
    face = style.font(size)
    for x, text, anchor in (
        (left, "0", "lb"),
        (left + bar / 2, f"{length / 2:g}", "mb"),
        (right, f"{length:g} m", "rb"),
    ):
        draw.text((x, top - size * 0.3), text, font=face, fill=style.QUIET, anchor=anchor)
