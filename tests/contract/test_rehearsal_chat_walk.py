"""The rehearsal's chat dialect over real sockets: the vendor's own SDK, and our client, through a whole run."""

from __future__ import annotations

import base64
import contextlib
import json
import re
from collections.abc import AsyncIterator
from typing import Any

import httpx2
import openai
import pytest
from drafthand.errors import VendorError
from drafthand.model import ModelSpec, Picture, TurnSettings
from drafthand.tools import TOOLS
from drafthand.transcript import ImageRef, Message, Opaque, Text, Thinking, ToolCall, ToolResult, Turn
from drafthand.vendors.access import Access
from drafthand.vendors.chat_completions import ChatCompletionsClient
from starlette.applications import Starlette

from local.rehearsal.server import create_app
from tests.contract.test_rehearsal_accepted import picture
from tests.contract.test_rehearsal_anthropic import RESULTS, running
from tests.paths import shared

SYSTEM = "You work in a model. " * 300
ASK = "Renumber every door on level 2"
SPEC = ModelSpec(id="rehearsal", label="Rehearsal", vendor="rehearsal", dialect="chat_completions", rehearsal=True)
IMAGE = ImageRef(sha256="a" * 64, media_type="image/png", width=4, height=4)
PICTURES = {IMAGE.sha256: Picture("image/png", base64.b64decode(picture()))}

# -- the vendor's own SDK ---------------------------------------------------------------------------------------------


@contextlib.asynccontextmanager
async def sdk_of(app: Starlette) -> AsyncIterator[openai.AsyncOpenAI]:
    async with (
        running(app) as url,
        openai.AsyncOpenAI(base_url=f"{url}/v1", api_key="rehearsal", max_retries=0) as client,
    ):
        yield client


def request(*messages: Any, **changes: Any) -> dict[str, Any]:
    functions = [{"name": tool.name, "parameters": tool.schema, "description": "A tool."} for tool in TOOLS]
    return {
        "model": "rehearsal",
        "messages": [{"role": "system", "content": SYSTEM}, {"role": "user", "content": ASK}, *messages],
        "tools": [{"type": "function", "function": function} for function in functions],
    } | changes


async def chunks_of(client: openai.AsyncOpenAI, *messages: Any, **changes: Any) -> list[Any]:
    options = {"include_usage": True}
    stream = await client.chat.completions.create(**request(*messages, stream=True, stream_options=options) | changes)
    return [chunk async for chunk in stream]


def message_of(chunks: list[Any]) -> dict[str, Any]:
    """The assistant's message as a client sends it back."""
    deltas = [choice.delta for chunk in chunks for choice in chunk.choices]
    pieces = [piece for delta in deltas for piece in delta.tool_calls or ()]
    message: dict[str, Any] = {"role": "assistant", "content": "".join(delta.content or "" for delta in deltas)}
    if pieces:
        function = {
            "name": pieces[0].function.name,
            "arguments": "".join(piece.function.arguments for piece in pieces),
        }
        message["tool_calls"] = [{"id": pieces[0].id, "type": "function", "function": function}]
    return message


async def rehearse(client: openai.AsyncOpenAI) -> tuple[list[list[Any]], list[dict[str, Any]]]:
    """A whole run with hand-made results: the chunks of each turn, and the last request's messages."""
    messages: list[dict[str, Any]] = []
    turns = []
    for text in [*RESULTS, None]:
        turns.append(await chunks_of(client, *messages))
        if text is not None:
            messages.append(message_of(turns[-1]))
            call_id = messages[-1]["tool_calls"][0]["id"]
            messages.append({"role": "tool", "tool_call_id": call_id, "content": text})
    return turns, messages


async def test_the_sdk_walks_a_run_from_the_first_look_to_the_summary():
    async with sdk_of(create_app()) as client:
        turns, _ = await rehearse(client)

    reasons = [[choice.finish_reason for chunk in turn for choice in chunk.choices][-1] for turn in turns]
    assert reasons == ["tool_calls"] * 3 + ["stop"]
    messages = [message_of(turn) for turn in turns]
    assert messages[0]["content"].startswith("[Rehearsal, no language model]")
    assert "the report counts 8 modified elements" in messages[3]["content"]
    assert "by_type" in json.loads(messages[1]["tool_calls"][0]["function"]["arguments"])["code"]
    assert len(turns[1]) > 100
    assert len({message["tool_calls"][0]["id"] for message in messages[:3]}) == 3
    assert {chunk.id for chunk in turns[1]} == {turns[1][0].id} != {turns[0][0].id}


async def test_input_includes_what_the_cache_gave_and_output_the_reasoning_that_is_not_shown():
    async with sdk_of(create_app()) as client:
        turns, messages = await rehearse(client)
        other = await chunks_of(client, *messages, prompt_cache_key="another")
        off = await chunks_of(client, reasoning_effort="none")

    first, second = turns[0][-1].usage, turns[1][-1].usage
    assert turns[0][-1].choices == []
    assert first.prompt_tokens_details.cached_tokens == 0
    assert second.prompt_tokens_details.cached_tokens == first.prompt_tokens > 1_500
    assert second.prompt_tokens > first.prompt_tokens
    assert first.completion_tokens > first.completion_tokens_details.reasoning_tokens > 20
    assert first.total_tokens == first.prompt_tokens + first.completion_tokens
    assert other[-1].usage.prompt_tokens_details.cached_tokens == 0
    assert off[-1].usage.completion_tokens_details.reasoning_tokens == 0


async def test_a_stream_tells_its_usage_only_when_asked():
    async with sdk_of(create_app()) as client:
        chunks = await chunks_of(client, stream_options={"include_obfuscation": False})

    assert all(chunk.usage is None and chunk.choices for chunk in chunks)
    assert all(chunk.obfuscation is None for chunk in chunks)


async def test_a_request_without_stream_is_answered_whole():
    async with sdk_of(create_app()) as client:
        completion = await client.chat.completions.create(**request())
        message = message_of(await chunks_of(client))

    (choice,) = completion.choices
    assert (completion.object, choice.finish_reason) == ("chat.completion", "tool_calls")
    assert choice.message.content == message["content"]
    assert [call.to_dict() for call in choice.message.tool_calls] == message["tool_calls"]
    assert completion.usage.completion_tokens > 100


async def test_the_limit_leaves_a_true_beginning_and_says_length():
    async with sdk_of(create_app()) as client:
        full, cut = await chunks_of(client), await chunks_of(client, max_completion_tokens=150)
        silent = await chunks_of(client, max_completion_tokens=10)

    assert cut[-2].choices[0].finish_reason == silent[-2].choices[0].finish_reason == "length"
    assert cut[-1].usage.completion_tokens == 150
    written, whole = (message_of(each)["tool_calls"][0]["function"]["arguments"] for each in (cut, full))
    assert whole.startswith(written)
    assert len(written) > 50
    assert message_of(silent) == {"role": "assistant", "content": ""}
    assert silent[-1].usage.completion_tokens == silent[-1].usage.completion_tokens_details.reasoning_tokens == 10


@pytest.mark.parametrize(("fault", "error"), [("http_429", openai.RateLimitError), ("http_529", openai.APIStatusError)])
async def test_an_http_fault_answers_one_request_only(fault: str, error: Any):
    async with sdk_of(create_app(faults=[fault])) as client:
        with pytest.raises(error):
            await chunks_of(client)
        healthy = await chunks_of(client)

    assert healthy[-2].choices[0].finish_reason == "tool_calls"


def shape(body: str) -> list[str]:
    """What the chunks of a stream carry, neighbours that are alike once."""
    found: list[str] = []
    for data in re.findall(r"^data: (.*)$", body, re.MULTILINE):
        chunk = {} if data == "[DONE]" else json.loads(data)
        choice = next(iter(chunk.get("choices", ())), {})
        delta = choice.get("delta", {})
        call = next(iter(delta.get("tool_calls", ())), {})
        facts = [sorted(choice), sorted(delta), sorted(call), sorted(call.get("function", {})), sorted(chunk)]
        facts += [choice.get("finish_reason"), sorted(chunk.get("usage") or {})]
        if not found or found[-1] != str(facts):
            found.append(str(facts))
    return found


async def test_the_stream_has_the_shape_of_a_recorded_one():
    recorded = json.loads(shared("corpus", "chat_completions", "043.json").read_text())["body"]
    headers = {"authorization": "Bearer any"}
    body = request(stream=True, stream_options={"include_usage": True})
    body["messages"][1]["content"] = "What is the weather?"
    async with running(create_app()) as url, httpx2.AsyncClient(base_url=url, headers=headers) as client:
        ours = (await client.post("/v1/chat/completions", json=body)).text

    assert shape(ours) == shape(recorded)


async def test_a_streamed_call_has_the_shape_of_a_recorded_one():
    recorded = json.loads(shared("corpus", "chat_completions", "018.json").read_text())["body"]
    async with sdk_of(create_app()) as client:
        ours = [chunk.to_dict() for chunk in await chunks_of(client)]

    theirs = [json.loads(data) for data in re.findall(r"^data: (\{.*)$", recorded, re.MULTILINE)]
    assert keys_of_calls(ours) == keys_of_calls(theirs)


def keys_of_calls(chunks: list[Any]) -> list[list[str]]:
    """Of the first piece of the first call, and of the second."""
    calls = [call for chunk in chunks for choice in chunk["choices"] for call in choice["delta"].get("tool_calls", ())]
    return [[*sorted(call), *sorted(call["function"])] for call in calls[:2]]


# -- our client -------------------------------------------------------------------------------------------------------


@contextlib.asynccontextmanager
async def ours(app: Starlette) -> AsyncIterator[ChatCompletionsClient]:
    async with running(app) as url, httpx2.AsyncClient() as http_client:
        yield ChatCompletionsClient(Access("rehearsal", f"{url}/v1"), http_client)


async def turn_of(
    client: ChatCompletionsClient, transcript: list[Message], limit: int = 16_000, spec: ModelSpec = SPEC
) -> Turn:
    turn = Turn(vendor="rehearsal", model="rehearsal")
    async for _ in client.stream(transcript, TOOLS, TurnSettings(spec, SYSTEM, limit, PICTURES), turn):
        pass
    return turn


def user(text: str) -> Message:
    return Message(role="user", parts=(Text(text=text),))


def answered(turn: Turn, text: str, images: tuple[ImageRef, ...] = ()) -> list[Message]:
    result = ToolResult(call_id=turn.tool_calls[0].id, ok=True, text=text, images=images)
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
        assert after.usage.cache_read == before.usage.cache_read + before.usage.input_uncached
    assert 'LEVEL = "Level 1"' in again.tool_calls[0].input["code"]


async def test_a_picture_behind_a_result_belongs_to_the_run():
    async with ours(create_app()) as client:
        first = await turn_of(client, [user(ASK)])
        second = await turn_of(client, [user(ASK), *answered(first, RESULTS[0], (IMAGE,))])

    assert second.tool_calls[0].name == "execute_task_automation"


@pytest.mark.parametrize("limit_field", ["max_tokens", "max_completion_tokens"])
async def test_either_name_of_the_limit_is_taken(limit_field: Any):
    spec = SPEC.model_copy(update={"limit_field": limit_field, "call_ids": "alnum9", "effort": "high"})
    async with ours(create_app()) as client:
        first = await turn_of(client, [user(ASK)], spec=spec)
        second = await turn_of(client, [user(ASK), *answered(first, RESULTS[0])], spec=spec)

    assert second.stop == "tool_calls"


async def test_our_client_is_taken_with_anothers_thinking_and_an_open_call_in_its_history():
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


async def test_our_client_knows_a_prompt_that_outgrew_the_window():
    async with ours(create_app()) as client:
        with pytest.raises(VendorError) as caught:
            await turn_of(client, [user("x" * 810_000)])

    assert (caught.value.code, caught.value.retryable) == ("context_full", False)
