"""What the strict Gemini dialect accepts, and how a test mutates a request that it does."""

from __future__ import annotations

import json
from typing import Any

import httpx2
import pytest

from local.rehearsal.gemini_signature import sign_call, sign_text
from local.rehearsal.server import create_app
from tests.contract.test_rehearsal_accepted import Body, Change, drop, picture, put

APP = create_app()
PATH = "/v1/models/rehearsal:streamGenerateContent?alt=sse"
KEY = {"x-goog-api-key": "any"}
SENTINEL = "c2tpcF90aG91Z2h0X3NpZ25hdHVyZV92YWxpZGF0b3I="


def call(identifier: str, name: str = "look", **more: Any) -> Body:
    return {"functionCall": {"id": identifier, "name": name, "args": {"a": 1}}, **more}


def pictured() -> Body:
    return {"inlineData": {"mimeType": "image/png", "data": picture()}}


def response(identifier: str, name: str = "look", **more: Any) -> Body:
    return {"functionResponse": {"id": identifier, "name": name, "response": {"output": ""}, **more}}


def valid() -> Body:
    """Two runs; in the second parallel calls, a foreign call, and a picture in a result: all that the product sends."""
    return {
        "systemInstruction": {"role": "user", "parts": [{"text": "You work in a model."}]},
        "tools": [
            {
                "functionDeclarations": [
                    {"name": "look", "description": "Look.", "parametersJsonSchema": {"type": "object"}},
                    {"name": "draw", "parameters_json_schema": {"type": "object", "additionalProperties": False}},
                ]
            }
        ],
        "generationConfig": {"maxOutputTokens": 4_000, "thinkingConfig": {"include_thoughts": True}},
        "contents": [
            {"role": "user", "parts": [{"text": "Draw the doors."}]},
            {"role": "model", "parts": [{"text": "I look."}, call("c_1")]},
            {"role": "user", "parts": [response("c_1")]},
            {"role": "model", "parts": [{"text": "Done."}, {"text": "", "thoughtSignature": sign_text("")}]},
            {"role": "user", "parts": [{"text": "Again."}, pictured()]},
            {
                "role": "model",
                "parts": [call("c_2", thoughtSignature=sign_call("look", {"a": 1})), call("c_3", "gone")],
            },
            {"role": "user", "parts": [response("c_2", parts=[pictured()]), response("c_3", "gone"), pictured()]},
            {"role": "model", "parts": [call("c_4", thoughtSignature=SENTINEL)]},
            {"role": "user", "parts": [response("c_4")]},
        ],
    }


async def post(body: Body | bytes, path: str = PATH, headers: Body | None = None) -> httpx2.Response:
    content = body if isinstance(body, bytes) else json.dumps(body).encode()
    async with httpx2.AsyncClient(transport=httpx2.ASGITransport(app=APP), base_url="http://rehearsal") as client:
        return await client.post(path, content=content, headers=KEY if headers is None else headers)


def mutated(change: Change) -> Body:
    body = valid()
    change(body)
    return body


@pytest.mark.parametrize(
    "change",
    [
        pytest.param(lambda body: body, id="everything the product sends"),
        pytest.param(drop("contents.0.role"), id="no role"),
        pytest.param(put("contents.0.parts", {"text": "Draw the doors."}), id="one part, no list"),
        pytest.param(put("contents.6.parts.+", {"text": "Go on."}), id="text after the results"),
        pytest.param(put("contents.5.parts.1.thoughtSignature", SENTINEL), id="sentinel on a sibling"),
        pytest.param(put("contents.7.parts.0.thoughtSignature", SENTINEL.rstrip("=")), id="base64 without padding"),
        pytest.param(put("generationConfig.maxOutputTokens", "4000"), id="number as text"),
        pytest.param(put("system_instruction", {"parts": [{"text": "x"}]}), id="names in snake case"),
        pytest.param(drop("tools"), id="no tools, calls in history"),
        pytest.param(drop("generationConfig"), id="no settings"),
    ],
)
async def test_what_the_vendor_takes_is_taken(change: Change):
    body = mutated(change)
    if "system_instruction" in body:
        del body["systemInstruction"]

    answer = await post(body)

    assert answer.status_code == 200, answer.text
    assert '"finishReason": "STOP"' in answer.text


@pytest.mark.parametrize(
    ("path", "headers"),
    [(PATH.replace("/v1/", "/v1beta/"), KEY), (f"{PATH}&key=any", {})],
    ids=["v1beta", "key in the query"],
)
async def test_both_versions_and_both_places_of_a_key_are_taken(path: str, headers: Body):
    assert (await post(valid(), path, headers)).status_code == 200


@pytest.mark.parametrize(
    ("path", "headers", "status", "word", "message"),
    [
        (PATH, {}, 403, "PERMISSION_DENIED", "Method doesn't allow unregistered callers"),
        (PATH.replace("rehearsal", "gemini-9"), KEY, 404, "NOT_FOUND", "models/gemini-9 is not found for API version"),
        (PATH.partition("?")[0], KEY, 400, "INVALID_ARGUMENT", "The rehearsal answers in server-sent events only"),
    ],
)
async def test_what_is_wrong_outside_the_body_is_told_first(
    path: str, headers: Body, status: int, word: str, message: str
):
    answer = await post(b"{", path, headers)

    error = answer.json()["error"]
    assert (answer.status_code, error["code"], error["status"]) == (status, status, word)
    assert error["message"].startswith(message)


async def test_what_is_no_json_object_is_refused():
    broken, listed = await post(b'{"contents": '), await post(b"[]")

    assert broken.json()["error"]["message"].startswith("Invalid JSON payload received.")
    assert (listed.status_code, listed.json()["error"]["status"]) == (400, "INVALID_ARGUMENT")


async def test_a_body_over_the_limit_is_too_large():
    answer = await post(b" " * (20 * 1024 * 1024 + 1))

    assert answer.json()["error"]["message"] == "Request payload size exceeds the limit: 20971520 bytes."
