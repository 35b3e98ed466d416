"""The transcript as every vendor takes it, before a dialect sees it.

1. Every call has one result, right behind it, and every result a call: no vendor takes anything else.
2. Call ids are letters, digits, - and _, at most 64 (Anthropic's and OpenAI's rules), and no two calls share one.
3. A person speaks first and last: some vendors refuse an assistant's message there, others go on writing it.
"""

from __future__ import annotations

import hashlib
import re
from collections.abc import Iterator, Sequence

from drafthand.transcript import Message, Part, Text, ToolCall, ToolResult, is_json

NO_RESULT = "There is no result of this call. Do not assume that it ran."
BEGINNING = "Begin."
"""What a person says before an assistant that spoke first."""
GO_ON = "Go on."
"""What a person says behind an assistant that spoke last."""


def answered(transcript: Sequence[Message]) -> Iterator[Message]:
    """The transcript with an error result for every call that has none (a run may have been stopped in between), and
    without what no vendor takes: results of no call, second results, and messages of nothing but blank text."""
    calls, results = _paired(transcript)
    last = None
    for at, message in enumerate(transcript):
        ids = iter(calls[at])
        parts = tuple(_sent(part, ids) for part in message.parts if not isinstance(part, ToolResult))
        if all(isinstance(part, Text) and not part.text.strip() for part in parts):
            continue
        if last is None and message.role == "assistant":
            yield Message(role="user", parts=(Text(text=BEGINNING),))
        yield message.model_copy(update={"parts": parts})
        last = message.role
        if calls[at]:
            yield Message(role="tool", parts=tuple(results[call] for call in calls[at]))
            last = "tool"
    if last == "assistant":
        yield Message(role="user", parts=(Text(text=GO_ON),))


def _paired(transcript: Sequence[Message]) -> tuple[list[list[str]], dict[str, ToolResult]]:
    """The ids under which each message's calls are sent, and the result of each. A result belongs to the latest call
    of its id; the first counts."""
    calls: list[list[str]] = []
    results: dict[str, ToolResult] = {}
    latest: dict[str, str] = {}
    unanswered: set[str] = set()
    for message in transcript:
        calls.append([])
        for part in message.parts:
            if isinstance(part, ToolCall):
                sent = latest[part.id] = _valid_id(part.id, results)
                results[sent] = ToolResult(call_id=sent, ok=False, text=NO_RESULT)
                calls[-1].append(sent)
                unanswered.add(sent)
            elif isinstance(part, ToolResult) and latest.get(part.call_id) in unanswered:
                sent = latest[part.call_id]
                results[sent] = part.model_copy(update={"call_id": sent})
                unanswered.remove(sent)
    return calls, results


def _valid_id(call: str, taken: dict[str, ToolResult]) -> str:
    """The id itself where it may be sent; else one that is always the same for it and those before it."""
    times = 0
    sent = call
    while sent in taken or not re.fullmatch(r"[a-zA-Z0-9_-]{1,64}", sent):
        sent = "call_" + hashlib.sha256(f"{times}:{call}".encode(errors="replace")).hexdigest()[:32]
        times += 1
    return sent


def _sent(part: Part, ids: Iterator[str]) -> Part:
    """The part as it is sent; `ids`: those of its message's calls, in their order. What is no JSON never goes out."""
    if not isinstance(part, ToolCall):
        return part
    sound = {} if is_json(part.input) else {"input": None}
    return part.model_copy(update={"id": next(ids)} | sound)
