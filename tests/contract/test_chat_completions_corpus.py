"""Recorded streams of 25 servers through the real SDK and our normalizer, against what each must become."""

import json
from pathlib import Path
from typing import Any

import pytest
from drafthand.replay import replay
from drafthand.transcript import Thinking, Turn

from tests.paths import SHARED

FOLDER = SHARED / "corpus" / "chat_completions"
RECORDINGS = sorted(path for path in FOLDER.glob("*.json") if not path.name.endswith(".expected.json"))
STOPS = {"stop": "end", "length": "max_tokens", None: "end"}
DETAILS_ONLY = {"061": "15 * 27 = 405"}
"""Thinking that came as reasoning_details and nowhere else; the expectations were made without reading those."""
OUTPUT_WITHOUT_REASONING = {"089", "093", "094"}
"""xAI: the total is larger than input and output by the reasoning."""

pytestmark = pytest.mark.skipif(not RECORDINGS, reason="the recorded streams are not on this machine")


@pytest.mark.parametrize("path", RECORDINGS, ids=lambda path: path.stem)
async def test_a_recorded_stream_becomes_what_it_must(path: Path) -> None:
    record, expected = read(path)

    replayed = await replay("chat_completions", record["body"].encode(), record["status"])

    turn = replayed.turn
    if expected["error"] or not expected["terminal"]:
        assert replayed.error is not None
        assert (turn.parts, turn.stop) == ([], None)
        return
    assert replayed.error is None
    thinking = DETAILS_ONLY.get(path.stem, expected["thinking_text"])
    assert turn.text == expected["text"] + expected["refusal"]
    assert "".join(part.text for part in turn.parts if isinstance(part, Thinking)) == thinking
    assert [(call.vendor_id, call.name, call.input) for call in turn.tool_calls] == [
        (call["id"], call["name"], call["input"]) for call in expected["tool_calls"]
    ]
    assert turn.stop == stop(turn, expected)
    assert shown(replayed.chunks, "Message") == turn.text
    assert shown(replayed.chunks, "Thinking") == thinking
    assert shown(replayed.chunks, "ToolInputDelta") == "".join(call.raw for call in turn.tool_calls)
    assert usage(turn, path.stem) == counted(expected)


@pytest.mark.parametrize("path", RECORDINGS, ids=lambda path: path.stem)
async def test_every_piece_of_a_call_names_its_call_and_tool(path: Path) -> None:
    record, _ = read(path)

    replayed = await replay("chat_completions", record["body"].encode(), record["status"])

    pieces = [chunk.metadata for chunk in replayed.chunks if chunk.type == "ToolInputDelta"]
    calls = [(call.id, call.name) for call in replayed.turn.tool_calls]
    if replayed.error is None:
        assert list(dict.fromkeys((piece["call_id"], piece["tool"]) for piece in pieces)) == calls
    assert len({call_id for call_id, _ in calls}) == len(calls)


def read(path: Path) -> tuple[dict[str, Any], dict[str, Any]]:
    return json.loads(path.read_text()), json.loads(path.with_suffix(".expected.json").read_text())


def stop(turn: Turn, expected: dict[str, Any]) -> str:
    if turn.tool_calls:
        return "tool_calls"
    return "refusal" if expected["refusal"] else STOPS[expected["stop_reason"]]


def shown(chunks: list[Any], kind: str) -> str:
    return "".join(chunk.content for chunk in chunks if chunk.type == kind)


def usage(turn: Turn, name: str) -> dict[str, int]:
    """Our counts in the vendor's meaning: its input includes the cache, its output the reasoning."""
    ours = turn.usage
    return {
        "input": ours.input_uncached + ours.cache_read + ours.cache_write,
        "output": ours.output + (0 if name in OUTPUT_WITHOUT_REASONING else ours.reasoning),
        "cached_input": ours.cache_read,
        "cache_write": ours.cache_write,
        "reasoning": ours.reasoning,
    }


def counted(expected: dict[str, Any]) -> dict[str, int]:
    """What the vendor counted; one counts more from the cache than came in."""
    names = ("input", "output", "cached_input", "cache_write", "reasoning")
    counts = {name: (expected["usage"] or {}).get(name) or 0 for name in names}
    return counts | {"cached_input": min(counts["input"], counts["cached_input"])}
