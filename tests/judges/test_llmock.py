"""A judge from outside breaks streams on a real socket (llmock): each is a VendorError, and no call of one is ever
handed on."""

import subprocess
from collections.abc import Iterator
from functools import partial
from importlib import import_module
from pathlib import Path
from typing import Any

import httpx2
import pytest
from drafthand.errors import VendorError
from drafthand.model import ModelSpec, TurnSettings
from drafthand.tools import COLLECT, TOOLS
from drafthand.transcript import Message, Text, Turn
from drafthand.vendors import DIALECTS, client_of
from drafthand.vendors.access import Access
from drafthand.vendors.deadlines import deadlines

from tests.paths import ROOT

PYTHON = ROOT / ".venv-judges" / "bin" / "python"
SERVER = Path(__file__).with_name("llmock_server.py")
ADDRESSES = {
    "anthropic_messages": "/anthropic",
    "openai_responses": "/v1",
    "gemini": "/gemini/v1beta",
    "chat_completions": "/v1",
}
INPUT = {"code": "print(1)\n" * 10, "purpose": "Look."}
SAID = "I look at the doors first."
MOST_EVENTS = 80
STALL_S = 600.0

pytestmark = pytest.mark.skipif(not PYTHON.exists(), reason="llmock is not installed (make test does it)")


@pytest.fixture(scope="module")
def llmock() -> Iterator[str]:
    """The judge's address."""
    with subprocess.Popen([PYTHON, SERVER], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as process:
        assert process.stdout is not None
        assert process.stdin is not None
        yield process.stdout.readline().strip()
        process.stdin.close()


REPLY = {"type": "reply", "text": SAID, "tool_calls": [{"name": COLLECT, "arguments": INPUT}]}


class Asker:
    """Tells the judge what to do with the next request, and makes it; again and again, over one client."""

    def __init__(self, llmock: str, dialect: str) -> None:
        self.control = httpx2.AsyncClient(base_url=f"{llmock}/_llmock")
        self.spec = ModelSpec(id="gpt-4o", label="M", vendor="v", dialect=dialect)
        self.client = client_of(dialect, Access("key", f"{llmock}{ADDRESSES[dialect]}"), httpx2.AsyncClient(timeout=60))

    async def ask(self, *behaviors: dict[str, Any]) -> tuple[Turn, VendorError | None]:
        (await self.control.post("/reset")).raise_for_status()
        (await self.control.post("/scenario", json={"behaviors": [REPLY, *behaviors]})).raise_for_status()
        turn = Turn(vendor=self.spec.vendor, model=self.spec.id)
        transcript = [Message(role="user", parts=(Text(text="How many doors?"),))]
        stream = self.client.stream(transcript, TOOLS, TurnSettings(self.spec, "system", 1000), turn)
        try:
            async for _ in stream:
                pass
        except VendorError as error:
            return turn, error
        return turn, None

    async def was_broken(self) -> bool:
        """Whether the judge broke that stream."""
        (request,) = (await self.control.get("/requests")).raise_for_status().json()["requests"]
        return request["fault"] is not None


def is_whole(turn: Turn) -> bool:
    calls = [(call.name, call.input) for call in turn.tool_calls]
    return (turn.text, calls, turn.stop) == (SAID, [(COLLECT, INPUT)], "tool_calls")


@pytest.mark.parametrize("dialect", DIALECTS)
async def test_what_the_judge_does_not_break_is_a_turn(dialect: str, llmock: str) -> None:
    turn, error = await Asker(llmock, dialect).ask()

    assert error is None
    assert is_whole(turn)


@pytest.mark.parametrize("dialect", DIALECTS)
@pytest.mark.parametrize("kind", ["disconnect", "truncate", "malformed"])
async def test_a_stream_broken_behind_any_event_is_an_error_or_a_whole_turn(
    kind: str, dialect: str, llmock: str
) -> None:
    asker, broken = Asker(llmock, dialect), 0
    for events in range(MOST_EVENTS):
        turn, error = await asker.ask({"type": "stream_fault", "kind": kind, "after_chunks": events})

        if error is None:
            assert is_whole(turn), f"{kind} behind {events} events"
        else:
            broken += 1
            assert (error.code, error.retryable, turn.stop) == ("broken_stream", True, None)
        if not await asker.was_broken():
            break

    assert broken > 4
    assert events < MOST_EVENTS - 1, "the last was not broken at all"


@pytest.mark.parametrize("dialect", DIALECTS)
@pytest.mark.parametrize("events", [1, 4])
async def test_a_stream_that_stalls_is_an_error(
    events: int, dialect: str, llmock: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Nothing more comes, so however short the deadline, no stream is broken that would have gone on."""
    hurried = partial(deadlines, first_s=0.3, idle_s=0.3)
    module = import_module(f"drafthand.vendors.{dialect}")
    monkeypatch.setattr(module, "deadlines", lambda events, vendor, *_: hurried(events, vendor))
    stall = {"type": "stream_fault", "kind": "stall", "after_chunks": events, "stall_seconds": STALL_S}

    turn, error = await Asker(llmock, dialect).ask(stall)

    assert error is not None
    assert (error.code, error.retryable, turn.stop) == ("broken_stream", True, None)
    assert "stalled" in str(error)
