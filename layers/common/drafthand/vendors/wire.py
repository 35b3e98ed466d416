"""The border to a vendor's stream: whatever breaks on it is a broken stream, not an error of ours."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator

import httpx2

from drafthand.vendors.refusals import broken

UNREADABLE = (ValueError, LookupError, AttributeError, TypeError, RecursionError)
"""What reading an event raises that is not what its vendor documents: half JSON, half UTF-8, missing fields, an input
of brackets only."""


@contextlib.contextmanager
def reading(vendor: str) -> Iterator[None]:
    """Turns what the SDKs let through once a stream has begun into VendorError broken_stream, with its cause."""
    try:
        yield
    except httpx2.HTTPError as error:
        raise broken(vendor, f"The model's answer broke off: {type(error).__name__}.") from error
    except UNREADABLE as error:
        raise broken(vendor, f"The model's answer could not be read: {type(error).__name__}.") from error
