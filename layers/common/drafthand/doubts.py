"""Doubts about edits of a script. Advice for the model, never a refusal: the merged script runs all the same. Pure."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import pairwise

from drafthand.edits import split_lines
from drafthand.tools import ScriptEdit

SHRUNK_FROM_LINES = 8
"""A shorter script may well be halved on purpose."""


def doubts(held: str, edits: list[ScriptEdit], merged: str) -> list[str]:
    """Sentences about what may have gone wrong in merging `edits` into `held`; the script is `merged` now."""
    ordered = sorted(edits, key=lambda each: (each.start_line, each.end_line))
    before, after = split_lines(held), split_lines(merged)
    notes = [note for edit in ordered for note in _of_one(before, edit)]
    for first, second in pairwise(ordered):
        if second.start_line <= first.end_line:
            notes.append(f"The edits of {_lines(first)} and of {_lines(second)} overlap. Check the merged script.")
    if len(before) >= SHRUNK_FROM_LINES and len(after) * 2 < len(before):
        notes.append(f"The script shrank from {len(before)} to {len(after)} lines. Check that nothing is missing.")
    return notes


def _of_one(before: list[str], edit: ScriptEdit) -> Iterator[str]:
    new = split_lines(edit.replacement)
    old = before[edit.start_line - 1 : edit.end_line]
    if not new:
        return
    above = before[edit.start_line - 2] if edit.start_line > 1 else ""
    below = before[edit.end_line] if edit.end_line < len(before) else ""
    for repeats, line, where in ((new[0] == above, above, "before"), (new[-1] == below, below, "behind")):
        if repeats and line.strip():
            yield f"The edit of {_lines(edit)} repeats the line {where} it: {line.strip()[:60]!r}. Is it there twice?"
    was, now = _indent(old), _indent(new)
    if was is not None and now is not None and was != now:
        yield f"The edit of {_lines(edit)} begins with {now} blanks where {was} were. Is it meant so?"


def _indent(lines: list[str]) -> int | None:
    """Blanks before the first line that isn't blank; None where all are."""
    for line in lines:
        if line.strip():
            return len(line) - len(line.lstrip())
    return None


def _lines(edit: ScriptEdit) -> str:
    return f"lines {edit.start_line} to {edit.end_line}"
