"""The loop. The transcript is the state machine: no planner, no step graph, no verify tool."""

from __future__ import annotations

from collections.abc import AsyncIterator
from typing import Any, Protocol

from drafthand.chunks import ChunkType, StreamChunk, Usage
from drafthand.ids import now
from drafthand.session import Session
from drafthand.transcript import Message, ToolCall, ToolResult, Turn

TURNS_BEYOND = 2
"""How often a model that was told to sum up may call on before its run is ended for it."""


class Transcript(Protocol):
    session: Session
    messages: list[Message]

    async def append(self, message: Message, **changes: Any) -> None:
        """Append to the transcript and, in the same write, set attributes of the session."""
        ...

    async def hear(self) -> list[StreamChunk]:
        """Append what the user has said meanwhile; a chunk for each message."""
        ...


class Model(Protocol):
    """A model, bound to the transcript."""

    def cost_usd(self, usage: Usage) -> float | None: ...

    def new_turn(self) -> Turn: ...

    def stream_turn(self, turn: Turn) -> AsyncIterator[StreamChunk]:
        """The chunks of one turn; fills `turn`. Raises VendorError."""
        ...


class Execution(Protocol):
    """One tool call being executed: iterate for its chunks, then take its result."""

    result: ToolResult

    def __aiter__(self) -> AsyncIterator[StreamChunk]: ...


class Hand(Protocol):
    def execute(self, call: ToolCall) -> Execution: ...


class RunFailed(Exception):
    """The run can't go on; `code` and the text go into its Error chunk."""

    def __init__(self, code: str, message: str, *, retryable: bool = False) -> None:
        super().__init__(message)
        self.code = code
        self.retryable = retryable


async def run_agentic_loop(transcript: Transcript, model: Model, hand: Hand) -> AsyncIterator[StreamChunk]:
    """Work on the newest user message until the model asks for nothing more; the last chunk is Complete.

    Each step is told by the transcript alone, so that a run goes on wherever another process has left it.

    Raises:
        VendorError: the model could not answer.
        RunFailed: the model refused, ran out of window, or went on after its limits.
    """
    while True:
        if not transcript.messages[-1].calls:
            for chunk in await transcript.hear():
                yield chunk
        newest = transcript.messages[-1]
        if newest.calls and gives_up(transcript.session):
            yield complete(transcript.session, newest, model, text=summary(transcript.session))
            return
        if newest.calls:
            results = []
            for call in newest.calls:
                execution = hand.execute(call)
                async for chunk in execution:
                    yield chunk
                results.append(execution.result)
            await transcript.append(Message(role="tool", parts=tuple(results)))
        elif newest.role == "assistant" and newest.stop != "paused":
            yield complete(transcript.session, newest, model, text=newest.text)
            return
        else:
            turn = model.new_turn()
            async for chunk in model.stream_turn(turn):
                yield chunk
            check_stop(turn, transcript.session)
            progress = transcript.session.progress.after_turn(turn.usage)
            await transcript.append(turn.message(), progress=progress, context_tokens=turn.context_tokens)


def check_stop(turn: Turn, session: Session) -> None:
    """Raises RunFailed for an answer that is none."""
    if turn.stop == "refusal":
        raise RunFailed("refused", "The model refused this request. Nothing more was changed; put it in other words.")
    if turn.stop == "context_full":
        raise RunFailed("context_full", "The conversation has outgrown the model's window. Start a new session.")
    if turn.stop == "max_tokens" and not turn.text.strip() and not turn.tool_calls:
        raise RunFailed("no_answer", "The model used up its room for an answer without one. Ask for less at once.")
    if session.progress.turns > session.limits.turns + 2 * TURNS_BEYOND:
        raise RunFailed("turn_limit", f"The model did not come to an end within {session.limits.turns} turns.")


def gives_up(session: Session) -> bool:
    """The model calls on although a limit is reached and it was told to sum up."""
    progress = session.progress
    return progress.limit is not None and progress.turns > progress.limit_turn + TURNS_BEYOND


def summary(session: Session) -> str:
    """Our own words, where the model finds none."""
    changed = ", ".join(f"{count} {change}" for change, count in session.progress.changed.items())
    limit = session.progress.limit
    return f"The limit of {limit} was reached, and the model did not sum up. Changed so far: {changed}."


def complete(session: Session, answer: Message, model: Model, *, text: str) -> StreamChunk:
    progress = session.progress
    facts = {
        "usage": progress.usage.model_dump() | {"cost_usd": model.cost_usd(progress.usage)},
        "counters": progress.counters(),
        "changed": progress.changed,
        "limit": progress.limit,
        "stop": answer.stop,
        "seconds": round(now() - progress.started_at, 3),
    }
    return StreamChunk(type=ChunkType.COMPLETE, content=text, metadata=facts)
