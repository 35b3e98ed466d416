"""Six faults of a stream in four dialects: each is noticed, told as what it is, and asked for again only where no
script was shown. Played by the vendors' real SDKs; time passes by moving the loop's clock."""

import asyncio
import json
from collections.abc import AsyncIterator, Callable
from dataclasses import dataclass, field
from functools import cache
from typing import Any

import httpx2
import pytest
from drafthand.asking import ATTEMPTS
from drafthand.chunks import StreamChunk
from drafthand.conversation import Conversation
from drafthand.errors import VendorError
from drafthand.model import ModelClient, ModelSpec
from drafthand.session import Progress, Session
from drafthand.tools import AUTOMATE
from drafthand.transcript import Message, Text, Turn
from drafthand.turns import ModelTurns
from drafthand.vendors import DIALECTS, client_of
from drafthand.vendors.access import Access

from tests.streams import TOOL, Answer, answer

HOUR_S = 3600.0
WRITTEN = ['{"code": "prin', 't(1)", "purpo', 'se": "look"}']
INPUT = json.loads("".join(WRITTEN))
CODES = {"overloaded": "overloaded", "no end": "broken_stream", "stall": "broken_stream", "garbage": "broken_stream"}
"""The faults that break an answer off, and what each is told as."""

Packet = bytes | float
"""Bytes of a stream, or seconds that pass without any."""

by_dialect = pytest.mark.parametrize("dialect", DIALECTS)
by_fault = pytest.mark.parametrize("fault", CODES)


class Clock:
    """The loop's clock, moved on by hand: what waits for a deadline meanwhile sees it pass, and nobody really waits."""

    def __init__(self) -> None:
        loop = asyncio.get_running_loop()
        self.passed = 0.0
        self.real = loop.time
        loop.time = lambda: self.real() + self.passed  # type: ignore[method-assign]

    async def pass_by(self, seconds: float) -> None:
        self.passed += seconds
        for _ in range(3):  # what is due now runs
            await asyncio.sleep(0)


class Wire(httpx2.AsyncByteStream):
    def __init__(self, packets: list[Packet], clock: Clock) -> None:
        self.packets, self.clock = packets, clock

    async def __aiter__(self) -> AsyncIterator[bytes]:
        for packet in self.packets:
            if isinstance(packet, float):
                await self.clock.pass_by(packet)
            else:
                yield packet


@dataclass
class Heard:
    """What a person saw of a turn, what was asked of the vendor, and how the turn ended."""

    turn: Turn
    chunks: list[StreamChunk] = field(default_factory=list)
    requests: list[dict[str, Any]] = field(default_factory=list)
    error: VendorError | None = None

    @property
    def waits(self) -> list[tuple[str, bool]]:
        found = [chunk.metadata for chunk in self.chunks if chunk.metadata.get("kind") == "waiting"]
        return [(wait["code"], wait["repeats"]) for wait in found]

    @property
    def shown(self) -> list[str]:
        """The kinds of chunks, each once for a run of them."""
        kinds = [chunk.metadata.get("kind") or str(chunk.type) for chunk in self.chunks]
        return [kind for kind, before in zip(kinds, [None, *kinds], strict=False) if kind != before]

    @property
    def inputs(self) -> list[Any]:
        return [call.input for call in self.turn.tool_calls]


async def hear(dialect: str, *answers: list[Packet], reader_takes_s: float = 0.0, judging: bool = False) -> Heard:
    """One turn of a model whose vendor answers so, request by request; the last answer again for any further one.

    `judging`: the turn follows a committed automation, and so has the light budget at first.
    """
    clock, requests = Clock(), []

    def respond(request: httpx2.Request) -> httpx2.Response:
        requests.append(json.loads(request.content))
        packets = answers[min(len(requests), len(answers)) - 1]
        return httpx2.Response(200, headers={"content-type": "text/event-stream"}, stream=Wire(packets, clock))

    asked = client_that(dialect, respond)
    turns = ModelTurns(conversation(judging), lambda: asked, spec(dialect), "system", clock.pass_by)
    heard = Heard(turns.new_turn(), requests=requests)
    try:
        async for chunk in turns.stream_turn(heard.turn):
            heard.chunks.append(chunk)
            await clock.pass_by(reader_takes_s)
    except VendorError as error:
        heard.error = error
    return heard


RESPONDING: dict[str, Callable[[httpx2.Request], httpx2.Response]] = {}


def client_that(dialect: str, respond: Callable[[httpx2.Request], httpx2.Response]) -> ModelClient:
    """The client of a dialect, whose vendor responds so from now on."""
    RESPONDING[dialect] = respond
    return client(dialect)


@cache
def client(dialect: str) -> ModelClient:
    """Made once: that takes longer than any turn here."""
    transport = httpx2.MockTransport(lambda request: RESPONDING[dialect](request))
    return client_of(dialect, Access("key", "http://faulty.invalid"), httpx2.AsyncClient(transport=transport))


def spec(dialect: str) -> ModelSpec:
    return ModelSpec(id="m", label="M", vendor="v", dialect=dialect, light=1_000, heavy=8_000)


def conversation(judging: bool) -> Conversation:
    progress = Progress(last_tool=AUTOMATE, last_automation="committed") if judging else Progress()
    facts = {"title": "", "model": "m", "host_id": None, "created_at": 0, "updated_at": 0}
    session = Session(id="ses_1", owner="ann", progress=progress, **facts)
    store: Any = None  # a transcript without pictures asks it for nothing
    return Conversation(store, session, [Message(role="user", parts=(Text(text="hi"),))])


def broken(fault: str, written: Answer, sent: list[bytes]) -> list[Packet]:
    """What of the answer was sent, and then the fault; after garbage the vendor goes on as if nothing had been."""
    match fault:
        case "overloaded":
            return [*sent, written.overloaded]
        case "no end":
            return [*sent]
        case "stall":
            return [*sent, HOUR_S, *written.whole[len(sent) :]]
        case "garbage":
            return [*sent, written.garbage, *written.end]
    raise ValueError(fault)


# -- an answer that breaks off ----------------------------------------------------------------------------------------


@by_dialect
@by_fault
async def test_what_breaks_off_before_anything_was_shown_is_asked_again(dialect: str, fault: str) -> None:
    written = answer(dialect, ["Two ", "doors."])

    heard = await hear(dialect, broken(fault, written, written.head), written.whole)

    assert heard.waits == [(CODES[fault], False)]
    assert (heard.turn.text, heard.turn.stop, heard.error) == ("Two doors.", "end", None)
    assert heard.shown == ["model", "waiting", "model", "Message"]
    assert heard.requests[0] == heard.requests[1]


@by_dialect
@by_fault
async def test_the_repeat_of_what_was_half_shown_is_announced(dialect: str, fault: str) -> None:
    written = answer(dialect, ["Two ", "doors."])

    heard = await hear(dialect, broken(fault, written, [*written.head, written.prose[0]]), written.whole)

    assert heard.waits == [(CODES[fault], True)]
    assert (heard.turn.text, heard.turn.stop, heard.error) == ("Two doors.", "end", None)
    assert heard.shown == ["model", "Message", "waiting", "model", "Message"]
    assert len(heard.requests) == 2


@by_dialect
@by_fault
@pytest.mark.parametrize("pieces", [1, 3], ids=["in a call", "behind a call"])
async def test_what_breaks_off_once_a_script_was_shown_is_not_asked_again(
    dialect: str, fault: str, pieces: int
) -> None:
    written = answer(dialect, ["I look."], WRITTEN)
    sent = [*written.head, *written.prose, *written.opening, *written.call[:pieces]]

    heard = await hear(dialect, broken(fault, written, sent + (written.closing if pieces == 3 else [])), written.whole)

    assert heard.error is not None
    assert (heard.error.code, heard.error.retryable) == (CODES[fault], True)
    assert heard.shown == ["model", "Message", "ToolInputDelta"]
    assert heard.turn.stop is None
    assert len(heard.requests) == 1


@by_dialect
@by_fault
async def test_there_is_an_end_to_asking_again(dialect: str, fault: str) -> None:
    written = answer(dialect, ["Two ", "doors."])

    heard = await hear(dialect, broken(fault, written, [*written.head, written.prose[0]]))

    assert heard.error is not None
    assert heard.error.code == CODES[fault]
    assert heard.waits == [(CODES[fault], True)] * (ATTEMPTS - 1)
    assert (len(heard.requests), heard.turn.stop) == (ATTEMPTS, None)


# -- an answer that the output limit cuts off -------------------------------------------------------------------------

HALVES = {
    "half a string": ['{"code": "prin'],
    "valid by chance": ['{"code": ', '"print(1)", "purpose": "look"}'],
    "nothing yet": [],
}


@by_dialect
@pytest.mark.parametrize("half", HALVES)
async def test_a_call_that_the_limit_cut_off_is_shown_as_such_and_has_no_input(dialect: str, half: str) -> None:
    heard = await hear(dialect, answer(dialect, ["I look."], HALVES[half], cut=True).whole)

    assert (heard.error, heard.turn.stop) == (None, "max_tokens")
    assert [(call.name, call.input) for call in heard.turn.tool_calls] == [(TOOL, None)]
    assert heard.shown == ["model", "Message", "ToolInputDelta"]
    assert len(heard.requests) == 1


@by_dialect
@pytest.mark.parametrize("half", HALVES)
async def test_a_script_that_the_light_budget_cut_off_is_asked_for_again_with_more_room(
    dialect: str, half: str
) -> None:
    cut = answer(dialect, ["I look."], HALVES[half], cut=True)

    heard = await hear(dialect, cut.whole, answer(dialect, ["I look."], WRITTEN).whole, judging=True)

    assert heard.waits == [("max_tokens", True)]
    assert (heard.inputs, heard.turn.stop) == ([INPUT], "tool_calls")
    assert [limit_of(request) for request in heard.requests] == [1_000, 8_000]


def limit_of(request: dict[str, Any]) -> int:
    config = request.get("generationConfig", request)
    names = ("max_tokens", "max_output_tokens", "maxOutputTokens", "max_completion_tokens")
    (limit,) = [config[name] for name in names if name in config]
    return int(limit)


# -- an answer that comes in odd packets, or slowly -------------------------------------------------------------------


@by_dialect
@pytest.mark.parametrize("size", [1, 2, 3, 7])
async def test_characters_cut_between_packets_come_whole(dialect: str, size: int) -> None:
    prose = ["Tür ", "n°2 ", "👷🏽‍♀️ ", "完"]
    call = ['{"code": "print(\'Tü', 'r 👷🏽‍♀️\')", "purpose": ', '"完"}']
    body = b"".join(answer(dialect, prose, call).whole)

    heard = await hear(dialect, [body[start : start + size] for start in range(0, len(body), size)])

    assert heard.error is None
    assert (
        heard.turn.text == "".join(chunk.content for chunk in heard.chunks if chunk.type == "Message") == "".join(prose)
    )
    assert heard.inputs == [json.loads("".join(call))]
    assert heard.waits == []


@by_dialect
async def test_a_reader_that_takes_its_time_breaks_no_stream(dialect: str) -> None:
    written = answer(dialect, ["Two ", "doors."], WRITTEN)

    heard = await hear(dialect, written.whole, reader_takes_s=HOUR_S)

    assert (heard.error, heard.waits, heard.inputs) == (None, [], [INPUT])


@by_dialect
async def test_a_vendor_that_is_slow_but_in_time_is_waited_for(dialect: str) -> None:
    written = answer(dialect, ["Two ", "doors."], WRITTEN)
    packets = [each for event in written.whole for each in (80.0, event)]

    heard = await hear(dialect, packets)

    assert (heard.error, heard.waits, heard.inputs) == (None, [], [INPUT])
