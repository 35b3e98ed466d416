"""Pictures at the size a model may see: scaled down to its ceiling, never up."""

from __future__ import annotations

import io
import math

from PIL import Image, ImageOps

from drafthand.model import ImageCeiling, Picture

MEDIA_TYPES = {"PNG": "image/png", "JPEG": "image/jpeg"}
"""What every vendor takes; other formats are encoded anew."""
CLEARLY = 2
"""How many times its JPEG a PNG must weigh to give way to it: drawings never do, photographs always."""
SHRINK = 0.8
"""How much smaller each try is where even a JPEG weighs too much."""


def fit(data: bytes, ceiling: ImageCeiling) -> Picture:
    """The picture under the ceiling, its sides in proportion; the same bytes where nothing has to be done to them.

    Deterministic, so that a request's prefix stays byte-identical from turn to turn. The media type is told by the
    bytes: a vendor refuses a picture that is not what it is said to be, and with it every later turn.

    Raises:
        OSError: the bytes are no picture.
    """
    with Image.open(io.BytesIO(data)) as opened:
        upright = ImageOps.exif_transpose(opened)
        size = fitting_size(*upright.size, ceiling)
        media_type = MEDIA_TYPES.get(opened.format or "")
        fits = size == opened.size and not opened.has_transparency_data and len(data) <= ceiling.max_bytes
        given = Picture(media_type, data) if media_type and fits else None
        if given is not None and given.media_type == "image/jpeg":
            return given
        image = _on_white(upright)
    scaled = _scaled_to(image, size)
    png = given or _png(scaled)
    jpeg = _jpeg(scaled)
    if len(png.data) <= min(ceiling.max_bytes, CLEARLY * len(jpeg.data)):
        return png
    while len(jpeg.data) > ceiling.max_bytes and max(size) > 1:
        size = _in_proportion(*image.size, int(max(size) * SHRINK))
        jpeg = _jpeg(_scaled_to(image, size))
    return jpeg


def fitting_size(width: int, height: int, ceiling: ImageCeiling) -> tuple[int, int]:
    """The largest size in these proportions that is under the ceiling, and no larger than this one; in pixels."""
    longest = min(max(width, height), ceiling.edge_px)
    size = _in_proportion(width, height, longest)
    while ceiling.patches is not None and patches(*size, ceiling.patch_px) > ceiling.patches and longest > 1:
        longest -= 1
        size = _in_proportion(width, height, longest)
    return size


def patches(width: int, height: int, patch_px: int) -> int:
    """How many squares cover a picture: vendors fill the last of a row or column up."""
    return math.ceil(width / patch_px) * math.ceil(height / patch_px)


def _in_proportion(width: int, height: int, longest: int) -> tuple[int, int]:
    scale = longest / max(width, height)
    return max(1, round(width * scale)), max(1, round(height * scale))


def _on_white(image: Image.Image) -> Image.Image:
    """In RGB. What shines through is white, as the paper of our own pictures."""
    if image.mode.startswith("I"):  # 16 bits of grey, which Pillow would cut off at 255
        image = image.convert("I").point(lambda value: value * (1 / 256)).convert("L")
    if not image.has_transparency_data:
        return image.convert("RGB")
    white = Image.new("RGBA", image.size, "white")
    return Image.alpha_composite(white, image.convert("RGBA")).convert("RGB")


def _scaled_to(image: Image.Image, size: tuple[int, int]) -> Image.Image:
    return image if size == image.size else image.resize(size, Image.Resampling.LANCZOS)


def _png(image: Image.Image) -> Picture:
    out = io.BytesIO()
    image.save(out, "PNG")
    return Picture("image/png", out.getvalue())


def _jpeg(image: Image.Image) -> Picture:
    """Without subsampling, which would blur thin coloured lines."""
    out = io.BytesIO()
    image.save(out, "JPEG", quality=90, subsampling=0)
    return Picture("image/jpeg", out.getvalue())
