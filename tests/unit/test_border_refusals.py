"""What holds of every dialect's answers and errors, whatever the vendor sends: the border before them all."""

import json
from collections.abc import AsyncIterator
from datetime import UTC, datetime, timedelta
from email.utils import format_datetime
from typing import Any

import httpx2
import pytest
from drafthand.errors import VendorError
from drafthand.model import ModelSpec, TurnSettings
from drafthand.replay import Replayed, replay
from drafthand.transcript import Message, Text, Turn
from drafthand.vendors import DIALECTS, client_of
from drafthand.vendors.access import Access
from drafthand.vendors.refusals import refusal, retry_after_s, shown, told

KEY = "sk-canary-4711"
ASKED = (Message(role="user", parts=(Text(text="hi"),)),)
by_dialect = pytest.mark.parametrize("dialect", DIALECTS)


async def refused(dialect: str, status: int, body: str, kind: str = "application/json", key: str = KEY) -> VendorError:
    """The error that a dialect makes of a response."""

    async def content() -> AsyncIterator[bytes]:
        yield body.encode()

    headers = {"content-type": kind}
    transport = httpx2.MockTransport(lambda request: httpx2.Response(status, headers=headers, content=content()))
    spec = ModelSpec(id="m", label="m", vendor="ours", dialect=dialect)
    async with httpx2.AsyncClient(transport=transport) as http_client:
        client = client_of(dialect, Access(key, "http://vendor.invalid/v1"), http_client)
        with pytest.raises(VendorError) as caught:
            async for _ in client.stream(ASKED, (), TurnSettings(spec, "system", 1000), Turn("ours", "m")):
                pass
    return caught.value


# -- the key ----------------------------------------------------------------------------------------------------------

QUOTED = [
    (400, json.dumps({"error": {"message": f"Invalid token: {KEY}", "type": "invalid_request_error"}})),
    (400, json.dumps({"error": f"no such thing: {KEY}."})),
    (500, f"upstream says ({KEY})"),
    (500, json.dumps({"error": {"message": "x" * 480 + f" {KEY} " + "y" * 50, "code": 500}})),
    (429, json.dumps({"detail": [{"msg": f"slow down, {KEY}"}]})),
    (200, f'data: {{"error": {{"message": "bad {KEY}", "code": 400}}}}\n\n'),
    (200, f"event: error\ndata: oops {KEY}\n\n"),
]


@by_dialect
@pytest.mark.parametrize(("status", "body"), QUOTED)
async def test_the_key_is_never_repeated_nor_is_a_part_of_it(dialect: str, status: int, body: str) -> None:
    error = await refused(dialect, status, body, "text/event-stream" if status == 200 else "application/json")

    causes = [error.__cause__] if error.__suppress_context__ else [error.__cause__, error.__context__]
    assert not any("canary" in f"{each} {each!r}" for each in [error, *causes])


@by_dialect
@pytest.mark.parametrize("key", ["sk-abc…def", "sk-a\nb"])
async def test_a_key_that_can_not_be_sent_is_named(dialect: str, key: str) -> None:
    error = await refused(dialect, 200, "", key=key)

    assert error.code == "auth"
    assert "OURS_API_KEY" in str(error)
    assert key not in str(error)


@by_dialect
@pytest.mark.parametrize(
    "body",
    [
        {"code": "Client specified an invalid argument", "error": "Incorrect API key provided: xa***23."},
        {"error": {"message": "API key not valid. Please pass a valid API key.", "code": 400}},
        {"error": {"message": "invalid x-api-key", "type": "invalid_request_error"}},
    ],
)
async def test_a_wrong_key_is_one_whatever_the_status(dialect: str, body: dict[str, Any]) -> None:
    error = await refused(dialect, 400, json.dumps(body))

    assert (error.code, str(error)) == ("auth", "The key OURS_API_KEY was refused. Check it and start again.")


# -- errors in whatever shape -----------------------------------------------------------------------------------------


@by_dialect
@pytest.mark.parametrize(
    ("body", "text"),
    [
        ('{"error": {"message": ["a", "b"]}}', "a; b."),
        ('{"error": {"message": {"a": 1}}}', '{"a": 1}.'),
        ('{"error": {"message": {"message": "deep"}, "code": 429, "type": 5}}', "deep."),
        ('{"error": "as text"}', "as text."),
        ('{"detail": [{"loc": ["body"], "msg": "bad field"}]}', "bad field."),
        ("<!DOCTYPE html><html>" + "x" * 5000, "an HTML page."),
        ("ends. " + "word " * 500, None),
    ],
)
async def test_a_report_of_any_shape_is_one_short_text(dialect: str, body: str, text: str | None) -> None:
    error = await refused(dialect, 400, body, "text/html" if body.startswith("<") else "application/json")

    assert len(str(error)) <= 530
    assert "{'" not in str(error)
    assert text is None or str(error) == f"The vendor answered: {text}"


@pytest.mark.parametrize("code", [429, "429", 503])
@pytest.mark.parametrize("dialect", ["openai_responses", "gemini", "chat_completions"])
async def test_a_status_in_mid_stream_tells_what_it_is(dialect: str, code: object) -> None:
    replayed = await replay(dialect, f"data: {json.dumps({'error': {'code': code, 'message': ['a']}})}\n\n".encode())

    assert replayed.error is not None
    assert replayed.error.code == ("overloaded" if code == 503 else "rate_limited")
    assert str(replayed.error) == "The vendor answered: a."


@pytest.mark.parametrize(
    "body",
    ['{"message": "boom", "code": 500}', '{"detail": "boom"}', '{"errors": [{"message": "boom"}]}', '{"error": {}}'],
)
async def test_errors_of_chat_servers_without_the_usual_shape_are_errors(body: str) -> None:
    piece = '{"choices": [{"index": 0, "delta": {"content": "x"}}]}'

    replayed = await replay("chat_completions", f"data: {piece}\n\ndata: {body}\n\ndata: [DONE]\n\n".encode())

    assert replayed.error is not None
    assert replayed.error.code == "unavailable"


@by_dialect
@pytest.mark.parametrize(
    ("status", "message"), [(402, "pay"), (400, "Your credit balance is too low"), (429, "insufficient_quota")]
)
async def test_without_money_asking_again_does_not_help(dialect: str, status: int, message: str) -> None:
    error = await refused(dialect, status, json.dumps({"error": {"message": message, "code": status}}))

    assert (error.code, error.retryable) == ("rate_limited", False)
    assert "no money" in str(error)


def test_a_used_up_quota_that_tells_how_long_to_wait_is_waited_for() -> None:
    text = "You exceeded your current quota, please check your plan and billing details."

    assert refusal("gemini", "rate_limited", text, retry_after_s=34.0).retryable
    assert not refusal("gemini", "rate_limited", text).retryable


@by_dialect
async def test_a_page_with_status_200_is_told_by_its_type(dialect: str) -> None:
    error = await refused(dialect, 200, "<html>login</html>", "text/html; charset=utf-8")

    assert (error.code, error.retryable) == ("invalid_request", False)
    assert "text/html" in str(error)


def test_a_text_is_cut_between_words_and_ends() -> None:
    assert shown("a  b\nc") == "a b c."
    assert shown("Done!") == "Done!"
    assert shown("") == "no reason given."
    assert len(shown("word " * 200)) <= 501
    assert told('{"error": {"message": "inner"}}') == "inner"


def test_a_date_says_how_long_to_wait() -> None:
    until = datetime.now(UTC) + timedelta(seconds=60)

    wait_s = retry_after_s({"retry-after": format_datetime(until, usegmt=True)})

    assert wait_s is not None
    assert 50 < wait_s <= 60


# -- answers ----------------------------------------------------------------------------------------------------------


def chat(delta: dict[str, Any], finish: str | None = None, **facts: Any) -> str:
    event = {"choices": [{"index": 0, "delta": delta, "finish_reason": finish}]} | facts
    return f"data: {json.dumps(event)}\n\n"


def sse(*events: dict[str, Any]) -> str:
    return "".join(f"event: {event['type']}\ndata: {json.dumps(event)}\n\n" for event in events)


def gemini(parts: list[dict[str, Any]], finish: str = "STOP") -> str:
    return f"data: {json.dumps({'candidates': [{'content': {'parts': parts}, 'finishReason': finish}]})}\n\n"


EMPTY = {
    "anthropic_messages": sse({"type": "message_stop"}),
    "openai_responses": sse({"type": "response.completed", "response": {"status": "completed", "output": []}}),
    "gemini": gemini([]),
    "chat_completions": "data: [DONE]\n\n",
}


@by_dialect
async def test_an_answer_of_nothing_is_a_broken_one(dialect: str) -> None:
    replayed = await replay(dialect, EMPTY[dialect].encode())

    assert replayed.error is not None
    assert (replayed.error.code, str(replayed.error)) == ("broken_stream", "The model's answer was empty.")


def answer_with_call(dialect: str, stop: str, raw: str = '{"a":1}', name: str = "t", vendor_id: str = "c") -> str:
    """A whole call, and then the vendor's word for how the turn ended."""
    block = {"type": "tool_use", "id": vendor_id, "name": name, "input": {}}
    item = {"type": "function_call", "call_id": vendor_id, "name": name, "arguments": raw, "status": "completed"}
    response = {"status": "incomplete" if stop != "completed" else stop, "incomplete_details": {"reason": stop}}
    piece = {"index": 0, "id": vendor_id, "function": {"name": name, "arguments": raw}}
    match dialect:
        case "anthropic_messages":
            return sse(
                {"type": "message_start", "message": {"usage": {"input_tokens": 1}}},
                {"type": "content_block_start", "index": 0, "content_block": block},
                {"type": "content_block_delta", "index": 0, "delta": {"type": "input_json_delta", "partial_json": raw}},
                {"type": "content_block_stop", "index": 0},
                {"type": "message_delta", "delta": {"stop_reason": stop}, "usage": {"output_tokens": 1}},
                {"type": "message_stop"},
            )
        case "openai_responses":
            done = {"type": "response.output_item.done", "output_index": 0, "item": item}
            return sse(done, {"type": "response.completed", "response": response})
        case "gemini":
            raw = raw or "{}"
            call = f'{{"functionCall": {{"name": {json.dumps(name)}, "id": {json.dumps(vendor_id)}, "args": {raw}}}}}'
            return gemini([], stop).replace("[]", f"[{call}]")
    return chat({"tool_calls": [piece]}) + chat({}, stop) + "data: [DONE]\n\n"


def inputs(replayed: Replayed) -> list[dict[str, Any] | None]:
    return [call.input for call in replayed.turn.tool_calls]


@pytest.mark.parametrize(
    ("dialect", "stop"),
    [
        ("anthropic_messages", "tool_use"),
        ("anthropic_messages", "end_turn"),
        ("anthropic_messages", "stop_sequence"),
        ("openai_responses", "completed"),
        ("gemini", "STOP"),
        *[("chat_completions", word) for word in ("stop", "tool_calls", "eos", "eos_token", "tool_use", "end_turn")],
        *[("chat_completions", word) for word in ("STOP", "a_new_word")],
    ],
)
async def test_a_call_of_a_turn_that_the_model_ended_is_handed_on(dialect: str, stop: str) -> None:
    assert inputs(await replay(dialect, answer_with_call(dialect, stop).encode())) == [{"a": 1}]


@pytest.mark.parametrize(
    ("dialect", "stop"),
    [
        *[("anthropic_messages", word) for word in ("max_tokens", "refusal", "pause_turn")],
        ("anthropic_messages", "model_context_window_exceeded"),
        ("openai_responses", "max_output_tokens"),
        ("openai_responses", "content_filter"),
        *[("gemini", word) for word in ("MAX_TOKENS", "SAFETY", "RECITATION")],
        *[("chat_completions", word) for word in ("length", "content_filter", "model_length", "MAX_TOKENS")],
    ],
)
async def test_no_call_of_an_answer_that_was_cut_is_handed_on(dialect: str, stop: str) -> None:
    replayed = await replay(dialect, answer_with_call(dialect, stop).encode())

    assert replayed.error is None
    assert inputs(replayed) == [None]


@pytest.mark.parametrize(
    ("dialect", "stop", "raw"),
    [
        ("anthropic_messages", "a_new_word", '{"a":1}'),
        ("openai_responses", "a_new_word", '{"a":1}'),
        ("gemini", "NO_IMAGE", '{"a":1}'),
        ("chat_completions", "a_new_word", '{"a":'),
    ],
)
async def test_an_end_that_nobody_knows_behind_a_call_is_an_error_and_no_loop(
    dialect: str, stop: str, raw: str
) -> None:
    replayed = await replay(dialect, answer_with_call(dialect, stop, raw).encode())

    assert replayed.error is not None
    assert replayed.error.code == "broken_stream"


@by_dialect
@pytest.mark.parametrize("raw", ['{"a":NaN}', '{"a":-Infinity}', '{"a":1e999}'])
async def test_a_number_that_json_can_not_say_is_no_input(dialect: str, raw: str) -> None:
    stop = {"anthropic_messages": "tool_use", "openai_responses": "completed", "gemini": "STOP"}.get(dialect, "stop")

    assert inputs(await replay(dialect, answer_with_call(dialect, stop, raw).encode())) == [None]


@by_dialect
async def test_no_name_and_no_id_has_half_a_pair_of_surrogates(dialect: str) -> None:
    stop = {"anthropic_messages": "tool_use", "openai_responses": "completed", "gemini": "STOP"}.get(dialect, "stop")

    replayed = await replay(dialect, answer_with_call(dialect, stop, "{}", "x\ud800", "c\ud800").encode())

    (call,) = replayed.turn.tool_calls
    assert (call.name, call.vendor_id) == ("x\ufffd", "c\ufffd")
    assert all(chunk.model_dump_json() for chunk in replayed.chunks)
