"""What the recordings of Anthropic don't hold: answers cut by a limit, errors, and text that no encoder takes."""

import json
from typing import Any

import httpx2
import pytest
from drafthand.errors import VendorError
from drafthand.model import ModelSpec, TurnSettings
from drafthand.replay import Replayed, replay
from drafthand.transcript import Message, Text, Thinking, Turn
from drafthand.vendors.access import Access
from drafthand.vendors.anthropic_messages import AnthropicMessagesClient
from hypothesis import given
from hypothesis import strategies as st

SPEC = ModelSpec(id="m", label="m", vendor="ours", dialect="anthropic_messages")
END = {"type": "message_stop"}
TEXT = {"type": "text", "text": ""}
CALL = {"type": "tool_use", "id": "toolu_1", "name": "run", "input": {}}
Event = dict[str, Any]


def start(block: Event, index: int = 0) -> Event:
    return {"type": "content_block_start", "index": index, "content_block": block}


def delta(kind: str, index: int = 0, **piece: str) -> Event:
    return {"type": "content_block_delta", "index": index, "delta": {"type": kind} | piece}


def stop(index: int = 0) -> Event:
    return {"type": "content_block_stop", "index": index}


def ended(reason: str = "end_turn") -> Event:
    return {"type": "message_delta", "delta": {"stop_reason": reason}, "usage": {"output_tokens": 1}}


async def play(*events: Event) -> Replayed:
    body = "".join(f"event: {event['type']}\ndata: {json.dumps(event)}\n\n" for event in events)
    return await replay("anthropic_messages", body.encode())


async def refused(response: httpx2.Response | Exception) -> VendorError:
    def answer(request: httpx2.Request) -> httpx2.Response:
        if isinstance(response, Exception):
            raise response
        return response

    async with httpx2.AsyncClient(transport=httpx2.MockTransport(answer)) as http_client:
        client = AnthropicMessagesClient(Access("sk-secret"), http_client)
        asked = [Message(role="user", parts=(Text(text="hi"),))]
        with pytest.raises(VendorError) as caught:
            async for _ in client.stream(asked, [], TurnSettings(SPEC, "system", 1000), Turn(vendor="ours", model="m")):
                pass
    return caught.value


def error(status: int, kind: str, message: str, headers: dict[str, str] | None = None) -> httpx2.Response:
    return httpx2.Response(status, headers=headers, json={"type": "error", "error": {"type": kind, "message": message}})


@pytest.mark.parametrize("reason", ["max_tokens", "refusal"])
async def test_a_call_that_was_never_closed_is_there_without_its_input(reason: str) -> None:
    replayed = await play(start(CALL), delta("input_json_delta", partial_json='{"code": "1"}'), ended(reason), END)

    (call,) = replayed.turn.tool_calls
    assert (call.input, call.raw, replayed.turn.stop) == (None, '{"code": "1"}', reason)


async def test_thinking_without_its_signature_can_not_go_back() -> None:
    thinking = {"type": "thinking", "thinking": "", "signature": ""}

    replayed = await play(start(thinking), delta("thinking_delta", thinking="So"), ended("max_tokens"), END)

    assert replayed.turn.parts == [Thinking(text="So")]


@given(st.lists(st.text(st.characters(categories=None) | st.sampled_from("\ud83d\ude00\ud800")), max_size=5))
async def test_whatever_text_comes_can_be_encoded_and_what_is_shown_is_what_is_kept(pieces: list[str]) -> None:
    replayed = await play(start(TEXT), *(delta("text_delta", text=piece) for piece in pieces), stop(), ended(), END)

    assert "".join(chunk.content for chunk in replayed.chunks) == replayed.turn.text
    assert replayed.turn.text.encode().decode() == replayed.turn.text


async def test_an_input_that_spells_a_lone_surrogate_can_be_encoded() -> None:
    replayed = await play(
        start(CALL), delta("input_json_delta", partial_json=r'{"code": "\ud800"}'), stop(), ended("tool_use"), END
    )

    assert replayed.turn.tool_calls[0].input == {"code": "\ufffd"}


async def test_an_input_of_brackets_only_is_none() -> None:
    replayed = await play(start(CALL), delta("input_json_delta", partial_json="[" * 100_000), stop(), ended(), END)

    assert replayed.error is None
    assert [call.input for call in replayed.turn.tool_calls] == [None]


@pytest.mark.parametrize(
    ("status", "kind", "message", "code", "retryable"),
    [
        (400, "invalid_request_error", "prompt is too long: 210000 tokens > 200000 maximum", "context_full", False),
        (
            400,
            "invalid_request_error",
            "input length and `max_tokens` exceed context limit: 190000 + 20000 > 200000",
            "context_full",
            False,
        ),
        (400, "invalid_request_error", "messages: text content blocks must be non-empty", "invalid_request", False),
        (404, "not_found_error", "model: claude-x", "invalid_request", False),
        (413, "request_too_large", "Request exceeds the maximum size", "context_full", False),
        (429, "rate_limit_error", "slow down", "rate_limited", True),
        (500, "api_error", "Internal server error", "unavailable", True),
        (529, "overloaded_error", "Overloaded", "overloaded", True),
        (413, "of_a_proxy", "Payload too large", "context_full", False),
        (503, "of_a_proxy", "Busy", "overloaded", True),
    ],
)
async def test_an_http_error_is_told_by_its_type_then_status(
    status: int, kind: str, message: str, code: str, retryable: bool
) -> None:
    caught = await refused(error(status, kind, message))

    assert (caught.vendor, caught.code, caught.retryable) == ("ours", code, retryable)
    assert message in str(caught)


async def test_an_error_in_mid_stream_is_told_by_its_type() -> None:
    overloaded = {"type": "error", "error": {"type": "overloaded_error", "message": "Overloaded"}}

    replayed = await play(start(TEXT), delta("text_delta", text="Hi"), overloaded)

    assert replayed.error is not None
    assert (replayed.error.code, replayed.error.retryable) == ("overloaded", True)


async def test_the_header_says_how_long_to_wait() -> None:
    caught = await refused(error(429, "rate_limit_error", "slow down", {"retry-after": "17"}))

    assert caught.retry_after_s == 17.0


async def test_a_refused_key_is_named_by_its_variable_and_never_shown() -> None:
    caught = await refused(error(401, "authentication_error", "invalid x-api-key sk-secret"))

    assert (caught.code, caught.retryable) == ("auth", False)
    assert "OURS_API_KEY" in str(caught)
    assert "sk-secret" not in str(caught)


async def test_a_vendor_out_of_reach_is_unavailable() -> None:
    caught = await refused(httpx2.ConnectError("no route"))

    assert (caught.code, caught.retryable) == ("unavailable", True)
