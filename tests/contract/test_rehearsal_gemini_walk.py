"""The Gemini dialect of the rehearsal over real sockets: with the vendor's own SDK, and with our client."""

from __future__ import annotations

import base64
import contextlib
import json
import re
from collections.abc import AsyncIterator, Sequence
from typing import Any

import httpx2
import pytest
from drafthand.chunks import StreamChunk
from drafthand.errors import VendorError
from drafthand.model import ModelSpec, Picture, TurnSettings
from drafthand.tools import TOOLS
from drafthand.transcript import ImageRef, Message, Opaque, Text, Thinking, ToolCall, ToolResult, Turn
from drafthand.vendors.access import Access
from drafthand.vendors.gemini import GeminiClient
from drafthand.vendors.gemini_request import SENTINEL, build_request
from google import genai
from google.genai import errors, types
from starlette.applications import Starlette

from local.rehearsal.server import create_app
from tests.contract.test_rehearsal_accepted import picture
from tests.contract.test_rehearsal_anthropic import RESULTS, running
from tests.contract.test_rehearsal_gemini_accepted import PATH
from tests.paths import shared

ASKED = "Renumber every door on level 2"
CALLS = ["execute_data_collection", "execute_task_automation", "execute_task_automation"]
SPEC = ModelSpec(id="rehearsal-gemini", name="rehearsal", label="", vendor="rehearsal", dialect="gemini")
IMAGE = ImageRef(sha256="a" * 64, media_type="image/png", width=4, height=4)
SYSTEM = "You work in a model. " * 300


# -- the vendor's SDK -------------------------------------------------------------------------------------------------


@contextlib.asynccontextmanager
async def sdk_of(app: Starlette) -> AsyncIterator[genai.Client]:
    async with running(app) as url, httpx2.AsyncClient() as http_client:
        options = types.HttpOptions(base_url=url, httpx_async_client=http_client)
        yield genai.Client(api_key="rehearsal", vertexai=False, http_options=options)


async def answered_by(client: genai.Client, contents: list[Any], **changes: Any) -> list[Any]:
    declarations = [
        {"name": tool.name, "description": tool.description, "parameters_json_schema": tool.schema} for tool in TOOLS
    ]
    config = {
        "system_instruction": SYSTEM,
        "tools": [{"function_declarations": declarations}],
        "automatic_function_calling": {"disable": True},
        "thinking_config": {"include_thoughts": True},
    }
    stream = await client.aio.models.generate_content_stream(
        model="rehearsal", contents=contents, config=config | changes
    )
    return [event async for event in stream]


def parts_of(events: Sequence[Any]) -> list[types.Part]:
    return [part for event in events for part in event.candidates[0].content.parts]


def said_by(events: Sequence[Any]) -> str:
    return "".join(part.text or "" for part in parts_of(events) if not part.thought)


async def test_a_run_streams_from_the_first_look_to_the_summary_with_the_vendors_sdk():
    contents: list[Any] = [types.UserContent(ASKED)]
    turns = []
    async with sdk_of(create_app()) as client:
        for text in [*RESULTS, None]:
            turns.append(await answered_by(client, contents))
            contents.append(types.ModelContent(parts_of(turns[-1])))
            if text is not None:
                call = next(part.function_call for part in parts_of(turns[-1]) if part.function_call)
                response = types.FunctionResponse(id=call.id, name=call.name, response={"output": text})
                contents.append(types.UserContent([types.Part(function_response=response)]))

    calls = [part.function_call.name for turn in turns for part in parts_of(turn) if part.function_call]
    assert calls == CALLS
    assert [turn[-1].candidates[0].finish_reason for turn in turns] == ["STOP"] * 4
    assert said_by(turns[0]).startswith("[Rehearsal, no language model]")
    assert "the report counts 8 modified elements" in said_by(turns[-1])
    first, second = turns[0][-1].usage_metadata, turns[1][-1].usage_metadata
    assert first.cached_content_token_count is None
    assert second.cached_content_token_count == first.prompt_token_count > 1_500
    assert first.candidates_token_count > 100
    assert first.thoughts_token_count > 20


async def test_a_moved_signature_is_refused_with_the_vendors_words():
    async with sdk_of(create_app()) as client:
        first = await answered_by(client, [types.UserContent(ASKED)])
        call = next(part for part in parts_of(first) if part.function_call)
        moved = types.Part(function_call={"name": "capture_view", "args": {}}, thought_signature=call.thought_signature)
        response = types.Part.from_function_response(name="capture_view", response={"output": ""})

        with pytest.raises(errors.ClientError) as caught:
            await answered_by(
                client, [types.UserContent(ASKED), types.ModelContent([moved]), types.UserContent([response])]
            )

    assert caught.value.details == {
        "error": {"code": 400, "message": "Corrupted thought signature.", "status": "INVALID_ARGUMENT"}
    }


async def test_thoughts_are_spent_but_not_shown_unless_asked_for():
    async with sdk_of(create_app()) as client:
        shown = await answered_by(client, [types.UserContent(ASKED)])
        hidden = await answered_by(client, [types.UserContent(ASKED)], thinking_config={})

    assert any(part.thought for part in parts_of(shown))
    assert not any(part.thought for part in parts_of(hidden))
    assert [events[-1].usage_metadata.thoughts_token_count for events in (shown, hidden)] == [
        shown[-1].usage_metadata.thoughts_token_count
    ] * 2


def shape(body: str) -> list[tuple[Any, ...]]:
    """The keys of the events of a stream, and of what they carry; neighbours that are alike once."""
    found: list[tuple[Any, ...]] = []
    for line in re.findall(r"^data: (.*)\r$", body, re.MULTILINE):
        event = json.loads(line)
        (candidate,) = event["candidates"]
        parts = [(tuple(part), tuple(part.get("functionCall", ()))) for part in candidate["content"]["parts"]]
        each = (tuple(event), tuple(candidate), tuple(candidate["content"]), parts, sorted(event["usageMetadata"]))
        if not found or found[-1] != each:
            found.append(each)
    return found


async def test_the_stream_has_the_shape_of_a_recorded_one():
    recorded = json.loads(shared("corpus", "gemini", "053.json").read_text())["body"]
    tools = [{"functionDeclarations": [{"name": tool.name} for tool in TOOLS]}]
    body = {"contents": [{"parts": [{"text": ASKED}]}], "tools": tools}

    async with running(create_app()) as url, httpx2.AsyncClient(base_url=url) as client:
        ours = (await client.post(PATH, json=body, headers={"x-goog-api-key": "any"})).text

    said, *rest = shape(ours)
    assert said[3] == [(("text",), ())]
    assert rest == shape(recorded)


# -- our client -------------------------------------------------------------------------------------------------------


@contextlib.asynccontextmanager
async def client_of(app: Starlette) -> AsyncIterator[GeminiClient]:
    async with running(app) as url, httpx2.AsyncClient() as http_client:
        yield GeminiClient(Access("rehearsal", url), http_client)


def settings(max_output: int = 8_000) -> TurnSettings:
    return TurnSettings(SPEC, SYSTEM, max_output, {IMAGE.sha256: Picture("image/png", base64.b64decode(picture()))})


async def play(client: GeminiClient, transcript: Sequence[Message], **more: Any) -> tuple[Turn, list[StreamChunk]]:
    turn = Turn(vendor=SPEC.vendor, model=SPEC.id)
    return turn, [chunk async for chunk in client.stream(transcript, TOOLS, settings(**more), turn)]


def user(text: str = ASKED) -> Message:
    return Message(role="user", parts=(Text(text=text),))


def result(turn: Turn, text: str, images: tuple[ImageRef, ...] = ()) -> Message:
    parts = [ToolResult(call_id=call.id, ok=True, text=text, images=images) for call in turn.tool_calls]
    return Message(role="tool", parts=tuple(parts))


async def rehearse(client: GeminiClient) -> tuple[list[Turn], list[Message]]:
    """A whole run with hand-made results; pictures with each."""
    transcript, turns = [user()], []
    for text in [*RESULTS, None]:
        turn, _ = await play(client, transcript)
        turns.append(turn)
        transcript.append(turn.message())
        if text is not None:
            transcript.append(result(turn, text, (IMAGE,)))
    return turns, transcript


async def test_a_run_streams_from_the_first_look_to_the_summary_with_our_client():
    async with client_of(create_app()) as client:
        turns, transcript = await rehearse(client)
        again, _ = await play(client, [*transcript, user("Now renumber all doors on level 1")])

    assert [call.name for turn in turns for call in turn.tool_calls] == CALLS
    assert [turn.stop for turn in turns] == ["tool_calls", "tool_calls", "tool_calls", "end"]
    assert "the report counts 8 modified elements" in turns[-1].text
    assert 'LEVEL = "Level 1"' in (again.tool_calls[0].input or {})["code"]
    sentinels = str(build_request(transcript, TOOLS, settings())).count(str(SENTINEL))
    assert sentinels == 0, "every signature was kept"


async def test_what_was_sent_before_is_read_from_the_cache():
    async with client_of(create_app()) as client:
        turns, _ = await rehearse(client)

    read = [turn.usage.cache_read for turn in turns]
    sent = [turn.usage.cache_read + turn.usage.input_uncached for turn in turns]
    assert read == [0, *sent[:-1]]
    assert turns[0].usage.reasoning > 20
    assert turns[0].usage.output > 100


@pytest.mark.parametrize("vendor", ["anthropic", "gemini"])
async def test_a_run_that_another_model_began_is_taken_over(vendor: str):
    async with client_of(create_app()) as client:
        turns, transcript = await rehearse(client)
        foreign = [as_if_by(message, vendor) for message in transcript[:-1]]

        taken_over, _ = await play(client, foreign)

    assert taken_over.text == turns[-1].text


def as_if_by(message: Message, vendor: str) -> Message:
    """The message as a model of that vendor would have left it, with its signature on everything."""
    opaque = Opaque(vendor=vendor, model="another", kind="thinking", data="Zm9yZWlnbg==")
    signed = tuple(
        part.model_copy(update={"opaque": opaque}) if isinstance(part, Thinking | ToolCall) else part
        for part in message.parts
    )
    return message.model_copy(update={"parts": signed})


async def test_a_run_that_was_stopped_inside_a_call_can_go_on():
    async with client_of(create_app()) as client:
        turn, _ = await play(client, [user()])

        after, _ = await play(client, [user(), turn.message(), user("What is in this model?")])

    assert "by_type" in (after.tool_calls[0].input or {})["code"]


async def test_at_the_output_limit_the_text_is_cut_and_no_call_comes():
    async with client_of(create_app()) as client:
        whole, _ = await play(client, [user()])
        cut, _ = await play(client, [user()], max_output=120)

    assert (cut.stop, cut.tool_calls) == ("max_tokens", [])
    assert whole.text.startswith(cut.text)
    assert cut.usage.output + cut.usage.reasoning <= 120


@pytest.mark.parametrize(
    ("fault", "code", "retry_after_s"),
    [
        ("http_429", "rate_limited", 1.0),
        ("http_529", "overloaded", None),
        ("overloaded_mid_stream", "overloaded", None),
        ("cut_without_stop", "broken_stream", None),
    ],
)
async def test_a_fault_spoils_one_request_only(fault: str, code: str, retry_after_s: float | None):
    async with client_of(create_app(faults=[fault])) as client:
        with pytest.raises(VendorError) as caught:
            await play(client, [user()])
        healthy, _ = await play(client, [user()])

    assert (caught.value.code, caught.value.retryable, caught.value.retry_after_s) == (code, True, retry_after_s)
    assert healthy.stop == "tool_calls"


class Watched(httpx2.AsyncHTTPTransport):
    """Counts the responses that are not closed."""

    unclosed = 0

    async def handle_async_request(self, request: httpx2.Request) -> httpx2.Response:
        response = await super().handle_async_request(request)
        self.unclosed += 1
        aclose = response.stream.aclose

        async def close() -> None:
            self.unclosed -= 1
            await aclose()

        response.stream.aclose = close
        return response


async def test_a_reader_who_leaves_closes_the_connection():
    transport = Watched()
    app = create_app(tokens_per_second=50)
    async with running(app) as url, httpx2.AsyncClient(transport=transport) as http_client:
        client = GeminiClient(Access("rehearsal", url), http_client)
        stream = client.stream([user()], TOOLS, settings(), Turn(vendor=SPEC.vendor, model=SPEC.id))

        await anext(stream)
        while_reading = transport.unclosed
        await stream.aclose()

        assert (while_reading, transport.unclosed) == (1, 0)
