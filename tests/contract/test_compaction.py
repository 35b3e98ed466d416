"""Long runs with small windows: the loop over the vendors' own SDKs to the strict rehearsal, and a real store."""

from __future__ import annotations

import json
from collections.abc import AsyncGenerator, AsyncIterator
from contextlib import aclosing
from itertools import count
from typing import Any, cast

import httpx2
import pytest
from drafthand.chunks import StreamChunk
from drafthand.conversation import Conversation
from drafthand.errors import VendorError
from drafthand.loop import run_agentic_loop
from drafthand.model import ModelSpec
from drafthand.session import Limits, Progress, Session
from drafthand.store import Store
from drafthand.transcript import Message, Summary, Text, ToolCall, ToolResult
from drafthand.turns import ModelTurns
from drafthand.vendors import client_of
from drafthand.vendors.access import Access
from drafthand.vendors.models import models

from local.rehearsal.script import Script, load
from local.rehearsal.server import create_app
from tests import stores
from tests.conversation import VERSIONED

SPECS = {model.dialect: model for model in models().values() if model.rehearsal}
OTHERS = [(first, second) for first in SPECS for second in SPECS if first != second]
TALK = "Go round until {last}"
RESULT_CHARS = 6_000
SECRETS = {"anthropic_messages": "signature", "openai_responses": "encrypted_content", "gemini": "thoughtSignature"}
"""What each vendor signs or encrypts of what its model thought; nothing in chat completions."""
SCRIPTS = [
    Script.model_validate(
        {
            "name": "round",
            "title": "Go round until 9",
            "match": r"go round until (?P<last>\d+)",
            "turns": [
                {
                    "name": "step",
                    "think": "I take the next step, since {last} is not reached.",
                    "say": "One more step.",
                    "call": {"tool": "execute_data_collection", "input": {"code": "print()", "purpose": "{last}"}},
                    "next": [{"when": "^last round", "go": "end"}, {"when": r"^round", "go": "step"}],
                },
                {"name": "end", "say": "All {last} rounds are done."},
            ],
        }
    ),
    *load(),
]

NUMBERS = count()

TURNS = [("anthropic_messages", 200), ("openai_responses", 50), ("gemini", 50), ("chat_completions", 50)]
every_dialect = pytest.mark.parametrize("dialect", SPECS)


class Server(httpx2.AsyncBaseTransport):
    """The strict rehearsal in this process; keeps what it was asked and how often it found a request too long."""

    def __init__(self, window: int) -> None:
        self.served = httpx2.ASGITransport(app=create_app(SCRIPTS, window=window))
        self.bodies: list[bytes] = []
        self.refused: list[str] = []

    async def handle_async_request(self, request: httpx2.Request) -> httpx2.Response:
        self.bodies.append(await request.aread())
        answer = await self.served.handle_async_request(request)
        body = await answer.aread()
        if answer.status_code != 200 or b"event: response.failed" in body:
            self.refused.append(body.decode())
        return httpx2.Response(answer.status_code, headers=answer.headers, content=body)


class Rounds:
    """Executes calls: the result of each is a round of this many characters, and the last is told to be the last."""

    def __init__(self, last: int, chars: int = RESULT_CHARS) -> None:
        self.last, self.chars, self.number = last, chars, 0

    def execute(self, call: ToolCall) -> Execution:
        self.number += 1
        told = f"{'last ' if self.number == self.last else ''}round {self.number}\n"
        return Execution(ToolResult(call_id=call.id, ok=True, text=told + "x" * self.chars))


class Execution:
    def __init__(self, result: ToolResult) -> None:
        self.result = result

    async def __aiter__(self) -> AsyncIterator[StreamChunk]:
        return
        yield


class Talk:
    """A session with the store, and what was streamed of it."""

    def __init__(self, store: Store, conversation: Conversation) -> None:
        self.store = store
        self.conversation = conversation
        self.chunks: list[StreamChunk] = []

    @classmethod
    async def begin(cls, store: Store) -> Talk:
        facts: dict[str, Any] = {"host_id": None, "created_at": 0, "updated_at": 0, "limits": Limits(turns=1000)}
        session = Session(id=f"ses_{next(NUMBERS)}", owner="ann", title="t", model="", **facts)
        store.sessions.create(session)
        return cls(store, await Conversation.open(store, session))

    async def ask(self, spec: ModelSpec, server: Server, text: str, hand: Any) -> str:
        """One run; the text it ends with. Raises VendorError."""
        await self.say(text)
        return await self.go_on(spec, server, hand)

    async def say(self, text: str) -> None:
        await self.conversation.append(Message(role="user", parts=(Text(text=text),)), progress=Progress())

    async def go_on(self, spec: ModelSpec, server: Server, hand: Any, until: str | None = None) -> str:
        """The rest of a run; `until`: it is stopped after the first Metadata of this kind."""
        self.conversation.stage(model=spec.id)
        async with httpx2.AsyncClient(transport=server) as http_client:
            address = f"http://rehearsal{'/v1' if spec.dialect in VERSIONED else ''}"
            client = client_of(spec.dialect, Access("rehearsal", address), http_client)
            turns = ModelTurns(self.conversation, lambda: client, spec, "You are Drafthand.")
            chunks = cast("AsyncGenerator[StreamChunk]", run_agentic_loop(self.conversation, turns, hand))
            async with aclosing(chunks) as running:
                async for chunk in running:
                    self.chunks.append(chunk)
                    if until is not None and chunk.metadata.get("kind") == until:
                        break
        return self.chunks[-1].content

    @property
    def markers(self) -> list[tuple[int, int]]:
        """Tokens before and after, of each time the conversation was shortened."""
        facts = [chunk.metadata for chunk in self.chunks if chunk.metadata.get("kind") == "context_compacted"]
        return [(each["tokens_before"], each["tokens_after"]) for each in facts]

    def stored(self) -> list[Message]:
        return self.store.sessions.messages(self.store.sessions.get("ann", self.conversation.session.id))


@pytest.fixture(scope="module")
def store(ministack_url: str) -> Store:
    """One for all: every talk is a session of its own. Not moto, which copies the whole table with each write."""
    return stores.fresh_store(ministack_url)


def sized(dialect: str, context: int, **changes: Any) -> ModelSpec:
    return SPECS[dialect].model_copy(update={"context": context} | changes)


def results(messages: list[Message]) -> list[str]:
    """The first line of each tool's result."""
    parts = [part for message in messages for part in message.parts if isinstance(part, ToolResult)]
    return [part.text.partition("\n")[0] for part in parts]


# -- one long run -----------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(("dialect", "turns"), TURNS)
async def test_a_long_run_goes_through_a_small_window_and_nothing_is_lost(
    store: Store, dialect: str, turns: int
) -> None:
    server, talk, last = Server(window=64_000), await Talk.begin(store), turns - 1

    said = await talk.ask(sized(dialect, 64_000), server, TALK.format(last=last), Rounds(last, 24_000))

    assert said == f"All {last} rounds are done."
    assert server.refused == []
    assert len(talk.markers) >= turns // 10
    assert all(30_000 < before <= 48_000 and after < before / 2 for before, after in talk.markers)
    assert len(server.bodies) == turns + len(talk.markers)
    stored = talk.stored()
    assert results(stored) == [f"round {number}" for number in range(1, last)] + [f"last round {last}"]
    summaries = [part for message in stored for part in message.parts if isinstance(part, Summary)]
    assert len(summaries) == len(talk.markers)
    assert {summary.request for summary in summaries} == {TALK.format(last=last)}
    assert stored == talk.conversation.messages


# -- when it is due ---------------------------------------------------------------------------------------------------


HAD: dict[str, Conversation] = {}


async def long_talk(store: Store, dialect: str) -> Talk:
    """One run of ten rounds, ended, of some 16,000 tokens. It is had once, and told again in a session of its own."""
    if dialect not in HAD:
        first = await Talk.begin(store)
        await first.ask(sized(dialect, 200_000), Server(200_000), TALK.format(last=10), Rounds(10))
        assert first.markers == []
        HAD[dialect] = first.conversation
    talk = await Talk.begin(store)
    for message in HAD[dialect].messages:
        await talk.conversation.append(message)
    talk.conversation.stage(context_tokens=HAD[dialect].session.context_tokens)
    return talk


@every_dialect
async def test_a_new_message_may_find_the_conversation_too_long(store: Store, dialect: str) -> None:
    talk, server = await long_talk(store, dialect), Server(window=34_000)

    said = await talk.ask(sized(dialect, 34_000), server, TALK.format(last=3), Rounds(3))

    assert said == "All 3 rounds are done."
    assert server.refused == []
    ((before, after),) = talk.markers
    assert (before > 12_800, after < 5_000) == (True, True)
    first, second, *_ = server.bodies
    assert b"about to shorten this conversation" in first
    assert b"Go round until 10" not in second
    assert b"Go round until 3" in second


@every_dialect
async def test_what_was_thought_before_a_summary_is_not_sent_after_it(store: Store, dialect: str) -> None:
    talk, server = await long_talk(store, dialect), Server(window=34_000)

    await talk.ask(sized(dialect, 34_000), server, TALK.format(last=3), Rounds(3))

    secrets = [list(strings(json.loads(body), SECRETS.get(dialect))) for body in server.bodies[:3]]
    assert (len(secrets[0]) >= 10) == (dialect in SECRETS)
    assert secrets[1] == []
    assert not set(secrets[0]) & set(secrets[2])


def strings(value: Any, field: str | None) -> list[str]:
    """What stands in the fields of this name, however deep."""
    if isinstance(value, list):
        return [found for each in value for found in strings(each, field)]
    if isinstance(value, dict):
        own = [value[field]] if isinstance(value.get(field or ""), str) else []
        return own + [found for each in value.values() for found in strings(each, field)]
    return []


@every_dialect
async def test_a_vendor_that_finds_a_request_too_long_is_asked_once_more_with_a_shorter_one(
    store: Store, dialect: str
) -> None:
    """The registry says more than the server can take."""
    talk, server = await long_talk(store, dialect), Server(window=12_000)

    said = await talk.ask(sized(dialect, 200_000, heavy=4_000), server, TALK.format(last=3), Rounds(3, 100))

    assert said == "All 3 rounds are done."
    assert len(talk.markers) == 1
    assert len(server.refused) == 2, "the turn, and the request for a summary of all of it"
    assert len(server.bodies) == 2 + 1 + 4, "then a summary of what could be read, and the four turns"


@every_dialect
async def test_a_window_too_small_for_anything_is_said_so_after_a_few_requests(store: Store, dialect: str) -> None:
    talk, server, tiny = await long_talk(store, dialect), Server(window=200), sized(dialect, 30_000)

    with pytest.raises(VendorError) as caught:
        await talk.ask(tiny, server, TALK.format(last=3), Rounds(3))

    assert caught.value.code == "context_full"
    summaries = [part for message in talk.stored() for part in message.parts if isinstance(part, Summary)]
    assert [summary.lean for summary in summaries] == [False, True]
    assert len(server.bodies) == len(server.refused) == 2 + 1 + 2 + 1
    with pytest.raises(VendorError):
        await talk.go_on(tiny, server, Rounds(3))
    assert len(server.bodies) == 7, "nothing shorter can be made of it"


# -- another model ----------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(("first", "second"), OTHERS)
async def test_another_model_goes_on_from_the_summary_right_away(store: Store, first: str, second: str) -> None:
    talk = await long_talk(store, first)
    await talk.say(TALK.format(last=3))
    await talk.go_on(sized(first, 34_000), Server(window=34_000), Rounds(3), until="context_compacted")
    assert isinstance(talk.conversation.messages[-1].parts[0], Summary)
    server = Server(window=34_000)

    said = await talk.go_on(sized(second, 34_000), server, Rounds(3))

    assert said == "All 3 rounds are done."
    assert server.refused == []
    assert len(talk.markers) == 1
