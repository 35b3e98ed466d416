"""A vendor that fails for a moment: asked again where that is safe, and the wait is shown."""

from collections.abc import AsyncIterator, Sequence
from typing import Any

import pytest
from drafthand.asking import ATTEMPTS, backoff_s
from drafthand.chunks import ChunkType, StreamChunk, Usage
from drafthand.conversation import Conversation
from drafthand.errors import VendorError
from drafthand.model import TurnSettings
from drafthand.session import Progress
from drafthand.store import Store
from drafthand.tools import AUTOMATE
from drafthand.transcript import Text, ToolCall, Turn
from drafthand.turns import ModelTurns
from drafthand.vendors.models import models

from tests.contract.test_store import make_session, said

OVERLOADED = VendorError("v", "overloaded", "Overloaded.", retryable=True)


def chunk(kind: ChunkType, text: str) -> StreamChunk:
    return StreamChunk(type=kind, content=text)


class FailingClient:
    """Plays one list of chunks and errors an attempt."""

    def __init__(self, *attempts: Sequence[StreamChunk | VendorError]) -> None:
        self.attempts = list(attempts)

    async def stream(self, transcript: Any, tools: Any, settings: Any, turn: Turn) -> AsyncIterator[StreamChunk]:
        for step in self.attempts.pop(0):
            if isinstance(step, VendorError):
                raise step
            turn.parts.append(Text(text=step.content))
            yield step
        turn.close("end", Usage())


async def play(
    store: Store, *attempts: Sequence[StreamChunk | VendorError]
) -> tuple[list[StreamChunk], Turn, list[float]]:
    session = store.sessions.append(make_session(store), said("hi"))
    slept: list[float] = []

    async def sleep(seconds: float) -> None:
        slept.append(seconds)

    conversation = await Conversation.open(store, session)
    client = FailingClient(*attempts)
    turns = ModelTurns(conversation, lambda: client, models()["rehearsal"], "system", sleep)
    turn = turns.new_turn()
    return [each async for each in turns.stream_turn(turn)], turn, slept


async def test_an_overloaded_vendor_is_asked_again_after_a_shown_wait(store: Store) -> None:
    chunks, turn, slept = await play(store, [OVERLOADED], [OVERLOADED], [chunk(ChunkType.MESSAGE, "hello")])

    waits = [each.metadata for each in chunks if each.metadata.get("kind") == "waiting"]
    assert [(wait["reason"], wait["attempt"], wait["repeats"]) for wait in waits] == [
        ("model", 1, False),
        ("model", 2, False),
    ]
    assert [wait["timeout_s"] for wait in waits] == slept
    assert turn.text == "hello"


async def test_a_repeat_after_something_was_shown_is_announced_and_leaves_no_trace_in_the_turn(store: Store) -> None:
    broken = [chunk(ChunkType.MESSAGE, "half an ans"), VendorError("v", "broken_stream", "Broke off.", retryable=True)]

    chunks, turn, _ = await play(store, broken, [chunk(ChunkType.MESSAGE, "whole")])

    (wait,) = [each for each in chunks if each.metadata.get("kind") == "waiting"]
    assert wait.metadata["repeats"] is True
    assert "void" in wait.content
    assert turn.text == "whole"


async def test_a_stream_that_breaks_inside_a_call_is_not_repeated(store: Store) -> None:
    broken = [
        chunk(ChunkType.TOOL_INPUT_DELTA, '{"code": "pri'),
        VendorError("v", "broken_stream", "x", retryable=True),
    ]

    with pytest.raises(VendorError):
        await play(store, broken, [chunk(ChunkType.MESSAGE, "never")])


async def test_an_error_that_would_come_again_is_not_repeated(store: Store) -> None:
    with pytest.raises(VendorError, match="bad key"):
        await play(store, [VendorError("v", "auth", "bad key")], [])


async def test_there_is_an_end_to_asking_again(store: Store) -> None:
    with pytest.raises(VendorError, match="Overloaded"):
        await play(store, *[[OVERLOADED]] * (ATTEMPTS + 1))


async def test_a_vendor_that_asks_for_hours_is_not_waited_for(store: Store) -> None:
    quota = VendorError("v", "rate_limited", "Daily quota reached.", retryable=True, retry_after_s=7200)

    with pytest.raises(VendorError, match="Daily quota"):
        await play(store, [quota], [chunk(ChunkType.MESSAGE, "never")])


def test_the_wait_the_vendor_asked_for_is_kept() -> None:
    assert backoff_s(1, 17.0) == 17.0
    assert 0.5 <= backoff_s(1, None) <= 1.0
    assert 4.0 <= backoff_s(4, 2.0) <= 8.0


class CuttingClient:
    """Writes a call that a budget under `needs` tokens cuts off."""

    def __init__(self, needs: int) -> None:
        self.needs = needs
        self.budgets: list[int] = []

    async def stream(
        self, transcript: Any, tools: Any, settings: TurnSettings, turn: Turn
    ) -> AsyncIterator[StreamChunk]:
        self.budgets.append(settings.max_output)
        turn.parts.append(ToolCall(id="call_1", name=AUTOMATE, input={"code": "1"}, raw="{}"))
        yield chunk(ChunkType.TOOL_INPUT_DELTA, "{}")
        turn.close("tool_calls" if settings.max_output >= self.needs else "max_tokens", Usage(output=10))


async def judge(store: Store, needs: int) -> tuple[CuttingClient, Turn, list[StreamChunk]]:
    """A turn that follows a committed automation."""
    session = store.sessions.append(make_session(store), said("hi"))
    session = store.sessions.update(session, progress=Progress(last_tool=AUTOMATE, last_automation="committed"))
    client, spec = CuttingClient(needs), models()["rehearsal"]
    turns = ModelTurns(await Conversation.open(store, session), lambda: client, spec, "system")
    turn = turns.new_turn()
    return client, turn, [each async for each in turns.stream_turn(turn)]


async def test_a_turn_that_judges_a_report_has_the_light_budget(store: Store) -> None:
    client, turn, _ = await judge(store, needs=1)

    assert client.budgets == [models()["rehearsal"].light]
    assert turn.tool_calls[0].input == {"code": "1"}


async def test_a_script_that_the_light_budget_cut_off_is_asked_for_again_with_the_heavy_one(store: Store) -> None:
    spec = models()["rehearsal"]

    client, turn, chunks = await judge(store, needs=spec.heavy)

    assert client.budgets == [spec.light, spec.heavy]
    assert [call.input for call in turn.tool_calls] == [{"code": "1"}]
    assert turn.usage.output == 20, "both answers were paid for"
    assert [each.metadata["repeats"] for each in chunks if each.metadata.get("kind") == "waiting"] == [True]


async def test_a_script_that_even_the_heavy_budget_cut_off_is_not_handed_on(store: Store) -> None:
    client, turn, _ = await judge(store, needs=10**9)

    assert len(client.budgets) == 2
    assert turn.tool_calls[0].input is None
