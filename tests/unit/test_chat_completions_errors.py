"""Errors of chat completions servers as they come: before the stream, in its middle, with status 200."""

import json
from typing import Any

import httpx2
import pytest
from drafthand.errors import VendorError
from drafthand.model import ModelSpec, TurnSettings
from drafthand.replay import replay
from drafthand.transcript import Message, Text, Turn
from drafthand.vendors.access import Access
from drafthand.vendors.chat_completions import ChatCompletionsClient
from drafthand.vendors.chat_completions_errors import reported

SPEC = ModelSpec(id="m", label="m", vendor="xai", dialect="chat_completions")
HI = {"choices": [{"index": 0, "delta": {"content": "Hi"}}]}


async def refused(status: int, body: Any, headers: dict[str, str] | None = None) -> VendorError:
    content = body if isinstance(body, str) else json.dumps(body)
    sent = {"content-type": "application/json"} | (headers or {})
    transport = httpx2.MockTransport(lambda request: httpx2.Response(status, headers=sent, text=content))
    return await failed(transport)


async def failed(transport: httpx2.MockTransport) -> VendorError:
    async with httpx2.AsyncClient(transport=transport) as http_client:
        client = ChatCompletionsClient(Access("xai-secret", "http://server.invalid/v1"), http_client)
        asked = [Message(role="user", parts=(Text(text="hi"),))]
        turn = Turn(vendor="xai", model="m")
        with pytest.raises(VendorError) as caught:
            async for _ in client.stream(asked, [], TurnSettings(SPEC, "system", 1000), turn):
                pass
        assert (turn.parts, turn.stop) == ([], None)
    return caught.value


@pytest.mark.parametrize(
    ("status", "body", "code", "retryable"),
    [
        (400, {"error": {"message": "Unknown parameter: 'x'.", "code": "unknown_parameter"}}, "invalid_request", False),
        (402, {"error": {"message": "Insufficient credits", "code": 402}}, "rate_limited", False),
        (403, {"error": {"message": "Your input was flagged", "code": 403}}, "refused", False),
        (404, {"error": "model 'qwen9' not found"}, "invalid_request", False),
        (422, {"object": "error", "message": {"detail": [{"loc": ["body", "n"]}]}}, "invalid_request", False),
        (429, {"error": {"message": "Too many tokens: context length", "code": None}}, "rate_limited", True),
        (429, {"error": {"message": "pay", "code": "insufficient_quota"}}, "rate_limited", False),
        (500, {"detail": "Internal Server Error"}, "unavailable", True),
        (502, "<html>Bad Gateway</html>", "unavailable", True),
        (503, "", "overloaded", True),
        (529, {"error": {"message": "busy"}}, "overloaded", True),
    ],
)
async def test_an_http_error_is_told_by_the_vendors_words_then_by_its_status(
    status: int, body: Any, code: str, retryable: bool
) -> None:
    caught = await refused(status, body)

    assert (caught.code, caught.retryable, caught.vendor) == (code, retryable, "xai")


@pytest.mark.parametrize(
    "message",
    [
        "This model's maximum context length is 8192 tokens. However, your messages resulted in 9130 tokens.",
        "This model's maximum prompt length is 131072 but the request contains 537812 tokens",
        "Please reduce the length of the messages or completion.",
        "Request too large for model `m` on tokens per minute (TPM): please reduce your message size and try again.",
        "Prompt contains 40000 tokens, too large for model with 32768 maximum context length",
        "request (13392 tokens) exceeds the available context size (8192 tokens), try increasing it",
        "The input (9000 tokens) is longer than the model's context length (8192 tokens).",
        "prompt too long; exceeded max context length by 12 tokens",
        "The input token count (1196265) exceeds the maximum number of tokens allowed (1048575)",
        "Your request exceeded model token limit: 262144 (requested: 300000)",
    ],
)
def test_a_prompt_that_is_too_long_is_known_by_every_servers_words(message: str) -> None:
    for told in ({"message": message, "type": "invalid_request_error"}, message):
        error = reported("xai", told, 400)
        assert (error.code, error.retryable) == ("context_full", False)


@pytest.mark.parametrize("message", ["max_tokens is too large: 40000.", "The prompt was refused.", "No prompt given."])
def test_other_words_are_not_taken_for_a_long_prompt(message: str) -> None:
    assert reported("xai", {"message": message}, 400).code == "invalid_request"


async def test_what_the_provider_behind_a_gateway_said_is_shown_and_understood() -> None:
    raw = json.dumps({"error": {"message": "Input exceeds the context window"}})
    body = {"error": {"message": "Provider returned error", "code": 400, "metadata": {"raw": raw}}}

    caught = await refused(400, body)

    assert caught.code == "context_full"
    assert str(caught).startswith("The vendor answered: Provider returned error: ")


async def test_a_page_of_text_is_cut_short() -> None:
    assert len(str(await refused(502, "x" * 9000))) < 700


@pytest.mark.parametrize("status", [401, 403])
async def test_a_refused_key_is_named_by_its_variable_and_never_shown(status: int) -> None:
    caught = await refused(status, {"error": {"message": "Incorrect API key provided: xai-secret"}})

    assert caught.code == "auth"
    assert "XAI_API_KEY" in str(caught)
    assert "xai-secret" not in str(caught)


@pytest.mark.parametrize(
    ("headers", "message", "seconds"),
    [
        ({"retry-after": "7"}, "slow", 7.0),
        ({"retry-after-ms": "250"}, "slow", 0.25),
        ({"retry-after": "soon"}, "slow", None),
        ({}, "Please try again in 1m26.4s. Need more?", 86.4),
        ({}, "Please try again in 250ms.", 0.25),
    ],
)
async def test_the_wait_is_told_by_a_header_or_by_the_text(
    headers: dict[str, str], message: str, seconds: float | None
) -> None:
    assert (await refused(429, {"error": {"message": message}}, headers)).retry_after_s == seconds


@pytest.mark.parametrize(
    ("event", "code", "retryable"),
    [
        ({"error": {"message": "Provider disconnected", "type": "server_error", "code": 502}}, "unavailable", True),
        ({"error": {"message": "busy", "code": 503}}, "overloaded", True),
        ({"error": {"message": "slow", "code": "429"}}, "rate_limited", True),
        ({"error": {"message": "bad call", "type": "invalid_request_error", "code": "tool_use_failed"}},
         "broken_stream", True),
        ({"error": "the model has crashed"}, "unavailable", True),
        ({"error": {"message": "exceeds the available context size", "code": 400}}, "context_full", False),
        ({"object": "error", "message": "Rate limited", "type": "rate_limited", "code": "429"}, "rate_limited", True),
        ({"choices": [{"finish_reason": "error", "error": {"message": "gone", "code": 502}}]}, "unavailable", True),
        ({"choices": [{"finish_reason": "error"}]}, "unavailable", True),
        ({"choices": [{"finish_reason": "insufficient_system_resource"}]}, "overloaded", True),
    ],
)  # fmt: skip
async def test_an_error_in_mid_stream_is_told_by_its_words(event: Any, code: str, retryable: bool) -> None:
    body = f"data: {json.dumps(HI)}\n\ndata: {json.dumps(event)}\n\ndata: [DONE]\n\n"

    replayed = await replay("chat_completions", body.encode())

    assert replayed.error is not None
    assert (replayed.error.code, replayed.error.retryable) == (code, retryable)


async def test_an_error_behind_the_stop_word_counts() -> None:
    stop = {"choices": [{"index": 0, "delta": {}, "finish_reason": "stop"}]}
    error = {"error": {"message": "Provider disconnected", "code": 502}}

    replayed = await replay("chat_completions", f"data: {json.dumps(stop)}\n\ndata: {json.dumps(error)}\n\n".encode())

    assert replayed.error is not None


@pytest.mark.parametrize(
    ("body", "code"),
    [
        ({"error": {"code": 400, "message": "exceeds the available context size"}}, "context_full"),
        ({"object": "chat.completion", "choices": []}, "invalid_request"),
        ("{", "broken_stream"),
    ],
)
async def test_an_answer_that_is_no_stream_is_an_error(body: Any, code: str) -> None:
    assert (await refused(200, body)).code == code


async def test_a_server_out_of_reach_is_unavailable() -> None:
    def unreachable(request: httpx2.Request) -> httpx2.Response:
        raise httpx2.ConnectError("no route")

    caught = await failed(httpx2.MockTransport(unreachable))

    assert (caught.code, caught.retryable) == ("unavailable", True)


@pytest.mark.parametrize(
    "line", ['data: {"choices": [', "data: [1, 2]", 'data: {"choices": [{"delta": {"tool_calls": 5}}]}']
)
async def test_what_can_not_be_read_is_a_broken_stream(line: str) -> None:
    replayed = await replay("chat_completions", f"{line}\n\n".encode())

    assert replayed.error is not None
    assert (replayed.error.code, replayed.error.retryable) == ("broken_stream", True)
