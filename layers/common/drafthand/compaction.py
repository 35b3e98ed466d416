"""Shortening a conversation that nears the model's window. What is stored stays; requests begin at the newest summary.

The summary is the model's own, between what must survive word for word: the open request, the held script, the last
change report, the newest result, and what is used of the limits. Pure.
"""

from __future__ import annotations

from collections.abc import Sequence

from drafthand.digest import digest
from drafthand.edits import numbered
from drafthand.model import ModelSpec
from drafthand.session import Session
from drafthand.tools import AUTOMATE
from drafthand.transcript import Image, ImageRef, Message, Part, Summary, Text, ToolCall, ToolResult

DUE_SHARE = 0.8
"""Of the window without the answer's own budget; the rest covers what is only estimated."""
CHARS_PER_TOKEN = 3.0
"""Low for English (about 4), right for code full of names and numbers: better early than refused."""
PICTURE_TOKENS = 3_000
"""What the largest pictures that we send cost at most vendors."""
APART = 3
"""Messages that must have come since a summary before another may be made: a turn, its results, and one more."""
SHORT_RESULT_CHARS = 400

INSTRUCTION = (
    "Drafthand is about to shorten this conversation. Write the summary that you will go on from; everything before it "
    "will be gone. Say: what was asked and what is still open; what you learned about the document (ids, names, "
    "counts, units); what was changed and committed; what failed and why; what the user decided or forbade; your next "
    "step. The open request, the held script and the last report are kept word for word, so don't repeat those. Call "
    "no tool."
)
BEGIN, END = "[Summary of the conversation so far]", "[End of the summary]"
"""A dialect may join the next message to the summary's: what the user says after it is no part of it."""
NO_SUMMARY = "(No summary could be made: the conversation is longer than the model can read.)"


def effective(messages: Sequence[Message]) -> list[Message]:
    """The messages that a request is made of: the newest summary and what followed it."""
    for index in range(len(messages) - 1, -1, -1):
        if summary_of(messages[index]) is not None:
            return [_readable(messages[index]), *messages[index + 1 :]]
    return list(messages)


def summary_of(message: Message) -> Summary | None:
    return next((part for part in message.parts if isinstance(part, Summary)), None)


def _readable(message: Message) -> Message:
    """No dialect knows summaries: they are read as text."""
    parts = [Text(text=part.text) if isinstance(part, Summary) else part for part in message.parts]
    return message.model_copy(update={"parts": tuple(parts)})


def tokens_of(messages: Sequence[Message]) -> int:
    """What messages cost a model, estimated."""
    return sum(_tokens(part) for message in messages for part in message.parts)


def _tokens(part: Part) -> int:
    pictures = len(part.images) if isinstance(part, ToolResult) else int(isinstance(part, Image))
    return int(len(part.model_dump_json()) / CHARS_PER_TOKEN) + pictures * PICTURE_TOKENS


def next_request_tokens(session: Session, messages: Sequence[Message], fixed_chars: int) -> int:
    """What the next request will cost: as its vendor measured the last one, and what has come since, estimated.

    Args:
        fixed_chars: characters of the system prompt and the tools, which every request carries.
    """
    if session.context_tokens and messages:
        since = len(messages)
        while since and messages[since - 1].role != "assistant":
            since -= 1
        if since:
            return session.context_tokens + tokens_of(messages[since:])
    return int(fixed_chars / CHARS_PER_TOKEN) + tokens_of(messages)


def images_of(messages: Sequence[Message]) -> list[ImageRef]:
    """Every picture that messages refer to."""
    parts = [part for message in messages for part in message.parts]
    found = [image for part in parts if isinstance(part, ToolResult) for image in part.images]
    return found + [part.image for part in parts if isinstance(part, Image)]


def room_of(spec: ModelSpec) -> int:
    """Tokens that a request may have, so that the answer has its budget."""
    return int((spec.context - spec.heavy) * DUE_SHARE)


def since_summary(messages: Sequence[Message]) -> tuple[int, Summary | None]:
    """How many messages came after the newest summary, and that summary."""
    for back, message in enumerate(reversed(messages)):
        if (found := summary_of(message)) is not None:
            return back, found
    return len(messages), None


def to_be_summarized(messages: Sequence[Message], *, short: bool) -> list[Message]:
    """The request for a summary. `short` leaves out pictures and cuts results, where the whole is too long to read."""
    history = [_shortened(message) for message in effective(messages)] if short else effective(messages)
    return [*history, Message(role="user", parts=(Text(text=INSTRUCTION),))]


def _shortened(message: Message) -> Message:
    parts: list[Part] = []
    for part in message.parts:
        match part:
            case ToolResult():
                parts.append(part.model_copy(update={"text": digest(part.text, SHORT_RESULT_CHARS), "images": ()}))
            case Image():
                continue
            case _:
                parts.append(part)
    return message.model_copy(update={"parts": tuple(parts)})


def summarized(session: Session, messages: Sequence[Message], words: str, script: str | None, *, lean: bool) -> Message:
    """The message that takes the place of everything before it.

    Args:
        words: the model's own summary.
        script: the held script.
        lean: without the newest result and its picture, for windows that are too small for them.
    """
    _, last = since_summary(messages)
    request = _request(messages) or (last.request if last else "")
    report, newest = _results(messages)
    report = report or (last.report if last else None)
    told = [BEGIN, words.strip() or NO_SUMMARY]
    told += ["", "The request being worked on:", request]
    if script is not None:
        told += ["", "The script that the server holds, which `edits` refer to:", numbered(script)]
    if report is not None:
        told += ["", "The result of the last automation:", report]
    if newest is not None and newest.text != report and not lean:
        told += ["", "The newest result:", newest.text]
    used = ", ".join(f"{value} {name}" for name, value in session.progress.counters().items())
    told += ["", f"Used for this request: {used}.", END]
    pictures: tuple[ImageRef, ...] = newest.images if newest is not None and not lean else ()
    summary = Summary(text="\n".join(told), request=request, report=report, lean=lean)
    return Message(role="user", parts=(summary, *(Image(image=image) for image in pictures)))


def _request(messages: Sequence[Message]) -> str | None:
    """What the user asked last, word for word, where that was not before the newest summary."""
    for message in reversed(messages):
        if summary_of(message) is not None:
            return None
        if message.role == "user":
            return "\n".join(part.text for part in message.parts if isinstance(part, Text))
    return None


def _results(messages: Sequence[Message]) -> tuple[str | None, ToolResult | None]:
    """The text of the last automation's result and the newest result of all, since the newest summary."""
    names: dict[str, str] = {}
    report, newest = None, None
    for message in messages:
        for part in message.parts:
            match part:
                case Summary():
                    report, newest = None, None
                case ToolCall():
                    names[part.id] = part.name
                case ToolResult():
                    newest = part
                    if names.get(part.call_id) == AUTOMATE:
                        report = part.text
    return report, newest
