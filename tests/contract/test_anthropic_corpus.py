"""Recorded streams of Anthropic's API through the real SDK and our normalizer, against what each must become."""

import json
from pathlib import Path
from typing import Any

import httpx2
import pytest
from drafthand.chunks import StreamChunk
from drafthand.errors import VendorError
from drafthand.model import TurnSettings
from drafthand.transcript import Message, Text, Thinking, Turn
from drafthand.vendors.access import Access
from drafthand.vendors.anthropic_messages import STOPS, AnthropicMessagesClient
from drafthand.vendors.models import models

from tests.paths import SHARED

FOLDER = SHARED / "corpus" / "anthropic_messages"
RECORDINGS = sorted(path for path in FOLDER.glob("*.json") if not path.name.endswith(".expected.json"))
SPEC = models()["claude-sonnet-5-5"]


async def replay(body: bytes, status: int = 200) -> tuple[Turn, list[StreamChunk]]:
    """The turn and its chunks. Raises VendorError.

    Some recordings lost the blank line that ends their last event when they were saved; it is put back.
    """
    headers = {"content-type": "text/event-stream"}
    transport = httpx2.MockTransport(
        lambda request: httpx2.Response(status, headers=headers, content=body.rstrip() + b"\n\n")
    )
    client = AnthropicMessagesClient(Access("key"), httpx2.AsyncClient(transport=transport))
    turn = Turn(vendor="anthropic", model=SPEC.id)
    transcript = [Message(role="user", parts=(Text(text="hi"),))]
    settings = TurnSettings(SPEC, "system", 1000)
    return turn, [chunk async for chunk in client.stream(transcript, [], settings, turn)]


@pytest.mark.skipif(not RECORDINGS, reason="the recorded streams are not on this machine")
@pytest.mark.parametrize("path", RECORDINGS, ids=lambda path: path.stem)
async def test_a_recorded_stream_becomes_what_it_must(path: Path) -> None:
    record, expected = read(path)
    if expected["error"] or not expected["terminal"]:
        with pytest.raises(VendorError):
            await replay(record["body"].encode(), record["status"])
        return

    turn, chunks = await replay(record["body"].encode(), record["status"])

    assert turn.text == expected["text"]
    assert "".join(part.text for part in turn.parts if isinstance(part, Thinking)) == expected["thinking_text"]
    assert turn.stop == STOPS.get(expected["stop_reason"], expected["stop_reason"])
    assert calls(turn) == [(each["id"], each["name"], each["input"]) for each in complete_calls(expected)]
    assert "".join(chunk.content for chunk in chunks if chunk.type == "Message") == expected["text"]
    usage = expected["usage"]
    assert turn.usage.input_uncached == usage["input"]
    assert turn.usage.output + turn.usage.reasoning == usage["output"]
    assert turn.usage.cache_read == (usage["cached_input"] or 0)
    assert turn.usage.cache_write == (usage["cache_write"] or 0)


def read(path: Path) -> tuple[dict[str, Any], dict[str, Any]]:
    return json.loads(path.read_text()), json.loads(path.with_suffix(".expected.json").read_text())


def calls(turn: Turn) -> list[tuple[str | None, str, Any]]:
    return [(call.vendor_id, call.name, call.input) for call in turn.tool_calls if call.input is not None]


def complete_calls(expected: dict[str, Any]) -> list[dict[str, Any]]:
    """The calls that may be handed on: of a turn whose input is incomplete, not the last."""
    found: list[dict[str, Any]] = expected["tool_calls"]
    return found if expected["tool_input_complete"] else found[:-1]
