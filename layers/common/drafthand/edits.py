"""Line-targeted edits of the held script. Pure."""

from __future__ import annotations

import difflib

from drafthand.tools import ScriptEdit


class BadEdit(ValueError):
    """An edit names lines that the held script doesn't have; the text tells the model what to mend."""


def split_lines(text: str) -> list[str]:
    """Lines as Python's compiler counts them (str.splitlines would also split at form feeds and U+2028)."""
    lines = text.replace("\r\n", "\n").replace("\r", "\n").split("\n")
    return lines[:-1] if lines[-1] == "" else lines


def apply_edits(script: str, edits: list[ScriptEdit]) -> str:
    """The script with all edits applied; line numbers of every edit refer to the script as held.

    Edits are applied from the last line upwards, so none shifts another. Of edits that overlap, the one that starts
    later is applied first.

    Raises:
        BadEdit: a line that doesn't exist.
    """
    lines = split_lines(script)
    for edit in edits:
        if edit.end_line > len(lines) or edit.start_line > len(lines) + 1:
            raise BadEdit(
                f"Lines {edit.start_line} to {edit.end_line} don't exist: the held script has {len(lines)} lines."
            )
    for edit in reversed(sorted(edits, key=lambda each: (each.start_line, each.end_line))):  # noqa: C413 - stable
        lines[edit.start_line - 1 : edit.end_line] = split_lines(edit.replacement)
    return "\n".join(lines) + "\n"


REGION_LINES = 8


def numbered_region(script: str, line: int, around: int = REGION_LINES) -> str:
    """The lines about `line` (1-based), each with its number, as they are shown to the model."""
    lines = split_lines(script)
    return _numbered(lines, max(1, line - around), min(len(lines), line + around))


def numbered_edits(merged: str, edits: list[ScriptEdit], around: int = 3) -> str:
    """The merged script around each edit, with its new line numbers; regions that touch are shown as one."""
    lines = split_lines(merged)
    regions: list[tuple[int, int]] = []
    shift = 0
    for edit in sorted(edits, key=lambda each: (each.start_line, each.end_line)):
        added = len(split_lines(edit.replacement))
        start = edit.start_line + shift
        first, last = max(1, start - around), min(len(lines), start + added - 1 + around)
        if regions and first <= regions[-1][1] + 1:
            first, last = regions[-1][0], max(last, regions.pop()[1])
        regions.append((first, last))
        shift += added - (edit.end_line - edit.start_line + 1)
    return "\n...\n".join(_numbered(lines, first, last) for first, last in regions if first <= last)


def numbered(script: str) -> str:
    """The whole script with line numbers."""
    lines = split_lines(script)
    return _numbered(lines, 1, len(lines))


def _numbered(lines: list[str], first: int, last: int) -> str:
    width = len(str(last))
    return "\n".join(f"{number:>{width}} | {lines[number - 1]}" for number in range(first, last + 1))


def difference(held: str, merged: str) -> str:
    """What the edits changed, as a unified diff; empty when they changed nothing."""
    return "\n".join(difflib.unified_diff(split_lines(held), split_lines(merged), "before", "after", lineterm=""))
