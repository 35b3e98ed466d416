"""Recorded streams cut off anywhere: what the vendor has not ended as it ends turns is never taken for a turn, and no
call is ever handed on in part.

Ordinarily at a dozen event boundaries and a few bytes of each recording; with DRAFTHAND_CUTS=all at every event
boundary and at 200 bytes.
"""

import os
import random
import re
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.recordings import Played, Recording, every_recording, player, read

ALL = os.environ.get("DRAFTHAND_CUTS") == "all"
BOUNDARIES, BYTES = (100_000, 200) if ALL else (12, 4)
BLANK_LINE = re.compile(rb"\r?\n\r?\n")
ENDS = {
    "anthropic_messages": rb'^data: ?\{[^\n]*?"type": ?"message_stop".*?\r?\n\r?\n',
    "openai_responses": rb'^data: ?\{[^\n]*?"type": ?"response\.(completed|incomplete)".*?\r?\n\r?\n',
    "gemini": rb'^data: ?\{[^\n]*?"(finishReason|blockReason)"[^\r\n]*',
    "chat_completions": rb'^data: ?(\[DONE\]|\{[^\n]*?"finish_reason": ?").*?\r?\n\r?\n',
}
"""The event by which each dialect ends a turn."""
NEEDS_A_CLOSED_CONNECTION = {"gemini"}
"""Old models say STOP in every event, so the end counts only once the connection has closed in order."""


def end_of(recording: Recording) -> int:
    """Where the event that ends the turn ends; past the body where there is none."""
    found = re.search(ENDS[recording.dialect], recording.body, re.MULTILINE | re.DOTALL)
    return found.end() if found and recording.expected["terminal"] else len(recording.body) + 1


def cuts(body: bytes, end: int) -> Iterator[tuple[int, bool]]:
    """(place, whether the connection breaks there): ends of events, and bytes anywhere; the same in every run.

    Of many ends rather the early ones: there it changes more often what streams, and less has to be read.
    """
    chosen = random.Random(len(body))
    ends = [found.end() for found in BLANK_LINE.finditer(body)]
    if len(ends) > BOUNDARIES:
        ends = [ends[int(len(ends) * chosen.random() ** 2)] for _ in range(BOUNDARIES)]
    anywhere = [chosen.randrange(len(body)) for _ in range(BYTES)]
    for number, place in enumerate([0, *ends, *anywhere]):
        yield place, number % 2 == 1
    if end <= len(body):
        yield from ((end - 1, False), (end, True))


@pytest.mark.timeout(900 if ALL else 60)
@pytest.mark.parametrize(("dialect", "path"), every_recording())
async def test_a_cut_stream_is_a_turn_only_behind_its_end(dialect: str, path: Path) -> None:
    recording = read(dialect, path)
    if recording.status != 200:
        pytest.skip("the vendor refused; there is no stream to cut")
    end, wrong = end_of(recording), []
    for place, breaks in cuts(recording.body, end):
        played = await player(dialect).play(recording.body[:place], breaks=breaks)

        ended = place >= end and not (breaks and dialect in NEEDS_A_CLOSED_CONNECTION)
        if told := problem(recording, played, ended=ended):
            wrong.append(f"{told}; cut at {place} of {len(recording.body)}, its end is at {end}, {breaks=}")
    assert wrong == []


def problem(recording: Recording, played: Played, *, ended: bool) -> str | None:
    """What a cut stream became and must not."""
    turn, error = played.turn, played.error
    if (error is None) != (turn.stop is not None):
        return "neither a turn nor an error, or both"
    if not ended and error is None:
        return "taken for a turn before its end"
    if ended and error is not None and recording.is_turn and recording.dialect not in NEEDS_A_CLOSED_CONNECTION:
        return f"what breaks after the end does harm: {error}"
    if error is not None and recording.is_turn and (error.code, error.retryable) != ("broken_stream", True):
        return f"not told as a broken stream: {error.code}"
    calls = [(call["name"], call["input"]) for call in recording.expected["tool_calls"]]
    found = [(call.name, call.input) for call in turn.tool_calls if call.input is not None]
    return None if found == calls[: len(found)] else f"handed on {found}"
