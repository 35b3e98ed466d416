"""Pictures at the size a model may see: scaled down to its ceiling, never up."""

from __future__ import annotations

import io
import math
from collections.abc import Iterator
from contextlib import contextmanager

from PIL import ExifTags, Image, ImageOps, UnidentifiedImageError

from drafthand.model import ImageCeiling, Picture

MEDIA_TYPES = {"PNG": "image/png", "JPEG": "image/jpeg"}
"""What every vendor takes; other formats are encoded anew."""
FORMATS = ("PNG", "JPEG", "GIF", "WEBP", "BMP", "TIFF")
"""What is read at all; Pillow also knows formats that it reads by running other programs."""
PLAIN_MODES = ("1", "L", "P", "RGB")
"""How a picture's colours may be coded where its bytes are kept: not every vendor's decoder knows CMYK or 16 bits."""
PIXELS_MAX = 50_000_000
"""Above every drawing and photograph; a small file can claim any number, and would fill the memory."""
CLEARLY = 2
"""How many times its JPEG a PNG must weigh to give way to it: drawings never do, photographs always."""
SHRINK = 0.8
"""How much smaller each try is where even a JPEG weighs too much."""


class UnreadablePicture(Exception):
    """Bytes that are no picture, not all of one, or of too many pixels; the text is the reason, a clause."""


def readable(data: bytes) -> str | None:
    """Why these bytes can't be shown to a model, as a clause; None where `fit` will take them. Decodes all of them.

    To be asked where a picture comes in: once it is in a transcript, every later turn needs it.
    """
    try:
        with _decoded(data):
            return None
    except UnreadablePicture as error:
        return str(error)


def fit(data: bytes, ceiling: ImageCeiling) -> Picture:
    """The picture under the ceiling, its sides in proportion; the same bytes where nothing has to be done to them.

    Deterministic, so that a request's prefix stays byte-identical from turn to turn. The media type is told by the
    bytes: a vendor refuses a picture that is not what it is said to be, and with it every later turn.

    Raises:
        UnreadablePicture: for the reason that `readable` gives.
    """
    with _decoded(data) as opened:
        upright = ImageOps.exif_transpose(opened)
        size = fitting_size(*upright.size, ceiling)
        media_type = MEDIA_TYPES.get(opened.format or "")
        fits = size == opened.size and _is_plain(opened) and len(data) <= ceiling.max_bytes
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


@contextmanager
def _decoded(data: bytes) -> Iterator[Image.Image]:
    """The picture, its pixels in memory; UnreadablePicture where that can't be."""
    try:
        opened = Image.open(io.BytesIO(data), formats=FORMATS)
        pixels = opened.width * opened.height
        if pixels <= PIXELS_MAX:
            opened.load()
            opened.getexif()
    except Image.DecompressionBombError as error:
        raise UnreadablePicture(f"it has far more than {PIXELS_MAX:,} pixels") from error
    except UnidentifiedImageError as error:
        raise UnreadablePicture(f"it is no picture of a known format ({', '.join(FORMATS)})") from error
    except Exception as error:  # of broken bytes each decoder raises what it likes
        raise UnreadablePicture(f"it is broken or not whole: {error}") from error
    with opened:
        if pixels > PIXELS_MAX:
            raise UnreadablePicture(f"it has {pixels:,} pixels, more than {PIXELS_MAX:,}")
        yield opened


def _is_plain(image: Image.Image) -> bool:
    """Whether a decoder that knows only the simplest shows it as it is: upright, opaque, in common colours."""
    turned = image.getexif().get(ExifTags.Base.Orientation, 1) in range(2, 9)
    return image.mode in PLAIN_MODES and not image.has_transparency_data and not turned


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
