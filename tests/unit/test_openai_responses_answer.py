"""What the recordings don't hold: answers cut by a limit, refusals, errors, and text that no encoder takes."""

import json
from typing import Any

import httpx2
import pytest
from drafthand.errors import VendorError
from drafthand.model import ModelSpec, TurnSettings
from drafthand.replay import Replayed, replay
from drafthand.transcript import Message, Opaque, Text, Thinking, ToolCall, Turn
from drafthand.vendors.access import Access
from drafthand.vendors.openai_responses import OpenAIResponsesClient
from drafthand.vendors.openai_responses_request import PHASE
from hypothesis import given
from hypothesis import strategies as st

MESSAGE = {"type": "message", "id": "msg_1", "role": "assistant", "status": "in_progress", "content": []}
CALL = {"type": "function_call", "id": "fc_1", "call_id": "call_v", "name": "run", "arguments": "", "status": "x"}
REASONING = {"type": "reasoning", "id": "rs_1", "summary": [], "encrypted_content": "gAAA"}
SPEC = ModelSpec(id="m", label="m", vendor="openai", dialect="openai_responses")

Event = dict[str, Any]


def added(item: Event, index: int = 0) -> Event:
    return {"type": "response.output_item.added", "output_index": index, "item": item}


def delta(kind: str, piece: str, index: int = 0) -> Event:
    return {"type": f"response.{kind}.delta", "output_index": index, "item_id": "x", "delta": piece}


def done(item: Event, index: int = 0, **changes: Any) -> Event:
    return {
        "type": "response.output_item.done",
        "output_index": index,
        "item": item | {"status": "completed"} | changes,
    }


def text(words: str, kind: str = "output_text") -> Event:
    return {"type": kind, "text" if kind == "output_text" else "refusal": words}


def ended(kind: str = "completed", **facts: Any) -> Event:
    return {"type": f"response.{kind}", "response": {"status": kind, "output": [], "usage": None} | facts}


def cut(reason: str) -> Event:
    return ended("incomplete", incomplete_details={"reason": reason})


async def play(*events: Event, status: int = 200) -> Replayed:
    body = "".join(f"event: {event.get('type')}\ndata: {json.dumps(event)}\n\n" for event in events)
    return await replay("openai_responses", body.encode(), status)


async def refused(status: int, error: Event, headers: dict[str, str] | None = None) -> VendorError:
    transport = httpx2.MockTransport(lambda request: httpx2.Response(status, headers=headers, json={"error": error}))
    async with httpx2.AsyncClient(transport=transport) as http_client:
        client = OpenAIResponsesClient(Access("sk-secret"), http_client)
        asked = [Message(role="user", parts=(Text(text="hi"),))]
        turn = Turn(vendor="openai", model="m")
        with pytest.raises(VendorError) as caught:
            async for _ in client.stream(asked, [], TurnSettings(SPEC, "system", 1000), turn):
                pass
    return caught.value


async def test_a_call_that_the_limit_cut_has_no_input_though_it_is_json_by_chance() -> None:
    piece = delta("function_call_arguments", '{"code": 1}')

    still_open = await play(added(CALL), piece, cut("max_output_tokens"))
    closed = await play(
        added(CALL), piece, done(CALL, arguments='{"code": 1}', status="incomplete"), cut("content_filter")
    )

    assert (still_open.turn.stop, closed.turn.stop) == ("max_tokens", "refusal")
    for replayed in (still_open, closed):
        (call,) = replayed.turn.tool_calls
        assert (call.input, call.raw, call.vendor_id) == (None, '{"code": 1}', "call_v")


async def test_of_two_calls_open_at_the_cut_neither_has_input() -> None:
    events = [added(CALL, 0), added(CALL, 1), delta("function_call_arguments", "{}", 0), cut("max_output_tokens")]

    replayed = await play(*events)

    assert [call.input for call in replayed.turn.tool_calls] == [None, None]


async def test_an_unknown_reason_of_an_incomplete_answer_is_kept_in_the_vendors_words() -> None:
    assert (await play(done(MESSAGE, content=[text("x")]), cut("max_messages"))).turn.stop == "max_messages"


async def test_a_refusal_is_prose_and_the_stop_says_so() -> None:
    replayed = await play(
        added(MESSAGE), delta("refusal", "I can't."), done(MESSAGE, content=[text("I can't.", "refusal")]), ended()
    )

    assert [(chunk.type, chunk.content) for chunk in replayed.chunks] == [("Message", "I can't.")]
    assert (replayed.turn.text, replayed.turn.stop) == ("I can't.", "refusal")


async def test_the_finished_item_has_the_last_word_and_its_rest_is_shown() -> None:
    replayed = await play(
        added(MESSAGE), delta("output_text", "One"), done(MESSAGE, content=[text("One, two.")]), ended()
    )

    assert [chunk.content for chunk in replayed.chunks] == ["One", ", two."]
    assert replayed.turn.text == "One, two."


async def test_an_item_that_only_comes_finished_is_shown_whole() -> None:
    replayed = await play(done(CALL, arguments='{"code": "1"}'), ended())

    (chunk,) = replayed.chunks
    assert (chunk.type, chunk.content, chunk.metadata["tool"]) == ("ToolInputDelta", '{"code": "1"}', "run")
    assert chunk.metadata["call_id"] == replayed.turn.tool_calls[0].id
    assert (replayed.turn.tool_calls[0].input, replayed.turn.stop) == ({"code": "1"}, "tool_calls")


async def test_a_call_is_announced_before_any_of_its_input() -> None:
    replayed = await play(added(CALL), done(CALL, arguments=""), ended())

    assert [(chunk.content, chunk.metadata["tool"]) for chunk in replayed.chunks] == [("", "run")]
    assert replayed.turn.tool_calls[0].input == {}


async def test_a_message_holds_its_phase_and_the_reasoning_stands_before_it() -> None:
    replayed = await play(
        added(REASONING),
        done(REASONING),
        added(MESSAGE | {"phase": "commentary"}, 1),
        done(MESSAGE | {"phase": "commentary"}, 1, content=[text("I look.")]),
        ended(),
    )

    reasoning, message = replayed.turn.parts
    assert isinstance(reasoning, Thinking)
    assert json.loads(reasoning.opaque.data) == REASONING
    phase = Opaque(vendor="replayed", model="replayed", kind=PHASE, data="commentary")
    assert message == Text(text="I look.", opaque=phase)


async def test_reasoning_that_led_to_an_item_we_cant_send_back_stays_here() -> None:
    search = {"type": "web_search_call", "id": "ws_1", "action": {"type": "search", "query": "q"}}
    replayed = await play(done(REASONING), done(search, 1), done(REASONING, 2), done(CALL, 3, arguments="{}"), ended())

    parts = replayed.turn.parts
    assert [getattr(part, "opaque", None) is None for part in parts] == [False, True]
    assert isinstance(parts[-1], ToolCall)


async def test_reasoning_without_encrypted_content_is_thinking_only() -> None:
    summary = [{"type": "summary_text", "text": "a"}, {"type": "summary_text", "text": "b"}]
    second_part = {"type": "response.reasoning_summary_part.added", "output_index": 0, "summary_index": 1}
    item = REASONING | {"encrypted_content": None}

    replayed = await play(
        added(item),
        delta("reasoning_summary_text", "a"),
        second_part,
        delta("reasoning_summary_text", "b"),
        done(item, summary=summary),
        ended(),
    )

    assert replayed.turn.parts == [Thinking(text="a\n\nb", opaque=None)]
    assert "".join(chunk.content for chunk in replayed.chunks) == "a\n\nb"


async def test_halves_of_a_surrogate_pair_are_joined_and_a_lone_one_is_replaced() -> None:
    pieces = [delta("output_text", piece) for piece in ("a\ud83d", "\ude00b\ud83d", "c")]

    replayed = await play(added(MESSAGE), *pieces, cut("max_output_tokens"))

    assert [chunk.content for chunk in replayed.chunks] == ["a", "😀b", "\ufffdc"]
    assert replayed.turn.text == "a😀b\ufffdc"


async def test_an_input_that_spells_a_lone_surrogate_can_be_encoded() -> None:
    replayed = await play(done(CALL, arguments=r'{"code": "\ud83d"}'), ended())

    assert replayed.turn.tool_calls[0].input == {"code": "\ufffd"}


@given(st.lists(st.text(st.characters(codec=None), max_size=4), max_size=6))
async def test_whatever_text_comes_can_be_encoded_and_what_is_shown_is_what_is_kept(pieces: list[str]) -> None:
    replayed = await play(added(MESSAGE), *(delta("output_text", piece) for piece in pieces), ended())

    shown = "".join(chunk.content for chunk in replayed.chunks)
    assert shown == replayed.turn.text
    shown.encode()


async def test_usage_without_details_or_none_at_all_is_counted_as_far_as_it_goes() -> None:
    bare = await play(done(MESSAGE, content=[text("x")]), ended(usage={"input_tokens": 7, "output_tokens": 3}))
    missing = await play(done(MESSAGE, content=[text("x")]), ended(usage=None))

    assert (bare.turn.usage.input_uncached, bare.turn.usage.output) == (7, 3)
    assert missing.turn.usage.input_uncached == 0


FLAT = {"type": "error", "code": "server_error", "message": "Sorry.", "param": None}
NESTED = {
    "type": "error",
    "error": {"type": "invalid_request_error", "code": "context_length_exceeded", "message": "-"},
}


@pytest.mark.parametrize(
    ("event", "code", "retryable"),
    [
        (FLAT, "unavailable", True),
        (NESTED, "context_full", False),
        (ended("failed", error={"code": "rate_limit_exceeded", "message": "slow"}), "rate_limited", True),
        (ended("failed", error={"code": "invalid_prompt", "message": "flagged"}), "refused", False),
        (ended("failed", error={"code": "image_too_large", "message": "big"}), "invalid_request", False),
        (ended("failed", error={"code": "slow_down", "message": "busy"}), "overloaded", True),
        (ended("failed", error=None), "unavailable", True),
    ],
)
async def test_an_error_in_mid_stream_is_told_by_its_code(event: Event, code: str, retryable: bool) -> None:
    replayed = await play(added(MESSAGE), delta("output_text", "One"), event)

    assert replayed.error is not None
    assert (replayed.error.code, replayed.error.retryable) == (code, retryable)


async def test_the_wait_told_in_mid_stream_is_heard() -> None:
    error = {"code": "rate_limit_exceeded", "message": "Limit 30000. Please try again in 1.898s. Visit us."}

    replayed = await play(ended("failed", error=error))

    assert replayed.error is not None
    assert replayed.error.retry_after_s == 1.898


@pytest.mark.parametrize(
    ("status", "error", "code", "retryable"),
    [
        (400, {"code": "unknown_parameter", "message": "Unknown parameter: 'x'."}, "invalid_request", False),
        (400, {"code": None, "message": "This model's maximum context length is 1 token."}, "context_full", False),
        (404, {"code": "model_not_found", "message": "no"}, "invalid_request", False),
        (429, {"code": "insufficient_quota", "message": "pay"}, "rate_limited", False),
        (429, {"code": None, "message": "slow"}, "rate_limited", True),
        (500, {"code": None, "message": "sorry"}, "unavailable", True),
        (503, {"code": None, "message": "busy"}, "overloaded", True),
    ],
)
async def test_an_http_error_is_told_by_code_then_status(status: int, error: Event, code: str, retryable: bool) -> None:
    caught = await refused(status, error)

    assert (caught.code, caught.retryable, caught.vendor) == (code, retryable, "openai")
    assert error["message"] in str(caught)


@pytest.mark.parametrize(
    ("headers", "seconds"),
    [({"retry-after": "7"}, 7.0), ({"retry-after-ms": "250"}, 0.25), ({"retry-after": "soon"}, None), ({}, None)],
)
async def test_the_header_says_how_long_to_wait(headers: dict[str, str], seconds: float | None) -> None:
    assert (await refused(429, {"message": "slow"}, headers)).retry_after_s == seconds


async def test_a_refused_key_is_named_by_its_variable_and_never_shown() -> None:
    caught = await refused(401, {"code": "invalid_api_key", "message": "Incorrect API key provided: sk-secret."})

    assert caught.code == "auth"
    assert "OPENAI_API_KEY" in str(caught)
    assert "sk-secret" not in str(caught)


async def test_a_vendor_out_of_reach_is_unavailable() -> None:
    def unreachable(request: httpx2.Request) -> httpx2.Response:
        raise httpx2.ConnectError("no route")

    async with httpx2.AsyncClient(transport=httpx2.MockTransport(unreachable)) as http_client:
        client = OpenAIResponsesClient(Access("key"), http_client)
        asked = [Message(role="user", parts=(Text(text="hi"),))]
        turn = Turn(vendor="openai", model="m")
        with pytest.raises(VendorError) as caught:
            async for _ in client.stream(asked, [], TurnSettings(SPEC, "system", 1000), turn):
                pass

    assert (caught.value.code, caught.value.retryable) == ("unavailable", True)
