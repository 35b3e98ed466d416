"""One request to a model's vendor, made again where that may help, with every wait shown."""

from __future__ import annotations

import asyncio
import random
from collections.abc import AsyncIterator, Awaitable, Callable, Sequence

from drafthand.chunks import ChunkType, StreamChunk, metadata
from drafthand.errors import VendorError
from drafthand.ids import now
from drafthand.model import ModelClient, TurnSettings
from drafthand.session import Progress
from drafthand.tools import TOOLS
from drafthand.transcript import Message, Turn

ATTEMPTS = 5
BACKOFF_FIRST_S = 1.0
BACKOFF_MOST_S = 60.0
LONGEST_WAIT_S = 120.0
"""A vendor that asks for more (a daily quota, say) is not waited for; the person is told."""

Sleep = Callable[[float], Awaitable[None]]


def backoff_s(attempt: int, asked_s: float | None) -> float:
    """Seconds to wait after attempt number `attempt`: what the vendor asked for, else doubling, no two in step."""
    doubled = min(BACKOFF_MOST_S, BACKOFF_FIRST_S * float(2 ** (attempt - 1)))
    return max(asked_s or 0.0, doubled * random.uniform(0.5, 1.0))


async def ask(
    client: Callable[[], ModelClient],
    messages: Sequence[Message],
    settings: TurnSettings,
    turn: Turn,
    progress: Progress,
    sleep: Sleep,
) -> AsyncIterator[StreamChunk]:
    """The chunks of one turn; fills `turn`. Each attempt is announced: a turn that begins a second time replaces what
    was shown of it.

    Raises:
        VendorError: the vendor failed for good, or after a person has seen part of a call.
    """
    for attempt in range(1, ATTEMPTS + 1):
        yield announcement(settings, progress)
        made = await asyncio.to_thread(client)
        shown: set[ChunkType] = set()
        try:
            async for chunk in made.stream(messages, TOOLS, settings, turn):
                shown.add(chunk.type)
                yield chunk
        except VendorError as error:
            # Once a call is being written, a person has seen a script that would silently become another.
            if not error.retryable or attempt == ATTEMPTS or ChunkType.TOOL_INPUT_DELTA in shown:
                raise
            pause = backoff_s(attempt, error.retry_after_s)
            if pause > LONGEST_WAIT_S:
                raise
            text = f"{error} Asking again in {pause:.0f} s ({attempt + 1} of {ATTEMPTS})."
            yield waiting(text, pause, error.code, repeats=bool(shown), attempt=attempt)
            await sleep(pause)
            turn.clear()
        else:
            return


def announcement(settings: TurnSettings, progress: Progress) -> StreamChunk:
    spec = settings.model
    return metadata(
        "model",
        spec.label,
        vendor=spec.vendor,
        model=spec.id,
        label=spec.label,
        dialect=spec.dialect,
        rehearsal=spec.rehearsal,
        turn=progress.turns + 1,
        phase=progress.phase(),
    )


def waiting(text: str, pause: float, code: str, *, repeats: bool, attempt: int = 1) -> StreamChunk:
    """`repeats`: part of the answer was shown, and the whole answer comes again."""
    if repeats:
        text += " What was written so far is void."
    facts = {"reason": "model", "call_id": None, "since": now(), "timeout_s": pause}
    return metadata("waiting", text, code=code, attempt=attempt, repeats=repeats, **facts)
