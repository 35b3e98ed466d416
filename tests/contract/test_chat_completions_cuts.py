"""Recorded streams cut off anywhere: a turn is closed only behind a finish_reason or [DONE], and then always."""

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
from drafthand.vendors.chat_completions import ChatCompletionsClient

from tests.paths import SHARED

FOLDER = SHARED / "corpus" / "chat_completions"
RECORDINGS = sorted(path for path in FOLDER.glob("*.json") if not path.name.endswith(".expected.json"))
SPEC = ModelSpec(id="cut", label="cut", vendor="openai", dialect="chat_completions")
ASKED = [Message(role="user", parts=(Text(text="hi"),))]
END = re.compile(rb'^data: ?(\[DONE\]|.*?"finish_reason": ?").*?\r?\n\r?\n', re.MULTILINE)
BOUNDARIES, BYTES = 20, 6

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
    """The body; None where it has no end, or reports an error."""
    expected = json.loads(path.with_suffix(".expected.json").read_text())
    if expected["error"] or not expected["terminal"]:
        return None
    body: bytes = json.loads(path.read_text())["body"].encode().rstrip() + b"\n\n"
    return body


def places(body: bytes) -> list[int]:
    """Ends of events, and bytes anywhere; the same in every run."""
    chosen = random.Random(len(body))
    ends = [found.end() for found in re.finditer(rb"\r?\n\r?\n", body)]
    ends = ends if len(ends) <= BOUNDARIES else chosen.sample(ends, BOUNDARIES)
    return [0, *ends, *(chosen.randrange(len(body)) for _ in range(BYTES)), len(body) - 1]


@pytest.mark.parametrize("path", RECORDINGS, ids=lambda path: path.stem)
async def test_a_cut_stream_is_a_turn_only_behind_its_end(path: Path) -> None:
    body = complete(path)
    if body is None:
        return
    found = END.search(body)
    assert found is not None
    stream = Cut(b"", breaks=False)
    headers = {"content-type": "text/event-stream"}
    transport = httpx2.MockTransport(lambda request: httpx2.Response(200, headers=headers, stream=stream))
    async with httpx2.AsyncClient(transport=transport) as http_client:
        client = ChatCompletionsClient(Access("key"), http_client)
        for number, place in enumerate([*places(body), found.end() - 1, found.end()]):
            stream = Cut(body[:place], breaks=number % 2 == 1)

            turn, error = await played(client)

            if place >= found.end():
                assert error is None, "what breaks after the end does no harm"
                assert turn.stop is not None
            else:
                assert error is not None, f"cut at {place} of {len(body)}"
                assert (error.code, error.retryable, turn.stop) == ("broken_stream", True, None)
                assert turn.parts == []


async def played(client: ChatCompletionsClient) -> tuple[Turn, VendorError | None]:
    turn = Turn(vendor="openai", model=SPEC.id)
    stream: Any = client.stream(ASKED, [], TurnSettings(SPEC, "system", 1000), turn)
    try:
        async for _ in stream:
            pass
    except VendorError as error:
        return turn, error
    return turn, None
