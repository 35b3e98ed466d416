"""The two audiences of a result: the model reads a capped text, the user sees everything. Pure."""

from __future__ import annotations

from typing import Any

from drafthand.commands import HostResult
from drafthand.edits import numbered_region

STDOUT_FOR_MODEL = 12_000
"""Characters: about 3,000 tokens, more than any question about a model needs at once."""
NAMED_UP_TO = 15
"""Elements named one by one; above that groups are counted."""

UNDONE = {
    "failed": "nothing was changed",
    "timed_out": "the time limit was reached; nothing was changed",
    "crashed": "the script crashed the process that ran it; nothing was changed",
    "refused": "nothing was run",
    "unknown": "it is not known whether the document was changed; look before you do anything else",
}


def capped(text: str, limit: int = STDOUT_FOR_MODEL) -> str:
    """The text, or its head and tail with a line between that gives the true totals."""
    if len(text) <= limit:
        return text
    lines = text.split("\n")
    head, tail = text[: limit * 3 // 4], text[-limit // 4 :]
    shown = head.count("\n") + tail.count("\n")
    total = f"{len(text):,} characters in {len(lines):,} lines"
    note = f"[... {total} in all; about {shown:,} lines shown. The user has all.]"
    return f"{head}\n{note}\n{tail}"


def change_line(counts: dict[str, int]) -> str:
    return f"{counts['modified']} modified, {counts['added']} added, {counts['deleted']} deleted"


def for_model(result: HostResult, stdout: str, report: dict[str, Any] | None, script: str | None) -> str:
    """What the model is told of one result. `script` is the script that ran, for the lines around an error."""
    lines = [f"outcome: {result.outcome}"]
    if result.error is not None:
        where = f" (line {result.error.line})" if result.error.line else ""
        lines.append(f"error: {result.error.type}: {capped(result.error.message, 2000)}{where}")
    if result.outcome in UNDONE:
        lines.append(UNDONE[result.outcome])
    if result.error is not None and result.error.line and script:
        lines += ["script around that line:", numbered_region(script, result.error.line)]
    lines += ["stdout:", capped(stdout.rstrip("\n"))] if stdout.strip() else ["stdout: (empty)"]
    if result.outcome in ("committed", "previewed"):
        lines += report_lines(result, report)
    lines += [f"note: {note}" for note in result.notes]
    return "\n".join(lines)


def report_lines(result: HostResult, report: dict[str, Any] | None) -> list[str]:
    """The change report in words: elements one by one up to NAMED_UP_TO, else groups with an example."""
    counts = result.changed.counts()
    lines = [f"changed: {change_line(counts)}"]
    if not any(counts.values()):
        lines.append("0 element(s) changed.")
    if report is None:
        return [*lines, "There is no detailed report."] if any(counts.values()) else lines
    if sum(counts.values()) <= NAMED_UP_TO:
        lines += [_element_line(element) for element in report["elements"]]
    else:
        for group in report["groups"]:
            example = group["example"]
            text = f"- {group['change']} {group['count']} x {group['category']}"
            lines.append(f'{text}, for example #{example["id"]} "{example["name"]}"')
    if report["unresolved"]:
        lines.append(f"- {report['unresolved']} changed id(s) could not be resolved to elements")
    return lines


def _element_line(element: dict[str, Any]) -> str:
    text = f'- {element["change"]} {element["category"]} #{element["id"]} "{element["name"]}"'
    for label in ("tag", "level", "type"):
        if element[label]:
            text += f" {label} {element[label]}"
    changes = [f"{each['property']}: {each['before']!r} -> {each['after']!r}" for each in element["changes"][:5]]
    more = len(element["changes"]) - len(changes)
    if changes:
        text += f" ({'; '.join(changes)}{f'; and {more} more' if more > 0 else ''})"
    return text


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
