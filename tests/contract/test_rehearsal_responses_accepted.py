"""What the strict Responses dialect accepts, and how a test mutates a request that it does."""

from __future__ import annotations

import json
from typing import Any

import httpx2
import pytest

from local.rehearsal.responses_reasoning import encrypt
from local.rehearsal.server import create_app
from tests.contract.test_rehearsal_accepted import Body, Change, drop, each, picture, put

APP = create_app()
PLACE = f"7{'a' * 47}"
"""The common part of the ids of an answer that began with reasoning."""
THOUGHT = {"type": "reasoning", "id": f"rs_{PLACE}", "summary": [], "encrypted_content": encrypt(f"rs_{PLACE}")}
SCHEMA = {"type": "object", "properties": {"a": {"type": "string"}}}


def call(identifier: str, name: str = "look", **more: Any) -> Body:
    return {"type": "function_call", "call_id": identifier, "name": name, "arguments": '{"a":1}', **more}


def output(identifier: str, **more: Any) -> Body:
    return {"type": "function_call_output", "call_id": identifier, "output": "", **more}


def image(data: str, media_type: str = "image/png") -> Body:
    return {"type": "input_image", "image_url": f"data:{media_type};base64,{data}", "detail": "auto"}


def valid() -> Body:
    """Two calls in one run, reasoning, phases, a picture in an output: all that the product sends, and ids besides."""
    seen = [{"type": "input_text", "text": "Seen."}, image(picture())]
    said = {"role": "assistant", "content": "I look.", "phase": "commentary"}
    return {
        "model": "rehearsal",
        "instructions": "You work in a model.",
        "max_output_tokens": 4_000,
        "stream": True,
        "stream_options": {"include_obfuscation": False},
        "store": False,
        "include": ["reasoning.encrypted_content"],
        "reasoning": {"effort": "high", "summary": "auto"},
        "parallel_tool_calls": False,
        "prompt_cache_key": "drafthand-0",
        "tools": [
            {"type": "function", "name": "look", "description": "Look.", "parameters": dict(SCHEMA), "strict": False},
            {"type": "function", "name": "draw", "parameters": {"type": "object"}, "strict": False},
        ],
        "input": [
            {"role": "user", "content": [{"type": "input_text", "text": "Draw the doors."}]},
            said,
            call("t_1"),
            dict(THOUGHT),
            call("t_2", "a_tool_that_is_gone", id=f"fc_{PLACE}"),
            output("t_1"),
            output("t_2", output=seen),
            {"role": "user", "content": "Go on."},
        ],
    }


def mutated(change: Change) -> bytes:
    body = valid()
    change(body)
    return json.dumps(body).encode()


async def post(content: bytes, headers: Body | None = None) -> httpx2.Response:
    wanted = {"authorization": "Bearer any"} if headers is None else headers
    async with httpx2.AsyncClient(transport=httpx2.ASGITransport(app=APP), base_url="http://rehearsal") as client:
        return await client.post("/v1/responses", content=content, headers=wanted)


def row(name: str, change: Change, message: str, code: str | None, param: str | None, status: int = 400) -> Any:
    """A mutation and the beginning of the vendor's answer to it."""
    return pytest.param(change, message, code, param, status, id=name)


async def check_row(change: Change, message: str, code: str | None, param: str | None, status: int) -> None:
    answer = await post(mutated(change))

    error = answer.json()["error"]
    assert (answer.status_code, error["message"][: len(message)]) == (status, message)
    assert (error["code"], error["param"], error["type"]) == (code, param, "invalid_request_error")
    assert answer.headers["x-request-id"].startswith("req_")


def missing(at: str) -> tuple[str, str, str]:
    return f"Missing required parameter: '{at}'.", "missing_required_parameter", at


@pytest.mark.parametrize(
    "change",
    [
        pytest.param(lambda body: body, id="everything the product sends"),
        pytest.param(put("input", "Draw the doors."), id="input as text"),
        pytest.param(each(drop("input.3.id"), drop("input.4.id")), id="no ids"),
        pytest.param(drop("input.3.id"), id="an id whose reasoning has none"),
        pytest.param(lambda body: body["input"].insert(3, THOUGHT | {"id": None}), id="reasoning twice in a row"),
        pytest.param(each(drop("input.3"), drop("input.3.id")), id="a call alone"),
        pytest.param(each(drop("tools"), put("reasoning", {"effort": "none"})), id="no tools, calls in history"),
        pytest.param(put("input.+", {"role": "assistant", "content": "The"}), id="assistant last"),
        pytest.param(put("input.7.content", [image(picture())]), id="picture alone"),
        pytest.param(drop("tools.0.strict"), id="strict left out"),
        pytest.param(put("input.0.role", "developer"), id="no user but the last"),
    ],
)
async def test_what_the_vendor_takes_is_taken(change: Change):
    answer = await post(mutated(change))

    assert answer.status_code == 200, answer.text
    assert "event: response.completed" in answer.text


@pytest.mark.parametrize("headers", [{}, {"authorization": "Bearer "}, {"x-api-key": "any"}])
async def test_a_missing_key_is_named(headers: Body):
    answer = await post(json.dumps(valid()).encode(), headers)

    assert answer.status_code == 401
    assert answer.json()["error"]["message"] == "Missing bearer or basic authentication in header"


async def test_what_is_no_json_object_is_refused():
    broken, listed = await post(b'{"model": '), await post(b"[]")

    assert broken.json()["error"]["message"].startswith("We could not parse the JSON body of your request.")
    assert (listed.status_code, listed.json()["error"]["code"]) == (400, "invalid_type")
