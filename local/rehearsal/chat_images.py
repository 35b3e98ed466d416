"""OpenAI Chat Completions: what the vendor checks of pictures, and what they cost."""

from __future__ import annotations

import binascii
import re
from collections.abc import Iterator

from local.rehearsal.chat_request import ImagePart, Request, User
from local.rehearsal.openai_request import Denied
from local.rehearsal.responses_images import FORMATS, TOKENS_PER_PATCH, patches_of

UNSUPPORTED = "You uploaded an unsupported image. Please make sure your image has of one the following formats: "
NAMES = [form.removeprefix("image/") for form in ("image/png", "image/jpeg", "image/gif", "image/webp")]


def misplaced_image(request: Request) -> Denied | None:
    """The vendor's answer to the first picture outside a user's message."""
    for number, message in enumerate(request.messages):
        if not isinstance(message, User) and any(isinstance(part, ImagePart) for part in message.content or ()):
            told = f"but this message with role '{message.role}' contains an image URL."
            text = f"Invalid 'messages[{number}]'. Image URLs are only allowed for messages with role 'user', {told}"
            return Denied(text, "invalid_value", f"messages[{number}]")
    return None


def image_problem(request: Request) -> Denied | None:
    """The vendor's answer to the first picture it would refuse."""
    return next((problem for image in images_of(request) if (problem := _problem(image)) is not None), None)


def images_of(request: Request) -> Iterator[ImagePart]:
    for message in request.messages:
        yield from (part for part in message.content or () if isinstance(part, ImagePart))


def _problem(image: ImagePart) -> Denied | None:
    url = image.image_url.url
    if url.startswith(("http://", "https://")):
        return Denied("The rehearsal fetches nothing; send the picture as a data URL.", "invalid_image_url")
    found = re.fullmatch(r"data:([^;,]*);base64,(.+)", url, re.DOTALL)
    if found is None:
        return Denied("Invalid base64 image_url.", "invalid_base64")
    if not found[1].startswith("image/"):
        return Denied("Invalid MIME type. Only image types are supported.", "invalid_image_format")
    try:
        patches_of(found[2])
    except binascii.Error:
        return Denied("Invalid base64 image_url.", "invalid_base64")
    except (OSError, SyntaxError, ValueError):  # Pillow's words for a file that is no picture or a broken one
        return Denied(f"{UNSUPPORTED}{NAMES}.", "invalid_image_format")
    return None if found[1] in FORMATS else Denied(f"{UNSUPPORTED}{NAMES}.", "invalid_image_format")


def image_tokens(image: ImagePart) -> float:
    """What the picture costs. It must have passed `image_problem`."""
    return patches_of(image.image_url.url.partition(",")[2]) * TOKENS_PER_PATCH
