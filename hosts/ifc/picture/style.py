"""Colours, fonts and the caption line that all pictures share."""

from functools import lru_cache
from pathlib import PureWindowsPath

import ifcopenshell
from PIL import Image, ImageDraw, ImageFont

Colour = tuple[int, int, int]
PAPER: Colour = (255, 255, 255)
INK: Colour = (45, 45, 48)
QUIET: Colour = (120, 122, 126)
ORANGE: Colour = (255, 138, 0)
ORANGE_TEXT: Colour = (196, 78, 0)

# Pale body colours by class; the first match counts. None of them comes near the highlight.
PALE: tuple[tuple[str, Colour], ...] = (
    ("IfcWindow", (196, 217, 232)),
    ("IfcPlate", (205, 222, 233)),
    ("IfcDoor", (206, 200, 194)),
    ("IfcWall", (238, 237, 233)),
    ("IfcRoof", (217, 218, 221)),
    ("IfcSlab", (224, 225, 227)),
    ("IfcCovering", (229, 230, 228)),
    ("IfcStair", (214, 216, 220)),
    ("IfcStairFlight", (214, 216, 220)),
    ("IfcFurnishingElement", (222, 224, 214)),
    ("IfcBuildingElementProxy", (214, 223, 208)),
)
OTHER: Colour = (222, 222, 222)


def pale(ifc_class: str) -> Colour:
    """Body colour of a class; sub-classes such as IfcWallStandardCase look like their base."""
    return next((colour for name, colour in PALE if ifc_class.startswith(name)), OTHER)


# Sans-serif files to look for, the first that is installed counts: plain and bold.
PLAIN_FACES = ("DejaVuSans.ttf", "LiberationSans-Regular.ttf", "Arial.ttf", "arial.ttf")
BOLD_FACES = ("DejaVuSans-Bold.ttf", "LiberationSans-Bold.ttf", "Arial Bold.ttf", "arialbd.ttf")


@lru_cache(maxsize=32)
def font(size: int, bold: bool = False) -> ImageFont.FreeTypeFont | ImageFont.ImageFont:
    """A sans-serif font of `size` pixels; Pillow's own, which has no bold and few letters, where none is installed."""
    for name in BOLD_FACES if bold else PLAIN_FACES:
        try:
            return ImageFont.truetype(name, size)
        except OSError:  # not on this machine
            continue
    return ImageFont.load_default(size)


def caption(picture: Image.Image, text: str) -> None:
    """Write one small line into the lower left corner, on a strip of paper."""
    size = max(10, round(picture.height / 75))
    face = font(size)
    margin = size
    draw = ImageDraw.Draw(picture)
    width = draw.textlength(text, font=face)
    top = picture.height - size - 2 * margin
    draw.rectangle((0, top, width + 2 * margin, picture.height), fill=PAPER)
    draw.text((margin, picture.height - margin), text, font=face, fill=QUIET, anchor="ls")


def title(model: ifcopenshell.file) -> str:
    """What to call a model: its file name where the header has one, else the project's name."""
    # Headers hold paths of either kind; this one understands both separators.
    name = PureWindowsPath(model.header.file_name.name or "").name
    if name.lower().endswith((".ifc", ".ifczip", ".ifcxml")):
        return name
    project = next(iter(model.by_type("IfcProject")), None)
    return (project and (project.LongName or project.Name)) or "Model"


def count(highlighted: int, shown: int) -> str:
    """The end of a caption: how many elements are highlighted, and how many of them this picture cannot show."""
    if not highlighted:
        return ""
    rest = f" ({highlighted - shown} of them not in this picture)" if shown < highlighted else ""
    return f"  ·  {highlighted} highlighted{rest}"


def message(width: int, height: int, text: str) -> Image.Image:
    """An otherwise empty picture that says `text` in its middle."""
    picture = Image.new("RGB", (width, height), PAPER)
    face = font(max(12, round(height / 32)))
    ImageDraw.Draw(picture).text((width / 2, height / 2), text, font=face, fill=QUIET, anchor="mm")
    return picture
