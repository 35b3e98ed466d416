"""What the strict chat dialect accepts, and how a test mutates a request that it does."""

from __future__ import annotations

import json
from typing import Any

import httpx2
import pytest

from local.rehearsal.server import create_app
from tests.contract.test_rehearsal_accepted import Body, Change, drop, each, picture, put

APP = create_app()


def call(identifier: str, name: str = "look", **more: Any) -> Body:
    return {"id": identifier, "type": "function", "function": {"name": name, "arguments": '{"a":1}'}, **more}


def output(identifier: str, content: Any = "Seen.") -> Body:
    return {"role": "tool", "tool_call_id": identifier, "content": content}


def image(data: str, media_type: str = "image/png") -> Body:
    return {"type": "image_url", "image_url": {"url": f"data:{media_type};base64,{data}"}}


def valid() -> Body:
    """Two calls in one turn, one in the next, a picture behind the results: all that the product sends."""
    return {
        "model": "rehearsal",
        "max_completion_tokens": 4_000,
        "stream": True,
        "stream_options": {"include_usage": True},
        "reasoning_effort": "high",
        "parallel_tool_calls": False,
        "tools": [
            {
                "type": "function",
                "function": {"name": "look", "description": "Look.", "parameters": {"type": "object"}},
            },
            {"type": "function", "function": {"name": "draw", "parameters": {"type": "object"}, "strict": False}},
        ],
        "messages": [
            {"role": "system", "content": "You work in a model."},
            {"role": "user", "content": "Draw the doors."},
            {
                "role": "assistant",
                "content": "I look.",
                "tool_calls": [call("t_1"), call("t_2", "a_tool_that_is_gone")],
            },
            output("t_2"),
            output("t_1"),
            {"role": "user", "content": [{"type": "text", "text": "This one."}, image(picture())]},
            {"role": "assistant", "content": None, "tool_calls": [call("t_3")]},
            output("t_3"),
        ],
    }


def mutated(change: Change) -> bytes:
    body = valid()
    change(body)
    return json.dumps(body).encode()


async def post(content: bytes, headers: Body | None = None) -> httpx2.Response:
    wanted = {"authorization": "Bearer any"} if headers is None else headers
    async with httpx2.AsyncClient(transport=httpx2.ASGITransport(app=APP), base_url="http://rehearsal") as client:
        return await client.post("/v1/chat/completions", content=content, headers=wanted)


def row(name: str, change: Change, message: str, code: str | None, param: str | None, status: int = 400) -> Any:
    """A mutation and the beginning of the vendor's answer to it."""
    return pytest.param(change, message, code, param, status, id=name)


def missing(at: str) -> tuple[str, str, str]:
    return f"Missing required parameter: '{at}'.", "missing_required_parameter", at


async def check_row(change: Change, message: str, code: str | None, param: str | None, status: int) -> None:
    answer = await post(mutated(change))

    error = answer.json()["error"]
    assert (answer.status_code, error["message"][: len(message)]) == (status, message)
    assert (error["code"], error["param"], error["type"]) == (code, param, "invalid_request_error")
    assert answer.headers["x-request-id"].startswith("req_")


@pytest.mark.parametrize(
    "change",
    [
        pytest.param(lambda body: body, id="everything the product sends"),
        pytest.param(drop("messages.6.content"), id="content left out beside calls"),
        pytest.param(put("messages.6.content", ""), id="empty content beside calls"),
        pytest.param(put("messages.7.content", ""), id="empty result"),
        pytest.param(put("messages.7.content", [{"type": "text", "text": "Seen."}]), id="result as a part"),
        pytest.param(put("messages.+", {"role": "assistant", "content": "The"}), id="assistant last"),
        pytest.param(put("messages.0.role", "developer"), id="developer"),
        pytest.param(put("messages.2.refusal", None), id="an answer with its refusal of none"),
        pytest.param(each(drop("tools"), drop("parallel_tool_calls")), id="no tools, calls in history"),
        pytest.param(each(drop("max_completion_tokens"), put("max_tokens", 400)), id="the older limit"),
        pytest.param(put("messages.+", {"role": "user", "content": [image(picture())]}), id="picture alone"),
        pytest.param(lambda body: body["messages"].insert(1, {"role": "user", "content": "Hi."}), id="user twice"),
        pytest.param(put("temperature", 1), id="the default temperature"),
        pytest.param(drop("stream_options"), id="no usage"),
        pytest.param(put("tool_choice", {"type": "function", "function": {"name": "look"}}), id="a chosen function"),
        pytest.param(
            each(put("messages.6.tool_calls.0.id", "x" * 40), put("messages.7.tool_call_id", "x" * 40)), id="long id"
        ),
    ],
)
async def test_what_the_vendor_takes_is_taken(change: Change):
    answer = await post(mutated(change))

    assert answer.status_code == 200, answer.text
    assert answer.text.endswith("data: [DONE]\n\n")


@pytest.mark.parametrize("headers", [{}, {"authorization": "Bearer "}, {"x-api-key": "any"}])
async def test_a_missing_key_is_named(headers: Body):
    answer = await post(json.dumps(valid()).encode(), headers)

    assert answer.status_code == 401
    assert answer.json()["error"]["message"].startswith("You didn't provide an API key.")


async def test_what_is_no_json_object_is_refused():
    broken, listed = await post(b'{"model": '), await post(b"[]")

    assert broken.json()["error"]["message"].startswith("We could not parse the JSON body of your request.")
    assert (listed.status_code, listed.json()["error"]["code"]) == (400, "invalid_type")
