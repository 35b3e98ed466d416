"""Recorded streams of model vendors, and how a test plays one: through the vendor's real SDK and our client of it."""

from __future__ import annotations

import json
from collections.abc import AsyncIterator
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any

import httpx2
import pytest
from drafthand.chunks import StreamChunk
from drafthand.errors import VendorError
from drafthand.model import ModelSpec, TurnSettings
from drafthand.transcript import Message, Text, Turn
from drafthand.vendors import DIALECTS, client_of
from drafthand.vendors.access import Access

from tests.paths import SHARED

ASKED = (Message(role="user", parts=(Text(text="hi"),)),)
ADDRESS = "http://recorded.invalid"
VENDORS = {"anthropic_messages": "anthropic", "gemini": "gemini"}
"""How the errors of a dialect that belongs to one vendor name it."""


@dataclass(frozen=True)
class Recording:
    """A stream as it came, and what it must become."""

    dialect: str
    name: str
    body: bytes
    status: int
    expected: dict[str, Any]

    @property
    def is_turn(self) -> bool:
        """Whether the vendor ended it as it ends turns."""
        return self.expected["terminal"] and not self.expected["error"]


def paths(dialect: str) -> list[Path]:
    folder = SHARED / "corpus" / dialect
    return sorted(path for path in folder.glob("*.json") if not path.name.endswith(".expected.json"))


def every_recording(*dialects: str) -> list[Any]:
    """(dialect, path) of all recordings, as parameters of a test; one skipped row where there are none."""
    found = [(dialect, path) for dialect in dialects or DIALECTS for path in paths(dialect)]
    if not found:
        absent = pytest.mark.skip(reason="the recorded streams are not on this machine")
        return [pytest.param("", Path(), marks=absent, id="no recordings")]
    return [pytest.param(dialect, path, id=f"{dialect}-{path.stem}") for dialect, path in found]


def read(dialect: str, path: Path) -> Recording:
    """The body ends with the blank line that some recordings, and some servers, lack."""
    record, expected = json.loads(path.read_text()), json.loads(path.with_suffix(".expected.json").read_text())
    body = record["body"].encode().rstrip() + b"\n\n"
    return Recording(dialect, path.stem, body, record["status"], expected)


@dataclass(frozen=True)
class Played:
    """What a body became. With an error, `turn` is what had been filled by then."""

    turn: Turn
    chunks: list[StreamChunk]
    error: VendorError | None

    def shown(self, kind: str) -> str:
        return "".join(chunk.content for chunk in self.chunks if chunk.type == kind)


class Packets(httpx2.AsyncByteStream):
    """A body as it comes from the network; then the connection ends, or breaks."""

    def __init__(self, *packets: bytes, breaks: bool = False) -> None:
        self.packets, self.breaks = packets, breaks

    async def __aiter__(self) -> AsyncIterator[bytes]:
        for packet in self.packets:
            yield packet
        if self.breaks:
            raise httpx2.ReadError("the connection was reset")


class Player:
    """A client of a dialect whose vendor answers with whatever is to be played next.

    One for many bodies: an SDK's client costs more to make than most recordings to read.
    """

    def __init__(self, dialect: str) -> None:
        vendor = VENDORS.get(dialect, "recorded")
        self.spec = ModelSpec(id="recorded", label="recorded", vendor=vendor, dialect=dialect)
        self.answer = httpx2.Response(500)
        http_client = httpx2.AsyncClient(transport=httpx2.MockTransport(lambda request: self.answer))
        self.client = client_of(dialect, Access("key", ADDRESS), http_client)

    async def play(self, body: bytes, status: int = 200, *, breaks: bool = False) -> Played:
        """`breaks`: behind the body the connection is reset instead of closed."""
        headers = {"content-type": "text/event-stream" if status == 200 else "application/json"}
        middle = len(body) // 2
        stream = Packets(body[:middle], body[middle:], breaks=breaks)
        self.answer = httpx2.Response(status, headers=headers, stream=stream)
        turn, chunks = Turn(vendor=self.spec.vendor, model=self.spec.id), []
        try:
            async for chunk in self.client.stream(ASKED, (), TurnSettings(self.spec, "system", 1000), turn):
                chunks.append(chunk)  # noqa: PERF401 - kept up to an error
        except VendorError as error:
            return Played(turn, chunks, error)
        return Played(turn, chunks, None)


@cache
def player(dialect: str) -> Player:
    return Player(dialect)
