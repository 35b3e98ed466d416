"""Dialect `gemini`: the lines of a stream, as google-genai can read them.

Its parser knows nothing but `data: {...}` and bare JSON. Gateways send more of what belongs to server-sent events.
"""

from __future__ import annotations

import json
import re
from collections.abc import AsyncIterator

import httpx2

from drafthand.vendors.refusals import status_in, told

OTHERS = re.compile(rb":|(event|id|retry):|data: ?\[DONE\]")
"""How lines begin that say nothing: comments, the other fields, and the mark of another dialect."""


class _Lines(httpx2.AsyncByteStream):
    def __init__(self, stream: httpx2.AsyncByteStream) -> None:
        self.stream = stream

    async def __aiter__(self) -> AsyncIterator[bytes]:
        begun: list[bytes] = []
        async for piece in self.stream:
            *whole, rest = piece.split(b"\n")
            for line in whole:
                yield _readable(b"".join([*begun, line, b"\n"]))
                begun.clear()
            begun.append(rest)
        yield _readable(b"".join(begun))

    async def aclose(self) -> None:
        await self.stream.aclose()


def _readable(line: bytes) -> bytes:
    if OTHERS.match(line):
        return b""
    line = re.sub(rb"^data:(?! )", b"data: ", line)
    return _sound_error(line) if b'"error"' in line and line.startswith(b"data: ") else line


def _sound_error(line: bytes) -> bytes:
    """An error with the number and the text that the SDK needs to raise it."""
    try:
        event = json.loads(line.removeprefix(b"data: "))
    except ValueError:
        return line
    event = event[0] if isinstance(event, list) and event else event
    if not isinstance(event, dict) or not (error := event.get("error")):
        return line
    fields = error if isinstance(error, dict) else {}
    sound = fields | {"code": status_in(fields.get("code")) or 500, "message": told(error)}
    return b"data: " + json.dumps({"error": sound}).encode() + b"\r\n"


async def readable(response: httpx2.Response) -> None:
    """A hook for responses of this dialect, on a client that others may use too. What is compressed comes from Google
    itself, and is left as it is."""
    ours = response.request.url.path.endswith(":streamGenerateContent") and "content-encoding" not in response.headers
    if ours and isinstance(response.stream, httpx2.AsyncByteStream):
        response.stream = _Lines(response.stream)
