"""The border to a vendor's stream: whatever breaks on it is a broken stream, not an error of ours."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator

import httpx2

from drafthand.errors import VendorError

UNREADABLE = (ValueError, LookupError, AttributeError, TypeError)
"""What reading an event raises that is not what its vendor documents: half JSON, half UTF-8, missing fields."""


@contextlib.contextmanager
def reading(vendor: str) -> Iterator[None]:
    """Turns what the SDKs let through once a stream has begun into VendorError broken_stream, with its cause."""
    try:
        yield
    except httpx2.HTTPError as error:
        message = f"The model's answer broke off: {type(error).__name__}."
        raise VendorError(vendor, "broken_stream", message, retryable=True) from error
    except UNREADABLE as error:
        message = f"The model's answer could not be read: {type(error).__name__}."
        raise VendorError(vendor, "broken_stream", message, retryable=True) from error
