"""The sample building and the real files that the picture tests draw, and how they look at pixels."""

import io
import os
from functools import cache
from pathlib import Path

import ifcopenshell
import numpy as np
import pytest
from PIL import Image

from hosts.ifc import picture
from hosts.ifc.sample import build_sample

SHARED = Path(os.environ.get("DRAFTHAND_SHARED", Path(__file__).parents[3] / "shared"))


@cache
def _sample_text() -> str:
    return build_sample(os.devnull).to_string()


def sample() -> ifcopenshell.file:
    """A fresh copy of the sample building."""
    return ifcopenshell.file.from_string(_sample_text())


@cache
def kept(name: str) -> dict:
    """A tessellation cache that all tests share which draw copies of one model and leave its geometry alone."""
    return {}


def shared_model(name: str) -> ifcopenshell.file:
    """One of the real models; skips the test where they are absent."""
    path = SHARED / "ifc" / name
    if not path.exists():
        pytest.skip(f"{path} is not here")
    return ifcopenshell.open(path)


def view(kind: str, storey: str | None = None, width: int = 400, height: int = 300) -> dict:
    """A view as a command carries it."""
    return {"kind": kind, "storey": storey, "width": width, "height": height}


def pixels(png: bytes) -> np.ndarray:
    """(height, width, 3) integers of a PNG."""
    return np.asarray(Image.open(io.BytesIO(png)).convert("RGB")).astype(int)


def drawn(
    model: ifcopenshell.file, of: dict, highlight: list[int] | None = None, kept: dict | None = None
) -> np.ndarray:
    """Pixels of a picture of `model`."""
    return pixels(picture.render(model, of, highlight or [], {} if kept is None else kept))


def orange(image: np.ndarray) -> int:
    """Number of pixels in the highlight's colour, as strong as the picture uses it for an element itself."""
    red, green, blue = image[:, :, 0], image[:, :, 1], image[:, :, 2]
    return int(((red > 200) & (green > 90) & (green < 150) & (blue < 40)).sum())


def red(image: np.ndarray) -> np.ndarray:
    """Mask of the pixels in the colour of door tags and doors."""
    return (image[:, :, 0] > 140) & (image[:, :, 1] < 70) & (image[:, :, 2] < 70)


def named(model: ifcopenshell.file, ifc_class: str, storey: str) -> list[ifcopenshell.entity_instance]:
    """Elements of a class that a storey contains directly."""
    found = next(s for s in model.by_type("IfcBuildingStorey") if s.Name == storey)
    return [e for relation in found.ContainsElements for e in relation.RelatedElements if e.is_a(ifc_class)]
