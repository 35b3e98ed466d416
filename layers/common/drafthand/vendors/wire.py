"""The border to a vendor's stream: whatever breaks on it is a broken stream, not an error of ours."""

from __future__ import annotations

import codecs
import contextlib
import json
from collections.abc import AsyncIterator, Iterator

import httpx2

from drafthand.errors import VendorError
from drafthand.vendors.refusals import broken, code_of, refusal, status_in

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


# -- answers that are no stream ---------------------------------------------------------------------------------------


async def unstreamed(vendor: str, response: httpx2.Response) -> object:
    """What came as one JSON document with status 200, as some servers report errors; None where a stream comes.

    Raises:
        VendorError: invalid_request where it is a page.
    """
    told = response.headers.get("content-type", "")
    if "html" in told:
        raise no_stream(vendor, told)
    return json.loads(await response.aread()) if "json" in told else None


async def streamed(vendor: str, response: httpx2.Response) -> None:
    """Raises VendorError where what comes is no stream."""
    body = await unstreamed(vendor, response)
    if body is None:
        return
    error = body.get("error") if isinstance(body, dict) else None
    if not error:
        raise no_stream(vendor, response.headers["content-type"])
    words = (error.get("code"), error.get("status")) if isinstance(error, dict) else ()
    raise refusal(vendor, code_of(status_in(*words) or 200), error)


def no_stream(vendor: str, content_type: str) -> VendorError:
    message = f"The server answered with {content_type.split(';')[0]}, not with a stream. Check the model's address."
    return VendorError(vendor, "invalid_request", message)


# -- byte order marks -------------------------------------------------------------------------------------------------


class _Unmarked(httpx2.AsyncByteStream):
    """A body without the mark that some gateways put before it: the SDKs would overlook the first line behind it."""

    def __init__(self, stream: httpx2.AsyncByteStream) -> None:
        self.stream = stream

    async def __aiter__(self) -> AsyncIterator[bytes]:
        head: bytes | None = b""
        async for piece in self.stream:
            if head is None:
                yield piece
            elif len(head := head + piece) >= len(codecs.BOM_UTF8):
                yield head.removeprefix(codecs.BOM_UTF8)
                head = None
        if head:
            yield head

    async def aclose(self) -> None:
        await self.stream.aclose()


async def _unmark(response: httpx2.Response) -> None:
    if isinstance(response.stream, httpx2.AsyncByteStream):
        response.stream = _Unmarked(response.stream)


def unmarked(http_client: httpx2.AsyncClient) -> httpx2.AsyncClient:
    """The client, which from now on leaves out byte order marks."""
    if _unmark not in http_client.event_hooks["response"]:
        http_client.event_hooks["response"].append(_unmark)
    return http_client
