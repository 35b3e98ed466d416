"""Anthropic Messages: what the vendor checks of pictures, and what they cost."""

from __future__ import annotations

import base64
import binascii
import io
import warnings
from collections.abc import Iterator, Sequence
from functools import lru_cache

from PIL import Image, UnidentifiedImageError

from local.rehearsal.anthropic_request import Base64Source, ImageBlock, ToolResultBlock, Turn, UrlSource

# The limit counts base64 characters: the sizes the vendor names in its refusals are all divisible by four.
MAX_BASE64 = 5 * 1024 * 1024
MAX_SIDE_PX = 8_000
MANY_IMAGES = 20
MANY_IMAGES_SIDE_PX = 2_000
MAX_IMAGES = 100
SEEN_SIDE_PX = 1_568  # larger pictures are scaled down before the model sees them
PIXELS_PER_TOKEN = 750


def images_of(turns: Sequence[Turn]) -> Iterator[tuple[str, ImageBlock]]:
    """All pictures with their paths, those inside tool results too."""
    for turn in turns:
        for placed in turn.blocks:
            if isinstance(placed.block, ImageBlock):
                yield f"{placed.at}.image", placed.block
            elif isinstance(placed.block, ToolResultBlock):
                for index, block in enumerate(placed.block.content):
                    if isinstance(block, ImageBlock):
                        yield f"{placed.at}.tool_result.content.{index}.image", block


def image_problem(turns: Sequence[Turn]) -> str | None:
    """The vendor's text for the first picture it would refuse."""
    images = list(images_of(turns))
    if len(images) > MAX_IMAGES:
        return f"Too much media: 0 document pages + {len(images)} images > {MAX_IMAGES}"
    many = len(images) > MANY_IMAGES
    return next((problem for at, image in images if (problem := _problem(at, image, many))), None)


def _problem(at: str, image: ImageBlock, many: bool) -> str | None:
    source = image.source
    if isinstance(source, UrlSource):
        return f"{at}.source.url.url: the rehearsal fetches nothing; send the picture as base64"
    if len(source.data) > MAX_BASE64:
        return f"{at}.source.base64: image exceeds 5 MB maximum: {len(source.data)} bytes > {MAX_BASE64} bytes"
    try:
        media_type, width, height = _probe(source.data)
    except binascii.Error:
        return f"{at}.source.base64: invalid base64 data"
    except (OSError, SyntaxError, ValueError):  # Pillow's words for a file that is no picture or a broken one
        return "Could not process image"
    if media_type != source.media_type:
        return (
            f"{at}.source.base64: The image was specified using the {source.media_type} media type, "
            f"but the image appears to be a {media_type} image"
        )
    if max(width, height) > MAX_SIDE_PX:
        return f"{at}.source.base64.data: {_too_large()}: {MAX_SIDE_PX} pixels"
    if many and max(width, height) > MANY_IMAGES_SIDE_PX:
        return f"{at}.source.base64.data: {_too_large()} for many-image requests: {MANY_IMAGES_SIDE_PX} pixels"
    return None


def _too_large() -> str:
    return "At least one of the image dimensions exceed max allowed size"


@lru_cache(maxsize=64)  # a transcript sends the same pictures with every request
def _probe(data: str) -> tuple[str, int, int]:
    """Media type, width and height in pixels of a picture in base64.

    Raises:
        binascii.Error: not base64.
        OSError, SyntaxError, ValueError: no picture, or a broken one.
    """
    raw = base64.b64decode(data, validate=True)
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", Image.DecompressionBombWarning)
            image = Image.open(io.BytesIO(raw))
        image.verify()
    except Image.DecompressionBombError as error:
        raise ValueError("too many pixels to be a picture") from error
    except UnidentifiedImageError as error:
        raise ValueError("no picture") from error
    return Image.MIME.get(image.format or "", ""), image.width, image.height


def image_tokens(image: ImageBlock) -> float:
    """What the picture costs once it is scaled to what the model sees. The picture must have passed `image_problem`."""
    if not isinstance(image.source, Base64Source):
        return 0.0
    _, width, height = _probe(image.source.data)
    scale = min(1.0, SEEN_SIDE_PX / max(width, height))
    return width * scale * height * scale / PIXELS_PER_TOKEN
