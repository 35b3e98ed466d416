"""What Gemini's streams become: traps that no recording shows, and errors."""

import json
from typing import Any

import httpx2
import pytest
from drafthand.errors import VendorError
from drafthand.model import ModelSpec, TurnSettings
from drafthand.replay import Replayed, replay
from drafthand.transcript import Message, Text, Thinking, ToolCall, Turn
from drafthand.vendors.access import Access
from drafthand.vendors.gemini import GeminiClient
from drafthand.vendors.gemini_request import ON_NOTHING, ON_TEXT, ON_THOUGHT, build_request

SIGNATURE = "+/+/aGk="


def event(*parts: dict[str, Any], reason: str | None = None, **more: Any) -> str:
    candidate: dict[str, Any] = {"content": {"role": "model", "parts": list(parts)}, "index": 0}
    if reason:
        candidate["finishReason"] = reason
    return f"data: {json.dumps({'candidates': [candidate]} | more)}\r\n\r\n"


def function_call(**fields: Any) -> dict[str, Any]:
    return {"functionCall": fields}


def piece(path: str, text: str, *, goes_on: bool = True, call_goes_on: bool = True) -> dict[str, Any]:
    partial = {"jsonPath": path, "stringValue": text} | ({"willContinue": True} if goes_on else {})
    return function_call(partialArgs=[partial], **({"willContinue": True} if call_goes_on else {}))


async def played(*events: str) -> Replayed:
    return await replay("gemini", "".join(events).encode())


def inputs(replayed: Replayed) -> list[Any]:
    return [call.input for call in replayed.turn.tool_calls]


def shown(replayed: Replayed) -> str:
    return "".join(chunk.content for chunk in replayed.chunks if chunk.type == "ToolInputDelta")


async def test_stop_after_calls_means_calls() -> None:
    replayed = await played(
        event(function_call(name="look", args={"a": 1}, id="v1")), event({"text": ""}, reason="STOP")
    )

    (call,) = replayed.turn.tool_calls
    assert (replayed.turn.stop, call.name, call.input, call.vendor_id) == ("tool_calls", "look", {"a": 1}, "v1")
    first, second = replayed.chunks
    assert (first.content, first.metadata) == ("", {"call_id": call.id, "tool": "look"})
    assert second.content == call.raw == '{"a": 1}'


async def test_a_call_without_arguments_is_an_empty_object() -> None:
    replayed = await played(event(function_call(name="look"), reason="STOP"))

    assert (inputs(replayed), shown(replayed)) == ([{}], "{}")


async def test_pieces_of_a_string_stream_as_the_json_they_will_be() -> None:
    replayed = await played(
        event(function_call(name="run", willContinue=True)),
        event(piece("$.code", 'print("')),
        event(piece("$.code", 'ä")\n')),
        event(piece("$.code", "", goes_on=False)),
        event(function_call(partialArgs=[{"jsonPath": "$.edits[0].start_line", "numberValue": 3}], willContinue=True)),
        event(function_call()),
        event({"text": ""}, reason="STOP"),
    )

    assert inputs(replayed) == [{"code": 'print("ä")\n', "edits": [{"start_line": 3}]}]
    deltas = [chunk.content for chunk in replayed.chunks if chunk.type == "ToolInputDelta"]
    assert deltas == ["", '{"code": "print(\\"', 'ä\\")\\n', '"', ', "edits": [{"start_line": 3', "}]}"]


async def test_a_missing_closing_mark_does_not_lose_a_call_that_ended_in_order() -> None:
    start, value = event(function_call(name="run", willContinue=True)), event(piece("$.code", "1", goes_on=False))

    ended = await played(start, value, event({"text": ""}, reason="STOP"))
    followed = await played(start, value, start, value, event(function_call()), event({"text": ""}, reason="STOP"))

    assert inputs(ended) == [{"code": "1"}]
    assert inputs(followed) == [{"code": "1"}, {"code": "1"}]


@pytest.mark.parametrize("reason", ["STOP", "MAX_TOKENS"])
async def test_a_turn_that_ends_inside_a_string_hands_on_nothing(reason: str) -> None:
    replayed = await played(
        event(function_call(name="run", willContinue=True)), event(piece("$.code", "rm("), reason=reason)
    )

    assert [(call.input, call.raw) for call in replayed.turn.tool_calls] == [(None, '{"code": "rm("}')]


async def test_at_the_output_limit_an_open_call_hands_on_nothing() -> None:
    replayed = await played(
        event(function_call(name="run", willContinue=True)),
        event(piece("$.code", "1", goes_on=False), reason="MAX_TOKENS"),
    )

    assert (inputs(replayed), replayed.turn.stop) == ([None], "max_tokens")


async def test_a_piece_that_fits_nowhere_makes_its_call_unusable_and_no_other() -> None:
    replayed = await played(
        event(function_call(name="run", willContinue=True)),
        event(piece("$.edits[7].replacement", "x", goes_on=False, call_goes_on=False)),
        event(function_call(name="look", args={"a": 1})),
        event({"text": ""}, reason="STOP"),
    )

    assert inputs(replayed) == [None, {"a": 1}]


async def test_a_closing_mark_too_many_is_no_call() -> None:
    replayed = await played(event({"text": "hi"}), event(function_call()), event({"text": ""}, reason="STOP"))

    assert (replayed.turn.text, replayed.turn.tool_calls, replayed.turn.stop) == ("hi", [], "end")


async def test_unsigned_neighbours_become_one_part_and_signed_parts_stay_apart() -> None:
    replayed = await played(
        event({"text": "I ", "thought": True}),
        event({"text": "think.", "thought": True}),
        event({"text": "", "thought": True, "thoughtSignature": SIGNATURE}),
        event({"text": "One "}),
        event({"text": "two "}),
        event({"text": "three.", "thoughtSignature": SIGNATURE}),
        event({"thoughtSignature": SIGNATURE}, reason="STOP"),
    )

    parts = [(type(part), part.text, part.opaque) for part in replayed.turn.parts if not isinstance(part, ToolCall)]
    assert [(kind, text, opaque and (opaque.kind, opaque.data)) for kind, text, opaque in parts] == [
        (Thinking, "I think.", None),
        (Thinking, "", (ON_THOUGHT, SIGNATURE)),
        (Text, "One two ", None),
        (Text, "three.", (ON_TEXT, SIGNATURE)),
        (Thinking, "", (ON_NOTHING, SIGNATURE)),
    ]


async def test_what_a_model_said_goes_back_to_it_as_it_came() -> None:
    parts = [
        {"text": "three.", "thoughtSignature": SIGNATURE},
        {"functionCall": {"name": "look", "args": {"a": 1}}, "thoughtSignature": SIGNATURE},
        {"functionCall": {"name": "look", "args": {}}},
    ]
    turn = (await played(*map(event, parts), event({"text": "", "thoughtSignature": SIGNATURE}, reason="STOP"))).turn
    spec = ModelSpec(id=turn.model, label="", vendor=turn.vendor, dialect="gemini")
    hello = Message(role="user", parts=(Text(text="hi"),))

    request = build_request([hello, turn.message()], (), TurnSettings(spec, "system", 100))

    signed = b"\xfb\xff\xbfhi"
    back = request["contents"][1]["parts"]
    assert [part.get("thought_signature") for part in back] == [signed, signed, None, signed]
    assert [part.get("text") for part in back] == ["three.", None, None, ""]


async def test_a_blocked_prompt_is_a_refusal() -> None:
    replayed = await played(f"data: {json.dumps({'promptFeedback': {'blockReason': 'SAFETY'}})}\r\n\r\n")

    assert (replayed.error, replayed.turn.stop) == (None, "refusal")


@pytest.mark.parametrize(
    "reason", ["MALFORMED_FUNCTION_CALL", "UNEXPECTED_TOOL_CALL", "TOO_MANY_TOOL_CALLS", "MALFORMED_RESPONSE", "OTHER"]
)
async def test_nonsense_is_an_error_and_no_answer_even_with_a_call_in_it(reason: str) -> None:
    replayed = await played(event(function_call(name="run", args={"code": "1"})), event(reason=reason))

    assert replayed.error is not None
    assert (replayed.error.code, replayed.error.retryable) == ("broken_stream", True)
    assert reason in str(replayed.error)


@pytest.mark.parametrize("events", [[event(reason="STOP")], [event({"text": "hm", "thought": True}, reason="STOP")]])
async def test_stop_with_nothing_but_thoughts_is_asked_again(events: list[str]) -> None:
    replayed = await played(*events)

    assert replayed.error is not None
    assert (str(replayed.error), replayed.error.retryable) == ("The model's answer was empty.", True)


async def test_a_missed_signature_would_be_missed_again() -> None:
    replayed = await played(event(reason="MISSING_THOUGHT_SIGNATURE"))

    assert replayed.error is not None
    assert (replayed.error.code, replayed.error.retryable) == ("invalid_request", False)


@pytest.mark.parametrize(("reason", "stop"), [("SAFETY", "refusal"), ("MAX_TOKENS", "max_tokens"), ("NEW", "NEW")])
async def test_other_reasons_keep_their_meaning(reason: str, stop: str) -> None:
    assert (await played(event({"text": "I"}, reason=reason))).turn.stop == stop


async def test_an_unset_reason_ends_nothing() -> None:
    replayed = await played(event({"text": "I"}, reason="FINISH_REASON_UNSPECIFIED"))

    assert replayed.error is not None
    assert replayed.error.code == "broken_stream"


async def test_counts_never_overlap_and_later_ones_win() -> None:
    counts = {"promptTokenCount": 100, "cachedContentTokenCount": 60, "candidatesTokenCount": 7}

    replayed = await played(
        event({"text": "a"}, usageMetadata={"candidatesTokenCount": 1, "thoughtsTokenCount": 5}),
        event({"text": "b"}, usageMetadata={"trafficType": "ON_DEMAND"}),
        event({"text": "c"}, reason="STOP", usageMetadata=counts),
    )

    assert replayed.turn.usage.model_dump() == {
        "input_uncached": 40,
        "cache_read": 60,
        "cache_write": 0,
        "output": 7,
        "reasoning": 5,
    }


async def test_lone_surrogates_are_replaced_where_they_come_in() -> None:
    look = function_call(name="look", args={"\udfff": ["\ud83d\ude00"]})

    replayed = await played(event({"text": "a\ud800b"}, look, reason="STOP"))

    assert replayed.turn.text == "a\ufffdb"
    assert inputs(replayed) == [{"\ufffd": ["\U0001f600"]}]
    assert [chunk.content for chunk in replayed.chunks if not chunk.content.isprintable()] == []


@pytest.mark.parametrize(
    "body",
    ["data: 5", 'data: {"error": {}}', ": keepalive", "data: {", "data: [1]", '{"a":', ""],
)
async def test_what_cannot_be_read_is_a_broken_stream(body: str) -> None:
    replayed = await played(f"{body}\r\n\r\n")

    assert replayed.error is not None
    assert (replayed.error.code, replayed.error.retryable) == ("broken_stream", True)


def refused(code: int, message: str, status: str = "INVALID_ARGUMENT", **more: Any) -> bytes:
    return json.dumps({"error": {"code": code, "message": message, "status": status} | more}, indent=2).encode()


@pytest.mark.parametrize(
    ("status", "message", "code", "retryable"),
    [
        (400, "Please use a valid role: user, model.", "invalid_request", False),
        (400, "The input token count (9) exceeds the maximum number of tokens allowed (8).", "context_full", False),
        (400, "Request payload size exceeds the limit: 20971520 bytes.", "context_full", False),
        (400, "API key not valid. Please pass a valid API key.", "auth", False),
        (403, "The caller does not have permission", "auth", False),
        (404, "models/x is not found for API version v1", "invalid_request", False),
        (429, "Resource exhausted. Please try again later.", "rate_limited", True),
        (500, "An internal error has occurred.", "unavailable", True),
        (503, "The model is overloaded. Please try again later.", "overloaded", True),
        (504, "Deadline expired.", "unavailable", True),
    ],
)
async def test_a_refusal_is_told_by_what_it_means(status: int, message: str, code: str, retryable: bool) -> None:
    error = (await replay("gemini", refused(status, message), status)).error

    assert error is not None
    assert (error.code, error.retryable) == (code, retryable)
    assert ("REPLAYED_API_KEY" if code == "auth" else message) in str(error)


@pytest.mark.parametrize("body", [b"<html>Bad Gateway</html>", b"[]", b'"x"', b'{"error": "x"}', b""])
async def test_a_refusal_of_no_known_shape_is_a_refusal_all_the_same(body: bytes) -> None:
    error = (await replay("gemini", body, 502)).error

    assert error is not None
    assert (error.code, error.retryable, error.retry_after_s) == ("unavailable", True, None)


async def test_the_wait_that_the_vendor_asks_for_is_told_in_the_details() -> None:
    details = [{"@type": "type.googleapis.com/google.rpc.RetryInfo", "retryDelay": "38.5s"}]

    error = (await replay("gemini", refused(429, "Quota exceeded.", "RESOURCE_EXHAUSTED", details=details), 429)).error

    assert error is not None
    assert error.retry_after_s == 38.5


async def asked(
    base_url: str | None, response: httpx2.Response | Exception
) -> tuple[list[httpx2.Request], VendorError]:
    requests: list[httpx2.Request] = []

    def answer(request: httpx2.Request) -> httpx2.Response:
        requests.append(request)
        if isinstance(response, Exception):
            raise response
        return response

    client = GeminiClient(Access("key", base_url), httpx2.AsyncClient(transport=httpx2.MockTransport(answer)))
    spec = ModelSpec(id="gemini-3.8-flash", label="", vendor="gemini", dialect="gemini")
    stream = client.stream(
        [Message(role="user", parts=(Text(text="hi"),))], (), TurnSettings(spec, "s", 9), Turn("g", "g")
    )
    with pytest.raises(VendorError) as caught:
        [chunk async for chunk in stream]
    return requests, caught.value


@pytest.mark.parametrize(
    ("base_url", "wanted"),
    [
        (None, "https://generativelanguage.googleapis.com/v1"),
        ("http://localhost:8790", "http://localhost:8790/v1"),
        ("http://localhost:8790/", "http://localhost:8790/v1"),
        ("https://gateway/gemini/v1beta/", "https://gateway/gemini/v1beta"),
    ],
)
async def test_the_version_is_part_of_every_address(base_url: str | None, wanted: str) -> None:
    (request,), _ = await asked(base_url, httpx2.Response(503, json={}))

    assert str(request.url) == f"{wanted}/models/gemini-3.8-flash:streamGenerateContent?alt=sse"
    assert request.headers["x-goog-api-key"] == "key"


async def test_a_refusal_is_not_asked_again_by_the_sdk_and_a_header_may_ask_for_a_wait() -> None:
    requests, error = await asked(None, httpx2.Response(429, json={}, headers={"retry-after": "7"}))

    assert len(requests) == 1
    assert error.retry_after_s == 7.0


async def test_an_unreachable_vendor_is_a_broken_stream() -> None:
    _, error = await asked(None, httpx2.ConnectError("no route"))

    assert (error.code, error.retryable) == ("broken_stream", True)
