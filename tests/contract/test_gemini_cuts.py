"""Recorded streams of Gemini cut off anywhere: a turn that has not ended as the vendor ends turns is never taken for
one, and no call is ever handed on in part."""

import json
import random
import re
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import httpx2
import pytest
from drafthand.errors import VendorError
from drafthand.model import ModelSpec, TurnSettings
from drafthand.transcript import Message, Text, Turn
from drafthand.vendors.access import Access
from drafthand.vendors.gemini import GeminiClient

from tests.paths import SHARED

FOLDER = SHARED / "corpus" / "gemini"
RECORDINGS = sorted(path for path in FOLDER.glob("*.json") if not path.name.endswith(".expected.json"))
SPEC = ModelSpec(id="cut", label="cut", vendor="gemini", dialect="gemini")
ASKED = [Message(role="user", parts=(Text(text="hi"),))]
BOUNDARIES, BYTES = 40, 8
TERMINAL = re.compile(rb'"(finishReason|blockReason)"')

pytestmark = pytest.mark.skipif(not RECORDINGS, reason="the recorded streams are not on this machine")


class Cut(httpx2.AsyncByteStream):
    """The beginning of a body; then the connection ends, or breaks."""

    def __init__(self, body: bytes, breaks: bool) -> None:
        self.body, self.breaks = body, breaks

    async def __aiter__(self) -> AsyncIterator[bytes]:
        middle = len(self.body) // 2
        yield self.body[:middle]
        yield self.body[middle:]
        if self.breaks:
            raise httpx2.ReadError("the connection was reset")


def places(body: bytes) -> list[int]:
    """Ends of events, and bytes anywhere; the same in every run."""
    chosen = random.Random(len(body))
    ends = [found.end() for found in re.finditer(rb"\r?\n\r?\n", body)]
    ends = ends if len(ends) <= BOUNDARIES else chosen.sample(ends, BOUNDARIES)
    return [0, *ends, *(chosen.randrange(len(body)) for _ in range(BYTES)), len(body) - 1]


@pytest.mark.parametrize("path", RECORDINGS, ids=lambda path: path.stem)
async def test_a_cut_stream_is_no_turn_and_hands_on_no_part_of_a_call(path: Path) -> None:
    body, calls = read(path)
    stream = Cut(b"", breaks=False)
    headers = {"content-type": "text/event-stream"}
    transport = httpx2.MockTransport(lambda request: httpx2.Response(200, headers=headers, stream=stream))
    async with httpx2.AsyncClient(transport=transport) as http_client:
        client = GeminiClient(Access("key"), http_client)
        for number, place in enumerate(places(body)):
            stream = Cut(body[:place], breaks=number % 2 == 1)

            turn, error = await played(client)

            ended = TERMINAL.search(body[:place]) is not None
            assert error is not None or (ended and turn.stop is not None), f"cut at {place} of {len(body)}"
            assert error is None or turn.stop is None
            assert not stream.breaks or error is not None
            found = [(call.name, call.input) for call in turn.tool_calls if call.input is not None]
            assert found == calls[: len(found)]


def read(path: Path) -> tuple[bytes, list[tuple[str, Any]]]:
    """The body, and its calls as name and input."""
    expected = json.loads(path.with_suffix(".expected.json").read_text())
    body: str = json.loads(path.read_text())["body"]
    return body.encode().rstrip() + b"\r\n\r\n", [(call["name"], call["input"]) for call in expected["tool_calls"]]


async def played(client: GeminiClient) -> tuple[Turn, VendorError | None]:
    turn = Turn(vendor="gemini", model=SPEC.id)
    stream: Any = client.stream(ASKED, [], TurnSettings(SPEC, "system", 1000), turn)
    try:
        async for _ in stream:
            pass
    except VendorError as error:
        return turn, error
    return turn, None
