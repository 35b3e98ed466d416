"""What the walk needs of a request: whose words are the newest, what a summary stands for, what has been done since.

A dialect tells its transcript as what a person said and what the assistant's turns brought. Drafthand shortens long
conversations, and takes part in them with two texts of its own, in the place of a person's:

1. It asks for a summary with a last text that begins with `INSTRUCTION`.
2. From then on the transcript begins with a text that begins with `SUMMARY`, holds the summary word for word, and
   after the line `WORKED_ON` the request that is still being worked on. It may end with the line `SUMMARY_END`.

A vendor that shortens conversations by itself has such a summary of its own, and Drafthand then adds a text that keeps
some of the conversation word for word, from the line `KEPT` to the line `KEPT_END`. Nobody says anything in that.

Vendors want roles to alternate, so such a text may share its message with a person's, or with tool results; in the chat
dialect neighbours even become one string, where only `SUMMARY_END` tells what was said after the summary.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass

from local.rehearsal.place import Place, read_place
from local.rehearsal.walk import LABEL, Exchange, View

INSTRUCTION = "Drafthand is about to shorten this conversation."
SUMMARY = "[Summary of the conversation so far]"
WORKED_ON = "The request being worked on:"
SUMMARY_END = "[End of the summary]"
KEPT = "[Kept word for word of the conversation that was shortened]"
KEPT_END = "[End of what was kept]"
KEPT_TEXT = re.compile(rf"^{re.escape(KEPT)}$.*?^{re.escape(KEPT_END)}$\s*", re.MULTILINE | re.DOTALL)
ASKED = re.compile(rf"(?:\A\s*|\n\n[ \t]*)(?:{re.escape(LABEL)}\s*)?{re.escape(INSTRUCTION)}")


@dataclass(frozen=True)
class Said:
    """A person's texts between two turns of the assistant; an empty one stands for a picture that is a request."""

    texts: tuple[str, ...]


Entry = Said | Exchange


def view_of(entries: Iterable[Entry], tools: frozenset[str]) -> View:
    """The view of a transcript that is told from its beginning."""
    told = list(_said_by_persons(entries))
    before = _before_the_instruction(told)
    newest, since = _newest(told if before is None else before)
    request, place = _request(newest.texts)
    return View(request, since, tools, place, summarize=before is not None)


def in_place(summary: str, request: str) -> str:
    """The summary of a vendor, in the form in which it can be read again."""
    return f"{SUMMARY}\n{summary}\n\n{WORKED_ON}\n{request}\n{SUMMARY_END}"


def _said_by_persons(entries: Iterable[Entry]) -> Iterator[Entry]:
    """Without what was only kept."""
    for entry in entries:
        if isinstance(entry, Said) and any(KEPT_TEXT.search(text) for text in entry.texts):
            left = tuple(text for text in (KEPT_TEXT.sub("", text) for text in entry.texts) if text)
            if left:
                yield Said(left)
        else:
            yield entry


def _newest(told: Sequence[Entry]) -> tuple[Said, tuple[Exchange, ...]]:
    """What a person said last, and the turns since."""
    newest, since = Said(()), list[Exchange]()
    for entry in told:
        if isinstance(entry, Said):
            newest, since = entry, []
        else:
            since.append(entry)
    return newest, tuple(since)


def _before_the_instruction(told: Sequence[Entry]) -> list[Entry] | None:
    """The transcript that is to be summed up; None where no summary is asked for."""
    last = told[-1] if told else None
    if not isinstance(last, Said):
        return None
    for number, text in reversed(list(enumerate(last.texts))):
        if found := list(ASKED.finditer(text)):
            ahead = text[: found[-1].start()]
            kept = (*last.texts[:number], ahead) if ahead.strip() else last.texts[:number]
            before = [*told[:-1], Said(kept)] if kept else list(told[:-1])
            # Some templates want a word of the assistant between a result and a user's message; it is no turn.
            return before[:-1] if before and before[-1] == Exchange(None) else before
    return None


def _request(texts: Sequence[str]) -> tuple[str, Place | None]:
    """The newest request; where it is the one that a summary holds, also the place that the summary tells."""
    starts = [number for number, text in enumerate(texts) if text.lstrip().startswith(SUMMARY)]
    if not starts:
        return _joined(texts), None
    summary, behind = _split("\n\n".join(texts[starts[-1] :]), SUMMARY_END)
    if summary is None:
        summary, behind = texts[starts[-1]], _joined(texts[starts[-1] + 1 :])
    if behind.strip():
        return behind, None
    told, request = _split(summary, WORKED_ON)
    return request, read_place(request if told is None else told)


def _split(text: str, line: str) -> tuple[str | None, str]:
    """What stands before and behind the last line that is this one; (None, text) where none is."""
    before, found, behind = f"\n{text}\n".rpartition(f"\n{line}\n")
    return (before, behind) if found else (None, text)


def _joined(texts: Sequence[str]) -> str:
    return "\n".join(text for text in texts if text)
