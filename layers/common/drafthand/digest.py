"""A long output as the model gets it: repeats folded first, then the middle left out, with the true totals. Pure.

The user's copy is never touched: it has its own URL.
"""

from __future__ import annotations

from collections.abc import Iterator
from itertools import groupby

LIMIT_CHARS = 12_000
"""About 3,000 tokens, more than any question about a building needs at once."""
LINE_SHARE = 0.25
"""Of the room, at most, for one line where room is short: a list printed without breaks is cut like everything else."""
FOLD_FROM = 3
HEAD_SHARE = 0.6
"""Of the room: what a script prints first explains what it prints last, which is the result."""

Shown = tuple[str, int]
"""A line as it is shown, and how many lines of the output it stands for."""


def digest(text: str, limit: int = LIMIT_CHARS) -> str:
    """The text where it is short and repeats little, else what a model needs of it in about `limit` characters.

    A line that comes several times in a row is shown once with its count. Order is kept, head and tail are both there.
    """
    lines = text.removesuffix("\n").split("\n")
    folded = [shown for line, same in groupby(lines) for shown in _fold(line, sum(1 for _ in same))]
    head, tail = _ends(folded, limit)
    left_out = len(folded) - len(head) - len(tail)
    if not left_out and [line for line, _ in head] == lines:
        return text.removesuffix("\n")
    gap = [f"[... {sum(times for _, times in folded[len(head) : len(folded) - len(tail)]):,} lines left out ...]"]
    told = sum(times for _, times in head + tail)
    note = (
        f"[showing {told:,} of {len(lines):,} lines, {len(text):,} characters in all; "
        "repeated lines are folded, long ones cut]"
    )
    return "\n".join([*_texts(head), *(gap if left_out else []), *_texts(tail), note])


def line_count(text: str) -> int:
    return text.count("\n") + (text != "" and not text.endswith("\n"))


def _fold(line: str, times: int) -> Iterator[Shown]:
    if times < FOLD_FROM:
        yield from [(line, 1)] * times
    else:
        yield f"{line} [this line {times:,} times]" if line.strip() else f"[an empty line {times:,} times]", times


def _cut(line: str, room: int) -> str:
    if len(line) <= room:
        return line
    return f"{line[: room * 3 // 4]} [... {len(line):,} characters ...] {line[len(line) - room // 4 :]}"


def _ends(folded: list[Shown], limit: int) -> tuple[list[Shown], list[Shown]]:
    """As many lines from the beginning and from the end as have room; all of them in the head where all have."""
    if sum(len(line) + 1 for line, _ in folded) <= limit:
        return folded, []
    cut = [(_cut(line, int(limit * LINE_SHARE)), times) for line, times in folded]
    head = _fitting(cut, limit * HEAD_SHARE)
    return head, _fitting(cut[len(head) :][::-1], limit * (1 - HEAD_SHARE))[::-1]


def _fitting(lines: list[Shown], room: float) -> list[Shown]:
    for index, (line, _) in enumerate(lines):
        room -= len(line) + 1
        if room < 0:
            return lines[:index]
    return lines


def _texts(lines: list[Shown]) -> list[str]:
    return [line for line, _ in lines]
