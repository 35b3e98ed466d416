"""Shortening a conversation that nears the model's window. What is stored stays; requests begin at the newest summary.

The summary is the model's own, between what must survive word for word: the open request, the held script, the last
change report, the newest result, and what is used of the limits. Where a vendor shortens by itself, its own compaction
stands in the transcript, and a message with what must survive follows it. Pure.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from drafthand.digest import digest
from drafthand.edits import numbered
from drafthand.model import ModelSpec
from drafthand.session import Session
from drafthand.tools import AUTOMATE
from drafthand.transcript import (
    Compaction,
    Image,
    ImageRef,
    Kept,
    Message,
    Part,
    Summary,
    Text,
    Thinking,
    ToolCall,
    ToolResult,
)

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
KEPT_BEGIN, KEPT_END = "[Kept word for word of the conversation that was shortened]", "[End of what was kept]"
NO_SUMMARY = "(No summary could be made: the conversation is longer than the model can read.)"


def effective(messages: Sequence[Message], reader: ModelSpec | None = None) -> list[Message]:
    """The messages that a request is made of: the newest summary and what followed it.

    Args:
        reader: the model that is asked; where its own vendor compacted later than that, the turn that brought the
            compaction takes the summary's place. None: a model that made none.
    """
    start, own = _start(messages, reader)
    read = [message.model_copy(update={"parts": tuple(_read(message, own))}) for message in messages[start:]]
    return [message for message in read if message.parts]


def _start(messages: Sequence[Message], reader: ModelSpec | None) -> tuple[int, ModelSpec | None]:
    """Where a request begins; and the reader, where it begins with the reader's own compaction."""
    for index in range(len(messages) - 1, -1, -1):
        if summary_of(messages[index]) is not None:
            return index, None
        if reader is not None and any(reader.reads(part) for part in _compactions(messages[index])):
            return index, reader
    return 0, None


def _compactions(message: Message) -> list[Compaction]:
    return [part for part in message.parts if isinstance(part, Compaction)]


def summary_of(message: Message) -> Summary | None:
    return next((part for part in message.parts if isinstance(part, Summary)), None)


def _read(message: Message, own: ModelSpec | None) -> Iterator[Part]:
    """No dialect knows summaries: they are read as text."""
    for part in message.parts:
        match part:
            case Summary():
                yield Text(text=part.text)
            case Kept():
                if own is not None:
                    yield Text(text=part.text)
            case Compaction():
                if own is not None and own.reads(part):
                    yield part
            case _:
                yield part


def lacks_kept(messages: Sequence[Message], reader: ModelSpec) -> bool:
    """Whether requests begin with a compaction of the reader's vendor and what must survive has not been said since."""
    start, own = _start(messages, reader)
    return own is not None and not any(isinstance(part, Kept) for message in messages[start:] for part in message.parts)


def tokens_of(messages: Sequence[Message]) -> int:
    """What messages cost a model, estimated."""
    return sum(_tokens(part) for message in messages for part in message.parts)


def _tokens(part: Part) -> int:
    pictures = len(part.images) if isinstance(part, ToolResult) else int(isinstance(part, Image))
    return int(len(part.model_dump_json()) / CHARS_PER_TOKEN) + pictures * PICTURE_TOKENS


def next_request_tokens(session: Session, messages: Sequence[Message], fixed_chars: int) -> int:
    """What the next request will cost: as its vendor measured the last one, and what has come since, estimated. What
    another model measured says nothing: it may have read a compaction of its own.

    Args:
        fixed_chars: characters of the system prompt and the tools, which every request carries.
    """
    if session.context_tokens and messages:
        since = len(messages)
        while since and messages[since - 1].role != "assistant":
            since -= 1
        if since and messages[since - 1].model == session.model:
            return session.context_tokens + tokens_of(messages[since:])
    return int(fixed_chars / CHARS_PER_TOKEN) + tokens_of(messages)


def images_of(messages: Sequence[Message]) -> list[ImageRef]:
    """Every picture that messages refer to."""
    parts = [part for message in messages for part in message.parts]
    found = [image for part in parts if isinstance(part, ToolResult) for image in part.images]
    return found + [part.image for part in parts if isinstance(part, Image)]


def since_summary(messages: Sequence[Message]) -> tuple[int, Summary | None]:
    """How many messages came after the newest summary, and that summary."""
    for back, message in enumerate(reversed(messages)):
        if (found := summary_of(message)) is not None:
            return back, found
    return len(messages), None


def to_be_summarized(messages: Sequence[Message], reader: ModelSpec | None = None, *, short: bool) -> list[Message]:
    """The request for a summary. `short` leaves out pictures and cuts results, where the whole is too long to read."""
    history = effective(messages, reader)
    if short:
        history = [_shortened(message) for message in history]
    return [*history, Message(role="user", parts=(Text(text=INSTRUCTION),))]


def _shortened(message: Message) -> Message:
    """Without thinking, which is signed for just what stood before it."""
    parts: list[Part] = []
    for part in message.parts:
        match part:
            case ToolResult():
                parts.append(part.model_copy(update={"text": digest(part.text, SHORT_RESULT_CHARS), "images": ()}))
            case Image() | Thinking():
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
    request, report, newest = _survivors(messages)
    told = [BEGIN, words.strip() or NO_SUMMARY, *_word_for_word(session, request, script, report)]
    if newest is not None and newest.text != report and not lean:
        told += ["", "The newest result:", newest.text]
    pictures: tuple[ImageRef, ...] = newest.images if newest is not None and not lean else ()
    summary = Summary(text="\n".join([*told, END]), request=request, report=report, lean=lean)
    return Message(role="user", parts=(summary, *(Image(image=image) for image in pictures)))


def kept(session: Session, messages: Sequence[Message], script: str | None) -> Message:
    """The message that follows the turn in which a vendor compacted, and its results.

    Args:
        script: the held script.
    """
    request, report, _ = _survivors(messages)
    told = [KEPT_BEGIN, *_word_for_word(session, request, script, report), KEPT_END]
    return Message(role="user", parts=(Kept(text="\n".join(told)),))


def _word_for_word(session: Session, request: str, script: str | None, report: str | None) -> list[str]:
    told = ["", "The request being worked on:", request]
    if script is not None:
        told += ["", "The script that the server holds, which `edits` refer to:", numbered(script)]
    if report is not None:
        told += ["", "The result of the last automation:", report]
    used = ", ".join(f"{value} {name}" for name, value in session.progress.counters().items())
    return [*told, "", f"Used for this request: {used}."]


def _survivors(messages: Sequence[Message]) -> tuple[str, str | None, ToolResult | None]:
    """The open request, the last automation's result, and the newest result of all since the newest summary."""
    _, last = since_summary(messages)
    report, newest = _results(messages)
    return _request(messages), report or (last.report if last else None), newest


def _request(messages: Sequence[Message]) -> str:
    """What the user asked for in the newest run, and has added since, word for word."""
    said: list[str] = []
    for message in reversed(messages):
        if (last := summary_of(message)) is not None:
            said.append(last.request)
            break
        if said and message.role == "assistant" and not message.calls and message.stop != "paused":
            break  # the end of the run before
        if message.role == "user" and not any(isinstance(part, Kept) for part in message.parts):
            said.append("\n".join(part.text for part in message.parts if isinstance(part, Text)))
    return "\n\n".join(reversed(said))


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
