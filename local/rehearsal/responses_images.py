"""OpenAI Responses: what the vendor checks of pictures, and what they cost."""

from __future__ import annotations

import base64
import binascii
import io
import math
import re
import warnings
from collections.abc import Iterator, Sequence
from functools import lru_cache

from PIL import Image

from local.rehearsal.openai_request import Denied
from local.rehearsal.responses_request import FunctionCallOutput, InputImage, Item, Message

FORMATS = ("image/jpeg", "image/png", "image/gif", "image/webp")
PATCH_PX = 32
TOKENS_PER_PATCH = 1.2
MAX_PATCHES = 30_000
EXAMPLE = "data:image/png;base64,aW1nIGJ5dGVzIGhlcmU="
EXPECTED = f"Expected a base64-encoded data URL with an image MIME type (e.g. '{EXAMPLE}')"


def images_of(items: Sequence[Item]) -> Iterator[tuple[str, InputImage]]:
    """All pictures with their paths, those inside outputs too."""
    for number, item in enumerate(items):
        field = {Message: "content", FunctionCallOutput: "output"}.get(type(item))
        for index, part in enumerate(getattr(item, field) if field else ()):
            if isinstance(part, InputImage):
                yield f"input[{number}].{field}[{index}].image_url", part


def image_problem(items: Sequence[Item]) -> Denied | None:
    """The vendor's answer to the first picture it would refuse."""
    return next((problem for at, image in images_of(items) if (problem := _problem(at, image)) is not None), None)


def _problem(at: str, image: InputImage) -> Denied | None:
    found = re.fullmatch(r"data:([^;,]*);base64,(.*)", image.image_url, re.DOTALL)
    if found is None:
        if image.image_url.startswith(("http://", "https://")):
            return Denied(f"Invalid '{at}'. The rehearsal fetches nothing; send the picture as a data URL.", None, at)
        told = "a value without the 'data:' prefix"
    elif found[1] not in FORMATS:
        told = f"unsupported MIME type '{found[1]}'"
    elif not found[2]:
        told = "empty base64-encoded bytes"
    else:
        return _unreadable(at, found[2])
    return Denied(f"Invalid '{at}'. {EXPECTED}, but got {told}.", "invalid_value", at)


def _unreadable(at: str, data: str) -> Denied | None:
    try:
        patches = patches_of(data)
    except binascii.Error:
        return Denied(f"Invalid '{at}'. {EXPECTED}, but got an invalid base64-encoded value.", "invalid_value", at)
    except (OSError, SyntaxError, ValueError):  # Pillow's words for a file that is no picture or a broken one
        message = "The image data you provided does not represent a valid image. Please check your input and try again"
        return Denied(f"{message} with one of the following image formats: {list(FORMATS)}.", "invalid_value", "input")
    if patches > MAX_PATCHES:
        message = f"The image has {patches} patches of {PATCH_PX} pixels, which exceeds the maximum of {MAX_PATCHES}."
        return Denied(message, "image_too_large", at)
    return None


@lru_cache(maxsize=64)  # a transcript sends the same pictures with every request
def patches_of(data: str) -> int:
    """Squares of 32 pixels that cover a picture in base64.

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
    return math.ceil(image.width / PATCH_PX) * math.ceil(image.height / PATCH_PX)


def image_tokens(image: InputImage) -> float:
    """What the picture costs. It must have passed `image_problem`."""
    return patches_of(image.image_url.partition(",")[2]) * TOKENS_PER_PATCH
