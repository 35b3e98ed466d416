"""Recorded streams cut off anywhere: a turn that has not ended as the vendor ends turns is never taken for one."""

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
from drafthand.vendors.openai_responses import OpenAIResponsesClient

from tests.paths import SHARED

FOLDER = SHARED / "corpus" / "openai_responses"
RECORDINGS = sorted(path for path in FOLDER.glob("*.json") if not path.name.endswith(".expected.json"))
SPEC = ModelSpec(id="cut", label="cut", vendor="openai", dialect="openai_responses")
ASKED = [Message(role="user", parts=(Text(text="hi"),))]
BOUNDARIES, BYTES = 30, 8

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


def complete(path: Path) -> bytes | None:
    """The body up to the end of its terminal event; None where it has none."""
    if not json.loads(path.with_suffix(".expected.json").read_text())["terminal"]:
        return None
    body: bytes = json.loads(path.read_text())["body"].encode().rstrip() + b"\n\n"
    found = re.search(rb'"type": ?"response\.(completed|incomplete)".*?\r?\n\r?\n', body, re.DOTALL)
    return body[: found.end()] if found else None


def places(body: bytes) -> list[int]:
    """Ends of events, and bytes anywhere; the same in every run."""
    chosen = random.Random(len(body))
    ends = [found.end() for found in re.finditer(rb"\r?\n\r?\n", body)][:-1]
    ends = ends if len(ends) <= BOUNDARIES else chosen.sample(ends, BOUNDARIES)
    return [0, *ends, *(chosen.randrange(len(body)) for _ in range(BYTES)), len(body) - 1]


@pytest.mark.parametrize("path", RECORDINGS, ids=lambda path: path.stem)
async def test_a_cut_stream_ends_in_a_vendor_error_and_closes_no_turn(path: Path) -> None:
    body = complete(path)
    if body is None:
        return
    stream = Cut(b"", breaks=False)
    headers = {"content-type": "text/event-stream"}
    transport = httpx2.MockTransport(lambda request: httpx2.Response(200, headers=headers, stream=stream))
    async with httpx2.AsyncClient(transport=transport) as http_client:
        client = OpenAIResponsesClient(Access("key"), http_client)
        for number, place in enumerate(places(body)):
            stream = Cut(body[:place], breaks=number % 2 == 1)

            turn, error = await played(client)

            assert error is not None, f"cut at {place} of {len(body)}"
            assert (error.code, error.retryable, turn.stop) == ("broken_stream", True, None)
            assert all(f'"{call.vendor_id}"'.encode() in body[:place] for call in turn.tool_calls)

        stream = Cut(body, breaks=True)
        turn, error = await played(client)
        assert error is None, "what breaks after the end does no harm"
        assert turn.stop is not None


async def played(client: OpenAIResponsesClient) -> tuple[Turn, VendorError | None]:
    turn = Turn(vendor="openai", model=SPEC.id)
    stream: Any = client.stream(ASKED, [], TurnSettings(SPEC, "system", 1000), turn)
    try:
        async for _ in stream:
            pass
    except VendorError as error:
        return turn, error
    return turn, None
