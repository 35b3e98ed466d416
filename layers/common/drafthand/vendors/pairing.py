"""Every call of a transcript has a result before a dialect sees it: no vendor takes a call without one."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from drafthand.transcript import Message, ToolCall, ToolResult

NO_RESULT = "There is no result of this call. Do not assume that it ran."


def answered(transcript: Sequence[Message]) -> Iterator[Message]:
    """The transcript with an error result for every call that has none: a run may have been stopped in between."""
    unanswered: list[str] = []
    for message in transcript:
        results = [part.call_id for part in message.parts if isinstance(part, ToolResult)]
        unanswered = [call for call in unanswered if call not in results]
        if unanswered and message.role != "tool":
            yield _no_results(unanswered)
            unanswered = []
        yield message
        unanswered += [part.id for part in message.parts if isinstance(part, ToolCall)]
    if unanswered:
        yield _no_results(unanswered)


def _no_results(calls: list[str]) -> Message:
    return Message(role="tool", parts=tuple(ToolResult(call_id=call, ok=False, text=NO_RESULT) for call in calls))
