"""Recorded streams of all vendors through their real SDKs and our normalizers, against what each must become."""

import base64
import json
import re
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest
from drafthand.transcript import Thinking, Turn
from drafthand.vendors import anthropic_messages, gemini
from drafthand.vendors.gemini_request import ON_CALL
from drafthand.vendors.openai_responses_request import REASONING

from tests.recordings import Recording, every_recording, player, read

DETAILS_ONLY = {"061": "15 * 27 = 405"}
"""Chat thinking that came as reasoning_details and nowhere else; the expectations were made without reading those."""
OUTPUT_WITHOUT_REASONING = {"089", "093", "094"}
"""xAI: the total is larger than input and output by the reasoning."""
CHAT_STOPS = {"stop": "end", "length": "max_tokens", None: "end"}
VENDORS_OWN_TOOLS = ("executableCode", "toolCall", "toolResponse", "codeExecutionResult")

Counts = dict[str, int]


# -- what differs between the dialects --------------------------------------------------------------------------------


def anthropic_stop(turn: Turn, expected: dict[str, Any]) -> str:
    word = expected["stop_reason"]
    return anthropic_messages.STOPS.get(word, word)


def responses_stop(turn: Turn, expected: dict[str, Any]) -> str:
    return "tool_calls" if turn.tool_calls else "end"


def gemini_stop(turn: Turn, expected: dict[str, Any]) -> str:
    word = expected["stop_reason"]
    if expected["prompt_block_reason"]:
        return "refusal"
    return "tool_calls" if expected["tool_calls"] and word == "STOP" else gemini.STOPS.get(word, word)


def chat_stop(turn: Turn, expected: dict[str, Any]) -> str:
    if turn.tool_calls:
        return "tool_calls"
    return "refusal" if expected["refusal"] else CHAT_STOPS[expected["stop_reason"]]


def all_calls(expected: dict[str, Any]) -> list[dict[str, Any]]:
    found: list[dict[str, Any]] = expected["tool_calls"]
    return found


def complete_calls(expected: dict[str, Any]) -> list[dict[str, Any]]:
    """The last call of a turn that was cut off in it is there without input."""
    found = all_calls(expected)
    return found if expected["tool_input_complete"] else [*found[:-1], found[-1] | {"input": None}]


def declared_calls(expected: dict[str, Any]) -> list[dict[str, Any]]:
    """We declare no custom tools (they take free text), so no call of one is ours."""
    return [call for call in all_calls(expected) if call.get("kind") != "custom"]


def inclusive(turn: Turn, recording: Recording) -> Counts:
    """Our counts in OpenAI's meaning: its input includes the cache, its output the reasoning."""
    ours = turn.usage
    return {
        "input": ours.input_uncached + ours.cache_read + ours.cache_write,
        "output": ours.output + ours.reasoning,
        "cached_input": ours.cache_read,
        "cache_write": ours.cache_write,
        "reasoning": ours.reasoning,
    }


def without_cache(turn: Turn, recording: Recording) -> Counts:
    """In Anthropic's meaning: its input excludes the cache."""
    return inclusive(turn, recording) | {"input": turn.usage.input_uncached}


def of_servers(turn: Turn, recording: Recording) -> Counts:
    counts = inclusive(turn, recording)
    return counts | {"output": turn.usage.output} if recording.name in OUTPUT_WITHOUT_REASONING else counts


def without_thoughts(turn: Turn, recording: Recording) -> Counts:
    """In Gemini's meaning: its output excludes the thoughts."""
    return inclusive(turn, recording) | {"output": turn.usage.output}


def plain(told: Counts) -> Counts:
    return {name: told.get(name) or 0 for name in ("input", "output", "cached_input", "cache_write", "reasoning")}


def with_tools(told: Counts) -> Counts:
    """What Gemini's own tools fed to the model is input too."""
    counts = plain(told)
    return counts | {"input": counts["input"] + (told.get("tool_use_prompt") or 0)}


def capped(told: Counts) -> Counts:
    """One server counts more from the cache than came in."""
    counts = plain(told)
    return counts | {"cached_input": min(counts["input"], counts["cached_input"])}


@dataclass(frozen=True)
class Reading:
    """How a dialect's expectations are read: its stop words, calls, our counts in its meaning, and its own."""

    stop: Callable[[Turn, dict[str, Any]], str]
    calls: Callable[[dict[str, Any]], list[dict[str, Any]]]
    ours: Callable[[Turn, Recording], Counts]
    theirs: Callable[[Counts], Counts] = plain


READINGS = {
    "anthropic_messages": Reading(anthropic_stop, complete_calls, without_cache),
    "openai_responses": Reading(responses_stop, declared_calls, inclusive),
    "gemini": Reading(gemini_stop, all_calls, without_thoughts, with_tools),
    "chat_completions": Reading(chat_stop, all_calls, of_servers, capped),
}


# -- what holds for all of them ---------------------------------------------------------------------------------------


@pytest.mark.parametrize(("dialect", "path"), every_recording())
async def test_a_recorded_stream_becomes_what_it_must(dialect: str, path: Path) -> None:
    recording, reading = read(dialect, path), READINGS[dialect]
    expected = recording.expected

    played = await player(dialect).play(recording.body, recording.status)

    turn = played.turn
    if not recording.is_turn:
        assert played.error is not None
        assert turn.stop is None
        return
    assert played.error is None
    text = expected["text"] + (expected.get("refusal") or "")
    thinking = expected["thinking_text"]
    if dialect == "chat_completions":
        thinking = DETAILS_ONLY.get(recording.name, thinking)
    assert turn.text == text
    assert "".join(part.text for part in turn.parts if isinstance(part, Thinking)) == thinking
    assert [(call.vendor_id, call.name, call.input) for call in turn.tool_calls] == [
        (call["id"], call["name"], call["input"]) for call in reading.calls(expected)
    ]
    assert turn.stop == reading.stop(turn, expected)
    assert played.shown("Message") == text
    assert played.shown("Thinking") == thinking
    assert played.shown("ToolInputDelta") == "".join(call.raw for call in turn.tool_calls)
    assert reading.ours(turn, recording) == reading.theirs(expected["usage"] or {})


@pytest.mark.parametrize(("dialect", "path"), every_recording())
async def test_every_piece_of_a_call_names_its_call_and_tool(dialect: str, path: Path) -> None:
    recording = read(dialect, path)

    played = await player(dialect).play(recording.body, recording.status)

    pieces = [chunk.metadata for chunk in played.chunks if chunk.type == "ToolInputDelta"]
    calls = [(call.id, call.name) for call in played.turn.tool_calls]
    if played.error is None:
        assert list(dict.fromkeys((piece["call_id"], piece["tool"]) for piece in pieces)) == calls
    assert len({call_id for call_id, _ in calls}) == len(calls)


# -- what only one vendor can read comes back to it whole -------------------------------------------------------------


@pytest.mark.parametrize(("dialect", "path"), every_recording("anthropic_messages"))
async def test_every_signature_of_claude_is_kept(dialect: str, path: Path) -> None:
    recording = read(dialect, path)

    played = await player(dialect).play(recording.body, recording.status)

    if played.error is not None:
        return
    kept = [part.opaque for part in played.turn.parts if isinstance(part, Thinking) and part.opaque]
    signed = [opaque.data for opaque in kept if opaque.kind == "thinking" and opaque.data]
    assert signed == [each for each in recording.expected["thinking_signatures"] if each]
    redacted = [opaque for opaque in kept if opaque.kind == "redacted_thinking"]
    assert len(redacted) == recording.expected["redacted_thinking"]
    assert all(opaque.data.encode() in recording.body for opaque in redacted)


@pytest.mark.parametrize(("dialect", "path"), every_recording("openai_responses"))
async def test_encrypted_reasoning_is_kept_whole_and_only_before_what_can_go_back(dialect: str, path: Path) -> None:
    recording = read(dialect, path)

    played = await player(dialect).play(recording.body, recording.status)

    if played.error is not None:
        return
    reasoning = [part.opaque for part in played.turn.parts if isinstance(part, Thinking) and part.opaque]
    kept = [json.loads(opaque.data)["encrypted_content"] for opaque in reasoning if opaque.kind == REASONING]
    assert all(encrypted.encode() in recording.body for encrypted in kept)
    if set(recording.expected["item_types"]) <= {"reasoning", "message", "function_call"}:
        lengths = recording.expected["encrypted_reasoning_lengths"]
        assert [len(encrypted) for encrypted in kept] == [length for length in lengths if length]


@pytest.mark.parametrize(("dialect", "path"), every_recording("gemini"))
async def test_every_signature_of_gemini_is_kept_byte_for_byte(dialect: str, path: Path) -> None:
    recording = read(dialect, path)

    played = await player(dialect).play(recording.body, recording.status)

    turn = played.turn
    if played.error is not None:
        return
    kept = [part.opaque.data for part in turn.parts if part.opaque]
    assert kept == gemini_signatures(recording.body.decode())
    signed = [call for call in turn.tool_calls if call.opaque]
    assert signed == turn.tool_calls[: len(signed)], "only the first of parallel calls is signed"
    assert {call.opaque.kind for call in signed if call.opaque} <= {ON_CALL}
    assert [call.opaque is not None for call in turn.tool_calls] == [
        call["signed"] for call in recording.expected["tool_calls"]
    ]


def gemini_signatures(body: str) -> list[str]:
    """Those of text, thoughts and calls, as standard base64."""
    events = [json.loads(line) for line in re.findall(r"^data: (.*)$", body, re.MULTILINE)]
    candidates = [candidate for event in events for candidate in event.get("candidates", [])]
    parts = [part for candidate in candidates for part in candidate.get("content", {}).get("parts", [])]
    signed = [part for part in parts if "thoughtSignature" in part and not set(VENDORS_OWN_TOOLS) & set(part)]
    return [base64.b64encode(base64.b64decode(part["thoughtSignature"])).decode() for part in signed]
