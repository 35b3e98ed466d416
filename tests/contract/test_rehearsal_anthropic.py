"""The rehearsal server over real sockets, with the vendor's own SDK as its client."""

from __future__ import annotations

import asyncio
import contextlib
import json
import re
import signal
import socket
import sys
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import anthropic
import httpx2
import pytest
import uvicorn
from starlette.applications import Starlette

from local.rehearsal.server import create_app
from tests.paths import ROOT, shared

ASK = {"role": "user", "content": "Renumber every door on level 2"}
TOOLS = [
    {
        "name": name,
        "description": "A tool.",
        "input_schema": {"type": "object", "properties": {}},
        "eager_input_streaming": True,
    }
    for name in ("execute_data_collection", "execute_task_automation", "capture_view")
]
RESULTS = [
    "outcome: rolled_back\nstdout:\nto renumber: 8 doors",
    "outcome: failed\nerror: TypeError: edit_attributes() got an unexpected keyword argument 'attribute' (line 31)\n"
    "nothing was changed\nstdout: (empty)",
    'outcome: committed\nstdout: (empty)\nchanged: 8 modified, 0 added, 0 deleted\n- modified IfcDoor #1 "D" tag 2-01',
]


@contextlib.asynccontextmanager
async def running(app: Starlette) -> AsyncIterator[str]:
    """The app under uvicorn; its address. The socket listens before the server runs, so no client comes too early."""
    with socket.create_server(("127.0.0.1", 0)) as listening:
        server = uvicorn.Server(uvicorn.Config(app, log_level="warning", lifespan="off"))
        serving = asyncio.create_task(server.serve(sockets=[listening]))
        try:
            yield f"http://127.0.0.1:{listening.getsockname()[1]}"
        finally:
            server.should_exit = True
            await serving


@contextlib.asynccontextmanager
async def client_of(app: Starlette) -> AsyncIterator[anthropic.AsyncAnthropic]:
    async with (
        running(app) as url,
        anthropic.AsyncAnthropic(base_url=url, api_key="rehearsal", max_retries=0) as client,
    ):
        yield client


def request(*messages: dict[str, Any], **changes: Any) -> dict[str, Any]:
    return {
        "model": "rehearsal",
        "max_tokens": 8_000,
        "system": [{"type": "text", "text": "You work in a model. " * 300, "cache_control": {"type": "ephemeral"}}],
        "tools": TOOLS,
        "tool_choice": {"type": "auto", "disable_parallel_tool_use": True},
        "thinking": {"type": "adaptive", "display": "summarized"},
        "messages": list(messages),
    } | changes


async def events_of(client: anthropic.AsyncAnthropic, *messages: dict[str, Any], **changes: Any) -> list[Any]:
    stream = await client.messages.create(**request(*messages, **changes), stream=True)
    return [event async for event in stream]


def content_of(events: list[Any]) -> list[dict[str, Any]]:
    """The assistant's blocks as a client sends them back: verbatim."""
    blocks: list[dict[str, Any]] = []
    for event in events:
        if event.type == "content_block_start":
            blocks.append(event.content_block.model_dump(exclude_none=True) | {"raw": ""})
        elif event.type == "content_block_delta":
            delta = event.delta.model_dump()
            field = {"input_json_delta": "raw", "text_delta": "text", "thinking_delta": "thinking"}.get(
                delta["type"], "signature"
            )
            blocks[-1][field] += delta["partial_json" if field == "raw" else field]
    for block in blocks:
        raw = block.pop("raw")
        if block["type"] == "tool_use":
            block["input"] = json.loads(raw)
    return blocks


def answered(events: list[Any], text: str) -> list[dict[str, Any]]:
    """The assistant's turn and the result of its call."""
    content = content_of(events)
    result = {"type": "tool_result", "tool_use_id": content[-1]["id"], "is_error": False, "content": text}
    return [{"role": "assistant", "content": content}, {"role": "user", "content": [result]}]


async def rehearse(client: anthropic.AsyncAnthropic) -> tuple[list[list[Any]], list[dict[str, Any]]]:
    """A whole run with hand-made results: the events of each turn, and the last request's messages."""
    messages, turns = [ASK], []
    for text in [*RESULTS, None]:
        turns.append(await events_of(client, *messages))
        if text is not None:
            messages += answered(turns[-1], text)
    return turns, messages


async def test_a_run_streams_from_the_first_look_to_the_summary():
    async with client_of(create_app()) as client:
        turns, _ = await rehearse(client)

    stops = [turn[-2].delta.stop_reason for turn in turns]
    assert stops == ["tool_use", "tool_use", "tool_use", "end_turn"]
    assert [turn[-1].type for turn in turns] == ["message_stop"] * 4
    names = [block["name"] for turn in turns for block in content_of(turn) if block["type"] == "tool_use"]
    assert names == ["execute_data_collection", "execute_task_automation", "execute_task_automation"]
    first, last = content_of(turns[0]), content_of(turns[3])
    assert first[1]["text"].startswith("[Rehearsal, no language model]")
    assert "the report counts 8 modified elements" in last[-1]["text"]
    assert len([event for event in turns[1] if event.type == "content_block_delta"]) > 100


async def test_usage_is_told_twice_and_the_second_request_reads_the_cache():
    async with client_of(create_app()) as client:
        turns, _ = await rehearse(client)

    first, second = turns[0][0].message.usage, turns[1][0].message.usage
    assert first.cache_read_input_tokens == 0
    assert first.cache_creation_input_tokens > 1_500
    assert second.cache_read_input_tokens == first.cache_creation_input_tokens
    ended = turns[0][-2].usage
    assert ended.input_tokens == first.input_tokens
    assert ended.output_tokens > ended.output_tokens_details.thinking_tokens > 20


async def test_a_second_run_of_the_same_session_starts_anew():
    async with client_of(create_app()) as client:
        turns, messages = await rehearse(client)
        summary = {"role": "assistant", "content": content_of(turns[-1])}
        again = {"role": "user", "content": "Now renumber all doors on level 1"}

        events = await events_of(client, *messages, summary, again)

    content = content_of(events)
    assert content[1]["text"].startswith(
        "[Rehearsal, no language model] I look at the storeys and at the doors of Level 1"
    )
    assert 'LEVEL = "Level 1"' in content[2]["input"]["code"]


async def test_what_the_server_wrote_is_refused_once_anything_before_it_was_edited():
    async with client_of(create_app()) as client:
        _, messages = await rehearse(client)
        edited = json.loads(json.dumps(messages))
        edited[2]["content"][0]["content"] = "to renumber: 9 doors"

        with pytest.raises(anthropic.BadRequestError, match=r"messages\.3\.content\.0: Invalid `signature`"):
            await events_of(client, *edited)


async def test_cache_marks_and_callers_may_move_without_harm():
    async with client_of(create_app()) as client:
        _, messages = await rehearse(client)
        moved = json.loads(json.dumps(messages))
        moved[1]["content"][-1].pop("caller")
        moved[2]["content"][0]["cache_control"] = {"type": "ephemeral"}

        assert (await events_of(client, *moved))[-1].type == "message_stop"


async def test_thinking_of_another_model_is_refused():
    async with client_of(create_app()) as client:
        first = await events_of(client, ASK)
        messages = answered(first, RESULTS[0])
        messages[0]["content"][0]["signature"] = "c2lnbmVkIGJ5IGFub3RoZXIgbW9kZWw="

        with pytest.raises(anthropic.BadRequestError) as caught:
            await events_of(client, ASK, *messages)

    assert caught.value.body["error"] == {
        "type": "invalid_request_error",
        "message": "messages.1.content.0: Invalid `signature` in `thinking` block",
    }
    assert caught.value.body["request_id"].startswith("req_")


async def test_a_request_without_stream_is_answered_whole():
    async with client_of(create_app()) as client:
        message = await client.messages.create(**request(ASK))

    assert [block.type for block in message.content] == ["thinking", "text", "tool_use"]
    assert "by_type" in message.content[2].input["code"]
    assert message.usage.output_tokens > 100


async def test_an_overload_in_mid_stream_reaches_the_client_as_an_error_event():
    async with client_of(create_app(faults=["overloaded_mid_stream"])) as client:
        with pytest.raises(anthropic.APIStatusError) as caught:
            await events_of(client, ASK)
        healthy = await events_of(client, ASK)

    assert caught.value.type == "overloaded_error"
    assert caught.value.status_code == 200, "the stream had begun"
    assert healthy[-1].type == "message_stop"


async def test_a_cut_stream_ends_without_its_terminal_events():
    async with client_of(create_app(faults=["cut_without_stop"])) as client:
        events = await events_of(client, ASK)

    assert events[-1].type == "content_block_stop"
    assert content_of(events)[-1]["type"] == "tool_use"


@pytest.mark.parametrize(
    ("fault", "error", "status", "retry_after"),
    [("http_529", anthropic.InternalServerError, 529, None), ("http_429", anthropic.RateLimitError, 429, "1")],
)
async def test_an_http_fault_answers_one_request_only(fault: str, error: Any, status: int, retry_after: str | None):
    async with client_of(create_app(faults=[fault])) as client:
        with pytest.raises(error) as caught:
            await events_of(client, ASK)
        healthy = await events_of(client, ASK)

    assert caught.value.status_code == status
    assert caught.value.response.headers.get("retry-after") == retry_after
    assert healthy[-1].type == "message_stop"


async def test_faults_are_used_up_in_their_order_and_the_sdks_own_retries_count():
    async with running(create_app(faults=["http_529", "http_429"])) as url:
        client = anthropic.AsyncAnthropic(base_url=url, api_key="rehearsal", max_retries=1)
        with pytest.raises(anthropic.RateLimitError):
            await events_of(client, ASK)


def test_an_unknown_fault_is_refused_at_once():
    with pytest.raises(ValueError, match="no fault is named 'stall'"):
        create_app(faults=["stall"])


async def test_the_root_and_every_answer_say_what_this_is():
    async with running(create_app()) as url, httpx2.AsyncClient(base_url=url) as client:
        sign, missing = await client.get("/"), await client.post("/v1/nothing", json={})

    assert "It is no language model" in sign.text
    assert "- Renumber every door on level 2" in sign.text
    assert sign.headers["x-rehearsal"] == missing.headers["x-rehearsal"] == "no language model; plays a script"
    assert missing.status_code == 404
    assert missing.json()["error"]["type"] == "not_found_error"


async def test_each_event_is_a_write_of_its_own():
    body = json.dumps(request(ASK, stream=True)).encode()
    headers = {"x-api-key": "rehearsal", "anthropic-version": "2026-10-21"}
    scope = {"type": "http", "method": "POST", "path": "/v1/messages", "query_string": b""}
    scope["headers"] = [(name.encode(), value.encode()) for name, value in headers.items()]
    sent: list[bytes] = []

    async def receive() -> dict[str, Any]:
        return {"type": "http.request", "body": body, "more_body": False}

    async def send(message: dict[str, Any]) -> None:
        sent.append(message.get("body", b""))

    await create_app()(scope | {"asgi": {"spec_version": "2.4"}}, receive, send)

    assert len([write for write in sent if write]) > 50
    assert all(write.count(b"\n\n") == 1 and write.endswith(b"\n\n") for write in sent if write)


def shape(body: str) -> list[tuple[str, tuple[str, ...]]]:
    """Names of the events of a stream with the keys of what they carry; neighbours that are alike once."""
    found: list[tuple[str, tuple[str, ...]]] = []
    for name, data in re.findall(r"^event: (\w+)\ndata: (.*)$", body, re.MULTILINE):
        event = json.loads(data)
        inner = event.get("content_block") or event.get("delta") or event.get("message") or {}
        each = (f"{name} {inner.get('type', '')}", tuple(inner))
        if not found or found[-1] != each:
            found.append(each)
    return found


async def test_the_stream_has_the_shape_of_a_recorded_one():
    recorded = json.loads(shared("corpus", "anthropic_messages", "035.json").read_text())["body"]
    headers = {"x-api-key": "rehearsal", "anthropic-version": "2026-10-21"}

    async with running(create_app()) as url, httpx2.AsyncClient(base_url=url, headers=headers) as client:
        ours = (await client.post("/v1/messages", json=request(ASK, stream=True))).text

    without_text = [each for each in shape(ours) if each[0].split()[-1] not in ("text", "text_delta")]
    theirs = shape(recorded)
    assert [each for each in theirs if each not in without_text] == []
    order = [each[0] for each in without_text]
    assert [name for name in order if name in {each[0] for each in theirs}] == order


async def test_the_command_serves_until_it_is_stopped():
    with socket.create_server(("127.0.0.1", 0)) as probe:
        port = probe.getsockname()[1]
    command = [sys.executable, "-m", "local.rehearsal", "--port", str(port), "--tokens-per-second", "5000"]
    process = await asyncio.create_subprocess_exec(*command, cwd=ROOT)
    try:
        async with httpx2.AsyncClient(transport=httpx2.AsyncHTTPTransport(retries=8)) as client:
            sign = await client.get(f"http://127.0.0.1:{port}/")
    finally:
        process.terminate()
        code = await process.wait()

    assert "Model id: rehearsal" in sign.text
    assert code in (0, -signal.SIGTERM)


async def test_the_command_names_what_is_wrong_with_a_script(tmp_path: Path):
    (tmp_path / "a.yaml").write_text("name: a\ntitle: A\nturns: []\n")
    command = [sys.executable, "-m", "local.rehearsal", "--port", "1", "--scripts", str(tmp_path)]

    process = await asyncio.create_subprocess_exec(*command, cwd=ROOT, stderr=asyncio.subprocess.PIPE)
    _, error = await process.communicate()

    assert process.returncode == 2
    assert "a.yaml: turns: Tuple should have at least 1 item" in error.decode()
