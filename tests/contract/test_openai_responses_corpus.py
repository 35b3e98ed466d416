"""Recorded streams of the Responses API through the real SDK and our normalizer, against what each must become."""

import json
from pathlib import Path
from typing import Any

import pytest
from drafthand.replay import replay
from drafthand.transcript import Thinking, Turn
from drafthand.vendors.openai_responses_request import REASONING

from tests.paths import SHARED

FOLDER = SHARED / "corpus" / "openai_responses"
RECORDINGS = sorted(path for path in FOLDER.glob("*.json") if not path.name.endswith(".expected.json"))

pytestmark = pytest.mark.skipif(not RECORDINGS, reason="the recorded streams are not on this machine")


@pytest.mark.parametrize("path", RECORDINGS, ids=lambda path: path.stem)
async def test_a_recorded_stream_becomes_what_it_must(path: Path) -> None:
    record, expected = read(path)

    replayed = await replay("openai_responses", record["body"].encode(), record["status"])

    turn = replayed.turn
    if expected["error"] or not expected["terminal"]:
        assert replayed.error is not None
        assert (turn.parts, turn.stop) == ([], None)
        return
    assert replayed.error is None
    assert turn.text == expected["text"] + expected["refusal"]
    assert "".join(part.text for part in turn.parts if isinstance(part, Thinking)) == expected["thinking_text"]
    assert calls(turn) == complete_calls(expected)
    assert turn.stop == ("tool_calls" if turn.tool_calls else "end")
    assert shown(replayed.chunks, "Message") == turn.text
    assert shown(replayed.chunks, "Thinking") == expected["thinking_text"]
    assert shown(replayed.chunks, "ToolInputDelta") == "".join(call.raw for call in turn.tool_calls)
    assert usage(turn) == {name: expected["usage"][name] or 0 for name in usage(turn)}


@pytest.mark.parametrize("path", RECORDINGS, ids=lambda path: path.stem)
async def test_encrypted_reasoning_is_kept_whole_and_only_before_what_can_go_back(path: Path) -> None:
    record, expected = read(path)

    turn = (await replay("openai_responses", record["body"].encode(), record["status"])).turn

    if not turn.parts:
        return
    kept = [json.loads(part.opaque.data) for part in turn.parts if is_reasoning(part)]
    assert all(item["encrypted_content"] in record["body"] for item in kept)
    if set(expected["item_types"]) <= {"reasoning", "message", "function_call"}:
        assert [len(item["encrypted_content"]) for item in kept] == [
            length for length in expected["encrypted_reasoning_lengths"] if length
        ]


def read(path: Path) -> tuple[dict[str, Any], dict[str, Any]]:
    return json.loads(path.read_text()), json.loads(path.with_suffix(".expected.json").read_text())


def calls(turn: Turn) -> list[tuple[str | None, str, Any]]:
    return [(call.vendor_id, call.name, call.input) for call in turn.tool_calls if call.input is not None]


def complete_calls(expected: dict[str, Any]) -> list[tuple[str, str, Any]]:
    """The calls that may be handed on. We declare no custom tools (they take free text), so no call of one is ours."""
    found = [call for call in expected["tool_calls"] if call.get("kind") != "custom"]
    return [(call["id"], call["name"], call["input"]) for call in found]


def is_reasoning(part: Any) -> bool:
    return isinstance(part, Thinking) and part.opaque is not None and part.opaque.kind == REASONING


def shown(chunks: list[Any], kind: str) -> str:
    return "".join(chunk.content for chunk in chunks if chunk.type == kind)


def usage(turn: Turn) -> dict[str, int]:
    """Our counts in the vendor's meaning: its input includes the cache, its output the reasoning."""
    ours = turn.usage
    return {
        "input": ours.input_uncached + ours.cache_read + ours.cache_write,
        "output": ours.output + ours.reasoning,
        "cached_input": ours.cache_read,
        "cache_write": ours.cache_write,
        "reasoning": ours.reasoning,
    }
