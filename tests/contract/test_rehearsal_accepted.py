"""What the strict Anthropic dialect accepts, and how a test mutates a request that it does."""

from __future__ import annotations

import base64
import io
import json
from collections.abc import Callable
from typing import Any

import httpx2
import pytest
from PIL import Image

from local.rehearsal.server import create_app

Body = dict[str, Any]
Change = Callable[[Body], object]
MARK = {"type": "ephemeral"}
APP = create_app()


def picture(form: str = "PNG", size: tuple[int, int] = (4, 4)) -> str:
    file = io.BytesIO()
    Image.new("1" if form == "PNG" else "L", size).save(file, form)
    return base64.b64encode(file.getvalue()).decode()


def image(data: str, media_type: str = "image/png") -> Body:
    return {"type": "image", "source": {"type": "base64", "media_type": media_type, "data": data}}


def text(words: str, **more: Any) -> Body:
    return {"type": "text", "text": words, **more}


def call(identifier: str, name: str = "look") -> Body:
    return {"type": "tool_use", "id": identifier, "name": name, "input": {"a": 1}}


def result(identifier: str, **more: Any) -> Body:
    return {"type": "tool_result", "tool_use_id": identifier, **more}


def valid() -> Body:
    """Two calls in one run, a picture in a result, cache marks, thinking: all that the product sends."""
    last = [result("t_2", is_error=True, content=[text("\n"), image(picture())]), text("Go on.", cache_control=MARK)]
    return {
        "model": "rehearsal",
        "max_tokens": 4_000,
        "stream": True,
        "system": [text("You work in a model.", cache_control=MARK)],
        "tools": [
            {"name": "look", "description": "Look.", "input_schema": {"type": "object", "properties": {}}},
            {"name": "draw", "input_schema": {"type": "object"}, "eager_input_streaming": True},
        ],
        "tool_choice": {"type": "auto", "disable_parallel_tool_use": True},
        "thinking": {"type": "adaptive", "display": "summarized"},
        "output_config": {"effort": "high"},
        "messages": [
            {"role": "user", "content": "Draw the doors."},
            {"role": "assistant", "content": [text("I look."), call("t_1")]},
            {"role": "user", "content": [result("t_1", content="")]},
            {"role": "assistant", "content": [call("t_2", "a_tool_that_is_gone")]},
            {"role": "user", "content": last},
        ],
    }


def _place(body: Body, steps: list[str]) -> Any:
    place: Any = body
    for step in steps:
        place = place[int(step)] if isinstance(place, list) else place[step]
    return place


def put(path: str, value: Any) -> Change:
    """Set what stands at a dotted path; numbers index lists, a `+` appends."""
    *steps, last = path.split(".")

    def change(body: Body) -> None:
        place = _place(body, steps)
        if last == "+":
            place.append(value)
        else:
            place[int(last) if isinstance(place, list) else last] = value

    return change


def drop(path: str) -> Change:
    *steps, last = path.split(".")

    def change(body: Body) -> None:
        place = _place(body, steps)
        del place[int(last) if isinstance(place, list) else last]

    return change


def each(*changes: Change) -> Change:
    return lambda body: [change(body) for change in changes]


def mutated(change: Change) -> bytes:
    body = valid()
    change(body)
    return json.dumps(body).encode()


async def post(content: bytes, headers: Body | None = None) -> httpx2.Response:
    wanted = {"x-api-key": "rehearsal", "anthropic-version": "2026-10-21"} if headers is None else headers
    async with httpx2.AsyncClient(transport=httpx2.ASGITransport(app=APP), base_url="http://rehearsal") as client:
        return await client.post("/v1/messages", content=content, headers=wanted)


def row(name: str, change: Change, message: str, status: int = 400) -> Any:
    """A mutation and the beginning of the vendor's answer to it."""
    return pytest.param(change, message, status, id=name)


async def check_row(change: Change, message: str, status: int) -> None:
    answer = await post(mutated(change))

    error = answer.json()["error"]
    assert (answer.status_code, error["message"][: len(message)]) == (status, message)
    assert error["type"] == ("not_found_error" if status == 404 else "invalid_request_error")
    assert answer.json()["type"] == "error"
    assert answer.json()["request_id"] == answer.headers["request-id"]


@pytest.mark.parametrize(
    "change",
    [
        pytest.param(lambda body: body, id="everything the product sends"),
        pytest.param(put("messages.2.content", [result("t_1")]), id="result left out"),
        pytest.param(put("messages.2.content.0.content", "\n"), id="blank result"),
        pytest.param(put("messages.0.content", [text("Draw"), text("the doors.")]), id="two texts"),
        pytest.param(put("messages.0.content", [image(picture())]), id="picture alone"),
        pytest.param(lambda body: body["messages"].insert(0, {"role": "user", "content": "Hello."}), id="user twice"),
        pytest.param(put("thinking", {"type": "disabled"}), id="thinking off"),
        pytest.param(each(drop("tools"), drop("tool_choice")), id="no tools, calls in history"),
        pytest.param(put("system", "You work in a model."), id="system as text"),
    ],
)
async def test_what_the_vendor_takes_is_taken(change: Change):
    answer = await post(mutated(change))

    assert answer.status_code == 200, answer.text
    assert "event: message_stop" in answer.text


@pytest.mark.parametrize("header", [{"x-api-key": "any"}, {"authorization": "Bearer any"}])
async def test_any_key_is_taken_in_either_header(header: Body):
    answer = await post(json.dumps(valid()).encode(), header | {"anthropic-version": "2023-06-01"})

    assert answer.status_code == 200


@pytest.mark.parametrize(
    ("headers", "status", "kind", "message"),
    [
        ({"anthropic-version": "2023-06-01"}, 401, "authentication_error", "x-api-key header is required"),
        ({"x-api-key": "k"}, 400, "invalid_request_error", "anthropic-version: header is required"),
        ({"authorization": "Bearer ", "anthropic-version": "1"}, 401, "authentication_error", "x-api-key header"),
    ],
)
async def test_a_missing_header_is_named(headers: Body, status: int, kind: str, message: str):
    answer = await post(json.dumps(valid()).encode(), headers)

    assert (answer.status_code, answer.json()["error"]["type"]) == (status, kind)
    assert answer.json()["error"]["message"].startswith(message)


async def test_what_is_no_json_object_is_refused():
    broken, listed = await post(b'{"model": '), await post(b"[]")

    assert broken.json()["error"]["message"].startswith("The request body is not valid JSON")
    assert (listed.status_code, listed.json()["error"]["type"]) == (400, "invalid_request_error")


async def test_a_body_over_the_limit_is_too_large():
    answer = await post(b" " * (32 * 1024 * 1024 + 1))

    assert (answer.status_code, answer.json()["error"]["type"]) == (413, "request_too_large")
