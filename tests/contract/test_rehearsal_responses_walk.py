"""The rehearsal's Responses dialect over real sockets: the vendor's own SDK, and our client, through a whole run."""

from __future__ import annotations

import contextlib
import json
import re
from collections.abc import AsyncIterator
from typing import Any

import httpx2
import openai
import pytest
from drafthand.errors import VendorError
from drafthand.model import ModelSpec, TurnSettings
from drafthand.tools import TOOLS
from drafthand.transcript import Message, Opaque, Text, Thinking, ToolCall, ToolResult, Turn
from drafthand.vendors.access import Access
from drafthand.vendors.openai_responses import OpenAIResponsesClient
from starlette.applications import Starlette

from local.rehearsal.server import create_app
from tests.contract.test_rehearsal_anthropic import RESULTS, running
from tests.paths import shared

SYSTEM = "You work in a model. " * 300
ASK = "Renumber every door on level 2"
SPEC = ModelSpec(id="rehearsal", label="Rehearsal", vendor="rehearsal", dialect="openai_responses", rehearsal=True)

# -- the vendor's own SDK ---------------------------------------------------------------------------------------------


@contextlib.asynccontextmanager
async def sdk_of(app: Starlette) -> AsyncIterator[openai.AsyncOpenAI]:
    async with (
        running(app) as url,
        openai.AsyncOpenAI(base_url=f"{url}/v1", api_key="rehearsal", max_retries=0) as client,
    ):
        yield client


def request(*items: Any, **changes: Any) -> dict[str, Any]:
    tools = [
        {"type": "function", "name": tool.name, "parameters": tool.schema, "strict": False, "description": "A tool."}
        for tool in TOOLS
    ]
    return {
        "model": "rehearsal",
        "instructions": SYSTEM,
        "input": [{"role": "user", "content": ASK}, *items],
        "tools": tools,
        "store": False,
        "include": ["reasoning.encrypted_content"],
        "reasoning": {"summary": "auto"},
    } | changes


async def events_of(client: openai.AsyncOpenAI, *items: Any, **changes: Any) -> list[Any]:
    stream = await client.responses.create(**request(*items, **changes), stream=True)
    return [event async for event in stream]


def items_of(events: list[Any]) -> list[dict[str, Any]]:
    """The assistant's items as a client sends them back: as they were when they were done."""
    return [event.item.to_dict() for event in events if event.type == "response.output_item.done"]


async def rehearse(client: openai.AsyncOpenAI) -> tuple[list[list[Any]], list[dict[str, Any]]]:
    """A whole run with hand-made results, ids and all: the events of each turn, and the last request's items."""
    items: list[dict[str, Any]] = []
    turns = []
    for text in [*RESULTS, None]:
        turns.append(await events_of(client, *items))
        if text is not None:
            items += items_of(turns[-1])
            items.append({"type": "function_call_output", "call_id": items[-1]["call_id"], "output": text})
    return turns, items


async def test_the_sdk_walks_a_run_from_the_first_look_to_the_summary():
    async with sdk_of(create_app()) as client:
        turns, _ = await rehearse(client)

    assert [turn[-1].type for turn in turns] == ["response.completed"] * 4
    kinds = [[item["type"] for item in items_of(turn)] for turn in turns]
    assert kinds == [["reasoning", "message", "function_call"]] * 3 + [["reasoning", "message"]]
    first, last = items_of(turns[0]), items_of(turns[3])
    assert first[1]["content"][0]["text"].startswith("[Rehearsal, no language model]")
    assert (first[1]["phase"], last[1]["phase"]) == ("commentary", "final_answer")
    assert "the report counts 8 modified elements" in last[1]["content"][0]["text"]
    deltas = [event.delta for event in turns[1] if event.type == "response.function_call_arguments.delta"]
    assert "".join(deltas) == items_of(turns[1])[2]["arguments"]
    assert len(deltas) > 100
    assert [event.sequence_number for event in turns[0]] == list(range(len(turns[0])))


async def test_input_includes_what_the_cache_gave_and_output_the_reasoning():
    async with sdk_of(create_app()) as client:
        turns, items = await rehearse(client)
        again = await events_of(client, *items, prompt_cache_key="another")

    first, second = turns[0][-1].response.usage, turns[1][-1].response.usage
    assert first.input_tokens_details.cached_tokens == 0
    assert first.input_tokens_details.cache_write_tokens == first.input_tokens > 1_500
    assert second.input_tokens_details.cached_tokens == first.input_tokens < second.input_tokens
    assert second.input_tokens_details.cache_write_tokens == second.input_tokens - first.input_tokens
    assert first.output_tokens > first.output_tokens_details.reasoning_tokens > 20
    assert again[-1].response.usage.input_tokens_details.cached_tokens == 0


async def test_what_was_added_only_is_refused():
    async with sdk_of(create_app()) as client:
        events = await events_of(client)
        added = [event.item.to_dict() for event in events if event.type == "response.output_item.added"]
        items = [added[0], *items_of(events)[1:]]
        items.append({"type": "function_call_output", "call_id": items[-1]["call_id"], "output": RESULTS[0]})

        with pytest.raises(openai.BadRequestError) as caught:
            await events_of(client, *items)

    assert caught.value.code == "invalid_encrypted_content"


async def test_a_call_under_its_id_is_refused_without_its_reasoning():
    async with sdk_of(create_app()) as client:
        events = await events_of(client)
        items = items_of(events)[1:]
        items.append({"type": "function_call_output", "call_id": items[-1]["call_id"], "output": RESULTS[0]})

        with pytest.raises(openai.BadRequestError, match="was provided without its required 'reasoning' item"):
            await events_of(client, *items)


async def test_a_request_without_stream_is_answered_whole():
    async with sdk_of(create_app()) as client:
        response = await client.responses.create(**request())

    assert [item.type for item in response.output] == ["reasoning", "message", "function_call"]
    assert "by_type" in json.loads(response.output[2].arguments)["code"]
    assert (response.status, response.error) == ("completed", None)


async def test_the_limit_leaves_a_true_beginning_and_says_incomplete():
    async with sdk_of(create_app()) as client:
        full, cut = await events_of(client), await events_of(client, max_output_tokens=150)

    assert cut[-1].type == "response.incomplete"
    assert cut[-1].response.incomplete_details.reason == "max_output_tokens"
    assert cut[-1].response.usage.output_tokens == 150
    call, whole = items_of(cut)[-1], items_of(full)[-1]
    assert (call["type"], call["status"]) == ("function_call", "incomplete")
    assert whole["arguments"].startswith(call["arguments"])
    assert len(call["arguments"]) > 50


async def test_reasoning_is_told_and_encrypted_only_where_asked_for():
    async with sdk_of(create_app()) as client:
        hidden = await events_of(client, reasoning={}, include=[])
        off = await events_of(client, reasoning={"effort": "none"})

    reasoning = items_of(hidden)[0]
    assert (reasoning["summary"], "encrypted_content" in reasoning) == ([], False)
    assert hidden[-1].response.usage.output_tokens_details.reasoning_tokens > 20
    assert [item["type"] for item in items_of(off)] == ["message", "function_call"]


async def test_deltas_are_obfuscated_unless_told_not_to():
    async with sdk_of(create_app()) as client:
        usual = await events_of(client)
        bare = await events_of(client, stream_options={"include_obfuscation": False})

    assert {hasattr(event, "obfuscation") for event in usual if event.type.endswith(".delta")} == {True}
    assert not any(hasattr(event, "obfuscation") for event in bare)


@pytest.mark.parametrize(("fault", "error"), [("http_429", openai.RateLimitError), ("http_529", openai.APIStatusError)])
async def test_an_http_fault_answers_one_request_only(fault: str, error: Any):
    async with sdk_of(create_app(faults=[fault])) as client:
        with pytest.raises(error):
            await events_of(client)
        healthy = await events_of(client)

    assert healthy[-1].type == "response.completed"


def shape(body: str) -> list[tuple[str, set[str]]]:
    """Names of the events of a stream with the keys of what they carry; neighbours that are alike once."""
    found: list[tuple[str, set[str]]] = []
    for name, data in re.findall(r"^event: (\S+)\ndata: (.*)$", body, re.MULTILINE):
        event = json.loads(data)
        inner = event.get("item") or event.get("part") or {}
        each = (f"{name} {inner.get('type', '')}", {*event, *(f"{inner.get('type')}.{key}" for key in inner)})
        if not found or found[-1] != each:
            found.append(each)
    return found


async def test_the_stream_has_the_shape_of_a_recorded_one():
    recorded = json.loads(shared("corpus", "openai_responses", "040.json").read_text())["body"]
    headers = {"authorization": "Bearer any"}
    async with running(create_app()) as url, httpx2.AsyncClient(base_url=url, headers=headers) as client:
        ours = (await client.post("/v1/responses", json=request(reasoning={}, stream=True))).text

    assert shape(ours) == shape(recorded)
    theirs = json.loads(re.findall(r"^data: (.*)$", recorded, re.MULTILINE)[-1])["response"]
    answered = json.loads(re.findall(r"^data: (.*)$", ours, re.MULTILINE)[-1])["response"]
    assert set(answered) <= set(theirs)
    assert set(answered["usage"]) == set(theirs["usage"])


# -- our client -------------------------------------------------------------------------------------------------------


@contextlib.asynccontextmanager
async def ours(app: Starlette) -> AsyncIterator[OpenAIResponsesClient]:
    async with running(app) as url, httpx2.AsyncClient() as http_client:
        yield OpenAIResponsesClient(Access("rehearsal", f"{url}/v1"), http_client)


async def turn_of(client: OpenAIResponsesClient, transcript: list[Message], limit: int = 16_000) -> Turn:
    turn = Turn(vendor="rehearsal", model="rehearsal")
    async for _ in client.stream(transcript, TOOLS, TurnSettings(SPEC, SYSTEM, limit), turn):
        pass
    return turn


def user(text: str) -> Message:
    return Message(role="user", parts=(Text(text=text),))


def answered(turn: Turn, text: str) -> list[Message]:
    result = ToolResult(call_id=turn.tool_calls[0].id, ok=True, text=text)
    return [turn.message(), Message(role="tool", parts=(result,))]


async def test_our_client_walks_the_same_run_and_its_prefix_is_cached():
    transcript, turns = [user(ASK)], []
    async with ours(create_app()) as client:
        for text in [*RESULTS, None]:
            turns.append(await turn_of(client, transcript))
            transcript += answered(turns[-1], text) if text is not None else [turns[-1].message()]
        again = await turn_of(client, [*transcript, user("Now renumber all doors on level 1")])

    assert [turn.stop for turn in turns] == ["tool_calls", "tool_calls", "tool_calls", "end"]
    assert turns[2].tool_calls[0].input["edits"][0]["start_line"] == 31
    assert "the report counts 8 modified elements" in turns[3].text
    for before, after in zip(turns, [*turns[1:], again], strict=True):
        assert (
            after.usage.cache_read == before.usage.cache_read + before.usage.cache_write + before.usage.input_uncached
        )
    assert 'LEVEL = "Level 1"' in again.tool_calls[0].input["code"]


async def test_our_client_is_taken_with_anothers_reasoning_and_an_open_call_in_its_history():
    foreign = Thinking(text="hm", opaque=Opaque(vendor="openai", model="gpt-6", kind="reasoning", data="{}"))
    call = ToolCall(id="call_x", name="capture_view", input={}, raw="{}")
    history = [user("What is in this model?"), Message(role="assistant", parts=(foreign, call), model="gpt-6")]

    async with ours(create_app()) as client:
        turn = await turn_of(client, [*history, user(ASK)])

    assert turn.stop == "tool_calls"


async def test_a_call_cut_by_the_limit_has_no_input_and_the_next_request_is_taken():
    async with ours(create_app()) as client:
        cut = await turn_of(client, [user(ASK)], limit=150)
        transcript = [user(ASK), *answered(cut, "outcome: refused\nThe input was not complete.")]
        following = await turn_of(client, transcript)

    assert (cut.stop, cut.tool_calls[0].input) == ("max_tokens", None)
    assert "The rehearsal can't go on." in following.text


@pytest.mark.parametrize(
    ("fault", "code", "wait"),
    [
        ("http_429", "rate_limited", 1.0),
        ("http_529", "overloaded", None),
        ("overloaded_mid_stream", "overloaded", None),
        ("cut_without_stop", "broken_stream", None),
    ],
)
async def test_our_client_tells_a_fault_by_its_code(fault: str, code: str, wait: float | None):
    async with ours(create_app(faults=[fault])) as client:
        with pytest.raises(VendorError) as caught:
            await turn_of(client, [user(ASK)])
        healthy = await turn_of(client, [user(ASK)])

    assert (caught.value.code, caught.value.retryable, caught.value.retry_after_s) == (code, True, wait)
    assert healthy.stop == "tool_calls"


async def test_a_prompt_that_outgrows_the_window_is_told_in_the_stream_and_by_our_client():
    async with ours(create_app()) as client:
        with pytest.raises(VendorError) as caught:
            await turn_of(client, [user("x" * 810_000)])

    assert (caught.value.code, caught.value.retryable) == ("context_full", False)


async def test_without_a_stream_such_a_prompt_is_a_bad_request():
    async with sdk_of(create_app()) as client:
        with pytest.raises(openai.BadRequestError) as caught:
            await client.responses.create(**request({"role": "user", "content": "x" * 810_000}))

    assert caught.value.code == "context_length_exceeded"
