"""What the model is told of a call, and the one sentence a person gets. Pure."""

from __future__ import annotations

import json
import unicodedata
from typing import Any

from drafthand.capabilities import Capability
from drafthand.commands import HostResult
from drafthand.digest import digest
from drafthand.edits import numbered_region

REPORT_CHARS = 1_900
"""What a report may cost the model, however many elements changed: some 500 tokens."""
NAME_CHARS = 60
VALUE_CHARS = 80
CHANGES_SHOWN = 5
ERROR_CHARS = 2_000

UNDONE = {
    "failed": "nothing was changed",
    "timed_out": "the time limit was reached; nothing was changed",
    "crashed": "the script crashed the process that ran it; nothing was changed",
    "refused": "nothing was run",
    "unknown": "it is not known whether the document was changed; look before you do anything else",
}


def change_line(counts: dict[str, int]) -> str:
    return f"{counts['modified']} modified, {counts['added']} added, {counts['deleted']} deleted"


def for_model(
    result: HostResult, stdout: str, report: dict[str, Any] | None, script: str | None, capability: Capability
) -> str:
    """What the model is told of one result. `script` is the script that ran, for the lines around an error."""
    lines = [f"outcome: {result.outcome}"]
    if result.error is not None:
        where = f" (line {result.error.line})" if result.error.line else ""
        lines.append(f"error: {result.error.type}: {digest(result.error.message, ERROR_CHARS)}{where}")
    if result.outcome in UNDONE:
        lines.append(UNDONE[result.outcome])
    if result.error is not None and result.error.line and script:
        lines += ["script around that line:", numbered_region(script, result.error.line)]
    lines += ["stdout:", digest(stdout)] if stdout.strip() else ["stdout: (empty)"]
    if result.outcome in ("committed", "previewed"):
        lines += report_lines(result, report, capability)
    lines += [f"note: {short(note, ERROR_CHARS)}" for note in result.notes]
    return "\n".join(lines)


def report_lines(result: HostResult, report: dict[str, Any] | None, capability: Capability) -> list[str]:
    """The change report in words, in at most REPORT_CHARS: elements one by one while they are few, else groups with
    an example; counts are always those of everything."""
    counts = result.changed.counts()
    lines = [f"changed: {change_line(counts)}"]
    if not any(counts.values()):
        lines.append(f"0 element(s) changed{_others(report)}.")
    if report is None:
        return [*lines, "There is no detailed report."] if any(counts.values()) else lines
    unresolved = report["unresolved"]
    if unresolved:
        lines.append(f"unresolved: {unresolved} changed id(s) could not be resolved to elements.")
    room = REPORT_CHARS - sum(len(line) + 1 for line in lines)
    if sum(counts.values()) <= capability.named_up_to:
        shown = [_element_line(element) for element in report["elements"]]
        if sum(len(line) + 1 for line in shown) <= room:
            return lines + shown
    return lines + _fitting([_group_line(group) for group in report["groups"]], room)


def _others(report: dict[str, Any] | None) -> str:
    """What did change where no element did: to edit a unit or a classification has an effect too."""
    others = sum(report["entities"].values()) if report else 0
    return f"; {others} other {'entity' if others == 1 else 'entities'} of the file did" if others else ""


def protected_note(report: dict[str, Any] | None, capability: Capability) -> list[str]:
    """What a report names that no script should touch unasked, as a note for both audiences."""
    rows = report["elements"] if report else []
    touched = sorted({row["category"] for row in rows} & set(capability.protected))
    return [f"{', '.join(touched)} changed. Put that back unless it was asked for."] if touched else []


def _fitting(groups: list[str], room: int) -> list[str]:
    """As many groups as have room, and how many have none."""
    for shown, line in enumerate(groups):
        left = len(groups) - shown
        rest = f"- and {left} more group(s) of changes"
        room -= len(line) + 1
        if room < (len(rest) + 1 if left > 1 else 0):
            return [*groups[:shown], rest]
    return groups


def _element_line(element: dict[str, Any]) -> str:
    text = f"- {element['change']} {short(element['category'])} #{element['id']} {_quoted(element['name'])}"
    for label in ("tag", "level", "type"):
        if element[label]:
            text += f" {label} {short(element[label])}"
    return text + _changes(element["changes"])


def _group_line(group: dict[str, Any]) -> str:
    example = group["example"]
    text = f"- {group['change']} {group['count']:,} x {short(group['category'])}"
    return f"{text}{_changes(group['changes'])}, for example #{example['id']} {_quoted(example['name'])}"


def _changes(changes: list[dict[str, Any]]) -> str:
    if not changes:
        return ""
    told = [_change(each) for each in changes]
    more = len(told) - CHANGES_SHOWN
    return f" ({'; '.join(told[:CHANGES_SHOWN])}{f'; and {more} more' if more > 0 else ''})"


def _change(change: dict[str, Any]) -> str:
    """A change without values, such as one of shape, is told by its name alone."""
    name, before, after = short(change["property"]), change["before"], change["after"]
    return name if before is None and after is None else f"{name}: {_value(before)} -> {_value(after)}"


def _value(value: Any) -> str:
    """A value as Python writes it, on one line: a text that is cut keeps its closing quote."""
    line = repr(value)
    closing = line[-1] if isinstance(value, str) else ""
    return line if len(line) <= VALUE_CHARS else f"{line[: VALUE_CHARS - 1 - len(closing)]}…{closing}"


def _quoted(name: object) -> str:
    """A name in quotes that it can't close."""
    return json.dumps(short(name), ensure_ascii=False)


def short(text: object, limit: int = NAME_CHARS) -> str:
    """A name or a value on one line: what stands in a model is its author's, not ours.

    Control and format characters are dropped: they could hide text, or turn its direction around.
    """
    shown = (each for each in str(text) if each.isspace() or unicodedata.category(each) not in ("Cc", "Cf"))
    line = " ".join("".join(shown).split())
    return line if len(line) <= limit else f"{line[: limit - 1]}…"


def summary_line(result: HostResult, host_title: str) -> str:
    """One sentence for a person."""
    counts = result.changed.counts()
    match result.outcome:
        case "committed":
            return f"Committed: {change_line(counts)}."
        case "previewed":
            return f"Would change: {change_line(counts)}. Nothing is applied yet."
        case "rolled_back" if result.error is None:
            return "Read only; nothing was changed."
        case "rolled_back":
            return f"{result.error.message} Nothing was changed." if result.error else ""
        case "failed":
            where = f" in line {result.error.line}" if result.error and result.error.line else ""
            what = result.error.type if result.error else "an error"
            return f"The script failed{where} with {what}; it was rolled back, nothing was changed."
        case "timed_out":
            return "The script reached its time limit; it was rolled back, nothing was changed."
        case "crashed":
            return "The script crashed the process that ran it; nothing was changed."
        case "refused":
            return f"{host_title} refused: {result.error.message if result.error else 'it gave no reason'}"
    return f"{host_title} can't say whether the document was changed."
