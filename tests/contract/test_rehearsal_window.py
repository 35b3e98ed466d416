"""Long conversations with the rehearsal, in all dialects by our clients over the vendors' SDKs: window and summaries.

The chat dialect is also asked in Mistral's order, with a word of the assistant between a tool's message and a user's.
"""

from __future__ import annotations

import asyncio
import json
import socket
import sys
from collections.abc import Sequence
from typing import Any

import httpx2
import pytest
from drafthand.errors import VendorError
from drafthand.model import ModelSpec, TurnSettings
from drafthand.tools import TOOLS
from drafthand.transcript import Message, Text, ToolCall, ToolResult, Turn
from drafthand.vendors import client_of
from drafthand.vendors.access import Access
from drafthand.vendors.models import models

from local.rehearsal.reading import INSTRUCTION, SUMMARY, SUMMARY_END, WORKED_ON
from local.rehearsal.script import Script, load
from local.rehearsal.server import create_app
from local.rehearsal.walk import LABEL
from tests.contract.test_rehearsal_accepted import mutated, post, put
from tests.contract.test_rehearsal_anthropic import RESULTS
from tests.paths import ROOT

REHEARSED = {model.dialect: model for model in models().values() if model.rehearsal}
SPECS = REHEARSED | {"mistral": REHEARSED["chat_completions"].model_copy(update={"call_ids": "alnum9"})}
FORBIDDEN: dict[str, dict[str, Any]] = {
    "anthropic_messages": {"tool_choice": {"type": "none"}},
    "openai_responses": {"tool_choice": "none"},
    "gemini": {"toolConfig": {"functionCallingConfig": {"mode": "NONE"}}},
    "chat_completions": {"tool_choice": "none"},
}
ROUND = Script.model_validate(
    {
        "name": "round",
        "title": "Go round",
        "match": "go round",
        "turns": [
            {
                "name": "step",
                "say": "Round {n} is done.",
                "call": {"tool": "execute_data_collection", "input": {"code": "print({n})", "purpose": "Go round."}},
                "next": [{"when": r"round (?P<n>\d+)", "go": "step"}],
            }
        ],
    }
)
SCRIPTS = [ROUND, *load()]
ASK, NEW = "Renumber every door on level 2", "What is in this model?"
ANSWER_TOKENS = 2_000

every_dialect = pytest.mark.parametrize("spec", SPECS.values(), ids=SPECS)


class Server(httpx2.AsyncBaseTransport):
    """The rehearsal in this process. `changes` go into the body of each request, as an adapter of ours may not."""

    def __init__(self, window: int = 200_000, changes: dict[str, Any] | None = None) -> None:
        self.served = httpx2.ASGITransport(app=create_app(SCRIPTS, window=window))
        self.changes = changes or {}

    async def handle_async_request(self, request: httpx2.Request) -> httpx2.Response:
        body = json.dumps(json.loads(await request.aread()) | self.changes).encode()
        headers = {name: value for name, value in request.headers.items() if name != "content-length"}
        changed = httpx2.Request(request.method, request.url, headers=headers, content=body)
        return await self.served.handle_async_request(changed)


async def ask(spec: ModelSpec, transcript: Sequence[Message], server: Server | None = None) -> Turn:
    """One turn over this transcript. Raises VendorError where the server refuses it."""
    path = "/v1" if spec.dialect in ("openai_responses", "chat_completions") else ""
    turn = Turn(vendor=spec.vendor, model=spec.id)
    async with httpx2.AsyncClient(transport=server or Server()) as http_client:
        client = client_of(spec.dialect, Access("rehearsal", f"http://rehearsal{path}"), http_client)
        settings = TurnSettings(spec, "You are Drafthand.", ANSWER_TOKENS)
        async for _ in client.stream(transcript, TOOLS, settings, turn):
            pass
    return turn


def user(text: str) -> Message:
    return Message(role="user", parts=(Text(text=text),))


def answered(turn: Turn, text: str) -> list[Message]:
    """The turn, and the result of its call."""
    result = ToolResult(call_id=turn.tool_calls[0].id, ok=True, text=text)
    return [turn.message(), Message(role="tool", parts=(result,))]


async def summed_up(
    spec: ModelSpec, transcript: Sequence[Message], server: Server | None = None, end: str = f"\n{SUMMARY_END}"
) -> Message:
    """The message that a transcript is shortened to, with the model's own summary."""
    turn = await ask(spec, [*transcript, user(f"{INSTRUCTION} Write down what must not be lost.")], server)
    assert (turn.stop, turn.tool_calls) == ("end", [])
    assert turn.text.startswith(LABEL)
    report = "The script that is held:\n1| print(1)\n\nThe last report:\nchanged: 8 modified"
    return user(f"{SUMMARY}\n\n{turn.text}\n\n{WORKED_ON}\n{ASK}\n\n{report}{end}")


async def rehearse(
    spec: ModelSpec, shortened_before: Sequence[int] = (), end: str = f"\n{SUMMARY_END}"
) -> list[tuple[Any, ...]]:
    """What each turn of a run says and calls; the transcript is shortened before the turns of these numbers."""
    transcript, turns = [user(ASK)], list[Turn]()
    for number, text in enumerate([*RESULTS, ""]):
        if number in shortened_before:
            transcript = [await summed_up(spec, transcript, end=end)]
        turns.append(await ask(spec, transcript))
        transcript += answered(turns[-1], text) if turns[-1].tool_calls else []
    return [(turn.stop, turn.text, [(call.name, call.input) for call in turn.tool_calls]) for turn in turns]


# -- window -----------------------------------------------------------------------------------------------------------


@every_dialect
async def test_a_window_of_any_size_refuses_what_does_not_fit(spec: ModelSpec):
    transcript = [user(f"{ASK} {'x' * 30_000}")]

    with pytest.raises(VendorError) as caught:
        await ask(spec, transcript, Server(window=6_000))
    taken = await ask(spec, transcript, Server(window=16_000))

    assert caught.value.code == "context_full"
    assert spec.dialect == "openai_responses" or "6000" in str(caught.value)  # that vendor names no figure
    assert taken.stop == "tool_calls"


async def test_the_command_takes_the_size_of_the_window():
    with socket.create_server(("127.0.0.1", 0)) as probe:
        port = probe.getsockname()[1]
    command = [sys.executable, "-m", "local.rehearsal", "--port", str(port), "--window", "50"]
    process = await asyncio.create_subprocess_exec(*command, cwd=ROOT)
    try:
        async with httpx2.AsyncClient(transport=httpx2.AsyncHTTPTransport(retries=8)) as client:
            url = f"http://127.0.0.1:{port}/v1/chat/completions"
            body = {"model": "rehearsal", "messages": [{"role": "user", "content": "x" * 400}]}
            answer = await client.post(url, json=body, headers={"authorization": "Bearer any"})
    finally:
        process.terminate()
        await process.wait()

    assert answer.status_code == 400
    assert answer.json()["error"]["message"].startswith("This model's maximum context length is 50 tokens.")


@every_dialect
async def test_a_loop_outlives_its_window_by_summaries(spec: ModelSpec):
    server, transcript, summaries = Server(window=9_000), [user("Go round and round")], 0

    for number in range(1, 21):
        try:
            turn = await ask(spec, transcript, server)
        except VendorError:  # then the newest turns are left out of the summary: the instruction needs room as well
            summary = await summed_up(spec, transcript[:-4], server)
            transcript, summaries = [summary, *transcript[-4:]], summaries + 1
            turn = await ask(spec, transcript, server)
        assert turn.tool_calls[0].input["code"] == f"print({number - 1 or '{n}'})"
        transcript += answered(turn, f"round {number}\n{'x' * 4_000}")

    assert summaries >= 2


@every_dialect
async def test_a_loop_of_two_hundred_turns_goes_on(spec: ModelSpec):
    transcript = [user("Go round and round")]
    for number in range(1, 201):
        call = ToolCall(id=f"call_{number:024d}", name="execute_data_collection", input={"code": "1"}, raw='{"code":1}')
        turn = Turn(vendor="another", model="another", parts=[call])
        transcript += answered(turn, f"round {number}")

    turn = await ask(spec, transcript)

    assert turn.tool_calls[0].input["code"] == "print(200)"


# -- summaries --------------------------------------------------------------------------------------------------------


@every_dialect
async def test_a_run_goes_on_after_summaries_as_it_would_have_without(spec: ModelSpec):
    straight = await rehearse(spec)

    assert [stop for stop, _, _ in straight] == ["tool_calls"] * 3 + ["end"]
    assert await rehearse(spec, shortened_before=(2,)) == straight
    assert await rehearse(spec, shortened_before=(0, 1, 2, 3)) == straight
    assert await rehearse(spec, shortened_before=(1, 3), end="") == straight


@every_dialect
async def test_a_new_message_starts_its_own_script_however_soon_after_a_summary_it_comes(spec: ModelSpec):
    first = await ask(spec, [user(ASK)])
    summary = await summed_up(spec, [user(ASK), *answered(first, RESULTS[0])])
    second = await ask(spec, [summary])

    at_once = await ask(spec, [summary, user(NEW)])
    later = await ask(spec, [summary, *answered(second, RESULTS[1]), user(NEW)])

    assert second.tool_calls[0].name == "execute_task_automation"
    for turn in (at_once, later):
        assert turn.text == f"{LABEL} I look through the model first."
        assert "from collections import Counter" in turn.tool_calls[0].input["code"]


@every_dialect
async def test_a_new_message_right_after_a_summary_can_be_summed_up_itself(spec: ModelSpec):
    first = await ask(spec, [user(ASK)])
    summary = await summed_up(spec, [user(ASK), *answered(first, RESULTS[0])])

    again = await summed_up(spec, [summary, user(NEW)])
    turn = await ask(spec, [again])

    assert turn.text == f"{LABEL} I look through the model first."


# -- tool choice none -------------------------------------------------------------------------------------------------


@every_dialect
async def test_where_calls_are_forbidden_the_run_ends_with_an_account(spec: ModelSpec):
    server = Server(changes=FORBIDDEN[spec.dialect])
    first = await ask(spec, [user(ASK)])
    spent = "outcome: refused\nThe limit of fixes is reached: 5 of 5. Say honestly what was done."
    transcript = [user(ASK), *answered(first, spent)]

    stopped = await ask(spec, transcript, server)
    unbegun = await ask(spec, [user(ASK)], server)

    assert (stopped.stop, stopped.tool_calls) == ("end", [])
    assert stopped.text == f"{LABEL} I stop here. What was used and done so far:\n\n{spent}"
    assert (unbegun.stop, unbegun.tool_calls) == ("end", [])
    assert "this request lets the model call: none." in unbegun.text


@every_dialect
async def test_a_summary_is_given_where_calls_are_forbidden(spec: ModelSpec):
    first = await ask(spec, [user(ASK)])
    transcript = [user(ASK), *answered(first, RESULTS[0])]

    summary = await summed_up(spec, transcript, Server(changes=FORBIDDEN[spec.dialect]))

    assert "script 'renumber-doors', next turn 'renumber', with " in summary.parts[0].text
    assert (await ask(spec, [summary])).tool_calls[0].name == "execute_task_automation"


async def test_forbidding_calls_leaves_no_choice_about_parallel_ones():
    answer = await post(mutated(put("tool_choice", {"type": "none", "disable_parallel_tool_use": True})))

    assert answer.status_code == 400
    assert answer.json()["error"]["message"] == (
        "tool_choice.none.disable_parallel_tool_use: Extra inputs are not permitted"
    )
