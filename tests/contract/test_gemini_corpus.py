"""Recorded streams of Gemini through the real SDK and our normalizer, against what each must become."""

import base64
import json
import re
from pathlib import Path
from typing import Any

import pytest
from drafthand.replay import replay
from drafthand.transcript import Thinking, ToolCall, Turn
from drafthand.vendors.gemini import STOPS
from drafthand.vendors.gemini_request import ON_CALL

from tests.paths import SHARED

FOLDER = SHARED / "corpus" / "gemini"
RECORDINGS = sorted(path for path in FOLDER.glob("*.json") if not path.name.endswith(".expected.json"))
OF_THE_VENDORS_TOOLS = ("executableCode", "toolCall", "toolResponse", "codeExecutionResult")

pytestmark = pytest.mark.skipif(not RECORDINGS, reason="the recorded streams are not on this machine")


@pytest.mark.parametrize("path", RECORDINGS, ids=lambda path: path.stem)
async def test_a_recorded_stream_becomes_what_it_must(path: Path) -> None:
    record, expected = read(path)

    replayed = await replay("gemini", record["body"].encode(), record["status"])

    turn = replayed.turn
    if expected["error"] or not expected["terminal"]:
        assert replayed.error is not None
        assert (turn.parts, turn.stop) == ([], None)
        return
    assert replayed.error is None
    assert turn.text == expected["text"]
    assert "".join(part.text for part in turn.parts if isinstance(part, Thinking)) == expected["thinking_text"]
    assert turn.stop == stop_of(expected)
    assert [called(call) for call in turn.tool_calls] == [wanted(call) for call in expected["tool_calls"]]
    assert shown(replayed.chunks, "Message") == expected["text"]
    assert shown(replayed.chunks, "Thinking") == expected["thinking_text"]
    assert shown(replayed.chunks, "ToolInputDelta") == "".join(call.raw for call in turn.tool_calls)
    assert usage(turn) == counted(expected)


@pytest.mark.parametrize("path", RECORDINGS, ids=lambda path: path.stem)
async def test_every_signature_is_kept_byte_for_byte(path: Path) -> None:
    record, _ = read(path)

    turn = (await replay("gemini", record["body"].encode(), record["status"])).turn

    if not turn.parts:
        return
    kept = [part.opaque.data for part in turn.parts if isinstance(part, Thinking | ToolCall) and part.opaque]
    assert kept == signatures(record["body"])
    signed = [call for call in turn.tool_calls if call.opaque]
    assert signed == turn.tool_calls[: len(signed)], "only the first of parallel calls is signed"
    assert {call.opaque.kind for call in signed if call.opaque} <= {ON_CALL}


def read(path: Path) -> tuple[dict[str, Any], dict[str, Any]]:
    return json.loads(path.read_text()), json.loads(path.with_suffix(".expected.json").read_text())


def stop_of(expected: dict[str, Any]) -> str:
    if expected["prompt_block_reason"]:
        return "refusal"
    word: str = expected["stop_reason"]
    return "tool_calls" if expected["tool_calls"] and word == "STOP" else STOPS.get(word, word)


def called(call: ToolCall) -> tuple[str | None, str, Any, bool]:
    return call.vendor_id, call.name, call.input, call.opaque is not None


def wanted(call: dict[str, Any]) -> tuple[str | None, str, Any, bool]:
    return call["id"], call["name"], call["input"], call["signed"]


def shown(chunks: list[Any], kind: str) -> str:
    return "".join(chunk.content for chunk in chunks if chunk.type == kind)


def usage(turn: Turn) -> list[int]:
    """Our counts in the vendor's meaning: its input includes what was cached, its output excludes the thoughts."""
    ours = turn.usage
    return [ours.input_uncached + ours.cache_read, ours.cache_read, ours.output, ours.reasoning]


def counted(expected: dict[str, Any]) -> list[int]:
    """What the vendor's own tools fed to the model is input too."""
    counts = {name: count or 0 for name, count in (expected["usage"] or {}).items()}
    names = ("cached_input", "output", "reasoning")
    return [counts.get("input", 0) + counts.get("tool_use_prompt", 0), *(counts.get(name, 0) for name in names)]


def signatures(body: str) -> list[str]:
    """Those of text, thoughts and calls, as standard base64."""
    events = [json.loads(line) for line in re.findall(r"^data: (.*)$", body, re.MULTILINE)]
    candidates = [candidate for event in events for candidate in event.get("candidates", [])]
    parts = [part for candidate in candidates for part in candidate.get("content", {}).get("parts", [])]
    signed = [part for part in parts if "thoughtSignature" in part and not set(OF_THE_VENDORS_TOOLS) & set(part)]
    return [base64.b64encode(base64.b64decode(part["thoughtSignature"])).decode() for part in signed]
