"""The loop. The transcript is the state machine: no planner, no step graph, no verify tool."""

from __future__ import annotations

from collections.abc import AsyncIterator
from dataclasses import asdict, dataclass, field
from typing import Protocol

from drafthand.chunks import ChunkType, StreamChunk, Usage
from drafthand.ids import now
from drafthand.session import Session
from drafthand.transcript import Message, ToolCall, ToolResult, Turn

MAX_TURNS = 60
"""A run that hasn't ended by then goes in circles."""


@dataclass
class Counters:
    turns: int = 0
    scripts: int = 0


@dataclass
class Progress:
    """What this run has used and done so far."""

    started_at: float = field(default_factory=now)
    usage: Usage = field(default_factory=Usage)
    counters: Counters = field(default_factory=Counters)
    changed: dict[str, int] = field(default_factory=lambda: {"added": 0, "modified": 0, "deleted": 0})


class Transcript(Protocol):
    session: Session
    messages: list[Message]

    async def append(self, message: Message) -> None: ...


class Model(Protocol):
    """A model, bound to the transcript."""

    def cost_usd(self, usage: Usage) -> float | None: ...

    def new_turn(self) -> Turn: ...

    def stream_turn(self, turn: Turn, number: int) -> AsyncIterator[StreamChunk]:
        """Chunks of the run's turn `number` (from 1); fills `turn`. Raises VendorError."""
        ...


class Execution(Protocol):
    """One tool call being executed: iterate for its chunks, then take its result."""

    result: ToolResult

    def __aiter__(self) -> AsyncIterator[StreamChunk]: ...


class Hand(Protocol):
    def execute(self, call: ToolCall, progress: Progress) -> Execution: ...


class RunFailed(Exception):
    """The run can't go on; `code` and the text go into its Error chunk."""

    def __init__(self, code: str, message: str, *, retryable: bool = False) -> None:
        super().__init__(message)
        self.code = code
        self.retryable = retryable


async def run_agentic_loop(
    transcript: Transcript, model: Model, hand: Hand, progress: Progress
) -> AsyncIterator[StreamChunk]:
    """Work on the newest user message until the model asks for nothing more; the last chunk is Complete.

    Raises:
        VendorError: the model could not answer.
        RunFailed: the model refused, ran out of window, or went in circles.
    """
    while progress.counters.turns < MAX_TURNS:
        progress.counters.turns += 1
        turn = model.new_turn()
        async for chunk in model.stream_turn(turn, progress.counters.turns):
            yield chunk
        progress.usage += turn.usage
        check_stop(turn)
        await transcript.append(turn.message())
        if not turn.tool_calls:
            if turn.stop == "paused":
                continue
            yield complete(transcript.session, progress, turn, model.cost_usd(progress.usage))
            return
        results = []
        for call in turn.tool_calls:
            execution = hand.execute(call, progress)
            async for chunk in execution:
                yield chunk
            results.append(execution.result)
        await transcript.append(Message(role="tool", parts=tuple(results)))
    raise RunFailed("turn_limit", f"The model took {MAX_TURNS} turns without an end. What was committed stays.")


def check_stop(turn: Turn) -> None:
    """Raises RunFailed for an answer that is none."""
    if turn.stop == "refusal":
        raise RunFailed("refused", "The model refused this request. Nothing more was changed; put it in other words.")
    if turn.stop == "context_full":
        raise RunFailed("context_full", "The conversation has outgrown the model's window. Start a new session.")


def complete(session: Session, progress: Progress, turn: Turn, cost_usd: float | None) -> StreamChunk:
    counters = asdict(progress.counters) | {"fix": session.fix, "iteration": session.iteration}
    facts = {
        "usage": progress.usage.model_dump() | {"cost_usd": cost_usd},
        "counters": counters,
        "changed": progress.changed,
        "stop": turn.stop,
        "seconds": round(now() - progress.started_at, 3),
    }
    return StreamChunk(type=ChunkType.COMPLETE, content=turn.text, metadata=facts)
