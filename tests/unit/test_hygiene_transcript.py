"""The transcript as every dialect sends it: pairs, ids, who speaks first and last; and answers with gaps in them."""

import importlib
import json
import re
from pathlib import Path
from typing import Any

import pytest
from drafthand.model import ModelSpec, TurnSettings
from drafthand.replay import read, replay
from drafthand.transcript import Message, Opaque, Part, Text, Thinking, ToolCall, ToolResult
from drafthand.vendors import DIALECTS
from drafthand.vendors.hygiene import count
from drafthand.vendors.pairing import BEGINNING, GO_ON, NO_RESULT, answered

by_dialect = pytest.mark.parametrize("dialect", DIALECTS)


def user(*texts: str) -> Message:
    return Message(role="user", parts=tuple(Text(text=text) for text in texts))


def said(*parts: Part) -> Message:
    return Message(role="assistant", parts=parts, model="m")


def call(name: str = "call_1", value: dict[str, Any] | None = None, raw: str = "") -> ToolCall:
    return ToolCall(id=name, name="t", input={} if value is None else value, raw=raw)


def result(name: str = "call_1", text: str = "ok") -> Message:
    return Message(role="tool", parts=(ToolResult(call_id=name, ok=True, text=text),))


def told(*transcript: Message) -> list[str]:
    """Who says what, in the order in which it is sent."""
    lines = []
    for message in answered(transcript):
        for part in message.parts:
            match part:
                case Text(text=text):
                    lines.append(f"{message.role}: {text}")
                case ToolCall(id=name):
                    lines.append(f"call {name}")
                case ToolResult(call_id=name, text=text):
                    lines.append(f"{name}: {text}")
    return lines


CALL = ["user: q", "call call_1"]


@pytest.mark.parametrize(
    ("transcript", "sent"),
    [
        ([user("q"), said(call()), result()], [*CALL, "call_1: ok"]),
        ([user("q"), said(call())], [*CALL, f"call_1: {NO_RESULT}"]),
        ([user("q"), said(call()), user("x"), result()], [*CALL, "call_1: ok", "user: x"]),
        ([user("q"), said(call()), result(), result(text="late")], [*CALL, "call_1: ok"]),
        ([user("q"), result("unknown")], ["user: q"]),
        ([result(), user("q"), said(call())], [*CALL, f"call_1: {NO_RESULT}"]),
        (
            [user("q"), said(call("a"), call("b")), result("b", "2"), result("a", "1")],
            ["user: q", "call a", "call b", "a: 1", "b: 2"],
        ),
        ([said(Text(text="hello")), user("q")], [f"user: {BEGINNING}", "assistant: hello", "user: q"]),
        ([user(" "), said(Text(text="hello")), user("q")], [f"user: {BEGINNING}", "assistant: hello", "user: q"]),
        ([user("q"), said(Text(text="a"))], ["user: q", "assistant: a", f"user: {GO_ON}"]),
        ([], []),
    ],
)
def test_a_transcript_is_sent_in_pairs_and_a_person_speaks_first_and_last(
    transcript: list[Message], sent: list[str]
) -> None:
    assert told(*transcript) == sent


def test_ids_are_made_valid_and_no_two_calls_share_one() -> None:
    names = ["call_1", "call_1", "a:b c", "c" * 70, "", "ü"]
    transcript = [user("q"), *(message for name in names for message in (said(call(name)), result(name, name)))]

    lines = told(*transcript)[1:]

    sent = [line.removeprefix("call ") for line in lines[::2]]
    assert sent[0] == "call_1"
    assert len(set(sent)) == len(names)
    assert all(re.fullmatch(r"[a-zA-Z0-9_-]{1,64}", name) for name in sent)
    assert lines[1::2] == [f"{name}: {text}" for name, text in zip(sent, names, strict=True)]
    assert told(*transcript[:5])[1:] == lines[:4], "an id depends on nothing that follows"


def spec_of(dialect: str) -> ModelSpec:
    return ModelSpec(id="m", label="m", vendor="v", dialect=dialect)


def request(dialect: str, *transcript: Message) -> dict[str, Any]:
    module = importlib.import_module(f"drafthand.vendors.{dialect}_request")
    built: dict[str, Any] = module.build_request(transcript, (), TurnSettings(spec_of(dialect), "system", 1000))
    return built


@by_dialect
def test_what_json_can_not_say_never_goes_out(dialect: str) -> None:
    sent = json.dumps(
        request(dialect, user("q"), said(call(value={"a": float("nan")}, raw='{"a":NaN}')), result()), default=str
    )

    assert "NaN" not in sent


def thought(kind: str = "thinking") -> Thinking:
    return Thinking(text="h", opaque=Opaque(vendor="v", model="m", kind=kind, data="SIG"))


@pytest.mark.parametrize("kind", ["thinking", "redacted_thinking"])
@pytest.mark.parametrize("rest", [(), (Text(text=" "),)])
def test_claude_gets_no_thinking_that_led_to_nothing(kind: str, rest: tuple[Text, ...]) -> None:
    alone = request("anthropic_messages", user("q"), said(thought(kind), *rest), user("z"))["messages"]
    last = request("anthropic_messages", user("q"), said(Text(text="a"), thought(kind), *rest))["messages"]

    assert [(message["role"], len(message["content"])) for message in alone] == [("user", 2)]
    assert [block["type"] for block in last[1]["content"]] == ["text"]
    assert [message["content"][-1].get("cache_control") is not None for message in last] == [False, False, True]


# -- answers with gaps ------------------------------------------------------------------------------------------------


def sse(*events: dict[str, Any]) -> bytes:
    return "".join(f"event: {event['type']}\ndata: {json.dumps(event)}\n\n" for event in events).encode()


@pytest.mark.parametrize(
    ("usage", "number"), [({"n": "12"}, 12), ({"n": 12.0}, 12), ({"n": -1}, 0), ({"n": None}, 0), ({}, 0), (None, 0)]
)
@pytest.mark.parametrize("odd", ["x", [], {}, float("nan")])
def test_a_count_is_a_number_and_never_negative(usage: Any, number: int, odd: Any) -> None:
    assert count(usage, "n") == number
    assert count({"n": odd}, "n") == 0


USAGES: list[dict[str, Any]] = [
    {"in": 10, "out": 20, "thought": 50, "cached": 40},
    {"in": "10", "out": "20", "thought": None, "cached": "4"},
    {"in": -1, "out": None, "thought": -5, "cached": {}},
    {},
]


def with_usage(dialect: str, told: dict[str, Any]) -> bytes:
    came, went, thought, cached = (told.get(name) for name in ("in", "out", "thought", "cached"))
    match dialect:
        case "anthropic_messages":
            usage = {"input_tokens": came, "output_tokens": went, "output_tokens_details": {"thinking_tokens": thought}}
            return sse(
                {"type": "message_start", "message": {"usage": usage}},
                {"type": "content_block_start", "index": 0, "content_block": {"type": "text", "text": "x"}},
                {"type": "message_delta", "delta": {"stop_reason": "end_turn"}, "usage": usage},
                {"type": "message_stop"},
            )
        case "openai_responses":
            details = {"output_tokens_details": {"reasoning_tokens": thought}}
            usage = {"input_tokens": came, "output_tokens": went, "input_tokens_details": {"cached_tokens": cached}}
            delta = {"type": "response.output_text.delta", "output_index": 0, "delta": "x"}
            return sse(delta, {"type": "response.completed", "response": {"usage": usage | details}})
        case "chat_completions":
            usage = {
                "prompt_tokens": came,
                "completion_tokens": went,
                "prompt_tokens_details": {"cached_tokens": cached},
            }
            usage["completion_tokens_details"] = {"reasoning_tokens": thought}
            event = {"choices": [{"index": 0, "delta": {"content": "x"}, "finish_reason": "stop"}], "usage": usage}
            return f"data: {json.dumps(event)}\n\ndata: [DONE]\n\n".encode()
    counts = {name: value for name, value in (("promptTokenCount", came), ("candidatesTokenCount", went)) if value}
    counts |= {"cachedContentTokenCount": cached} if isinstance(cached, int | str) else {}
    parts = [{"content": {"parts": [{"text": "x"}]}, "finishReason": "STOP"}]
    return f"data: {json.dumps({'candidates': parts, 'usageMetadata': counts})}\n\n".encode()


@by_dialect
@pytest.mark.parametrize("usage", USAGES)
async def test_no_usage_loses_an_answer_and_no_count_is_negative(dialect: str, usage: dict[str, Any]) -> None:
    replayed = await replay(dialect, with_usage(dialect, usage))

    assert replayed.error is None
    assert replayed.turn.text == "x"
    counts = replayed.turn.usage.model_dump()
    assert all(number >= 0 for number in counts.values())
    if usage.get("in") in (10, "10"):
        assert counts["input_uncached"] + counts["cache_read"] == 10
        assert counts["output"] + counts["reasoning"] == 20


ITEM = {"type": "function_call", "id": "fc", "call_id": "c1", "name": "t"}
WHOLE = ITEM | {"arguments": '{"a":1}', "status": "completed"}
SAID = {"type": "message", "role": "assistant", "content": [{"type": "output_text", "text": "hello"}]}
ADDED = {"type": "response.output_item.added", "output_index": 0}
DONE = {"type": "response.output_item.done", "output_index": 0}


@pytest.mark.parametrize(
    ("events", "output", "text", "inputs"),
    [
        ([], [WHOLE, SAID], "hello", [{"a": 1}]),
        ([{"type": "response.output_text.done", "output_index": 0, "text": "hello"}], [SAID], "hello", []),
        (
            [
                ADDED | {"item": ITEM | {"arguments": ""}},
                {"type": "response.function_call_arguments.done", "output_index": 0, "arguments": '{"a":1}'},
            ],
            [],
            "",
            [{"a": 1}],
        ),
        ([ADDED | {"item": WHOLE}, DONE | {"item": ITEM | {"arguments": ""}}], [], "", [{"a": 1}]),
        ([DONE | {"item": WHOLE}, DONE | {"item": WHOLE}], [WHOLE], "", [{"a": 1}]),
    ],
)
async def test_what_stands_in_one_place_only_is_used_once(
    events: list[dict[str, Any]], output: list[dict[str, Any]], text: str, inputs: list[dict[str, Any]]
) -> None:
    ended = {"type": "response.completed", "response": {"status": "completed", "output": output}}

    replayed = await replay("openai_responses", sse(*events, ended))

    assert replayed.turn.text == text
    assert [call.input for call in replayed.turn.tool_calls] == inputs
    pieces = [chunk.content for chunk in replayed.chunks if chunk.type == "ToolInputDelta"]
    assert "".join(pieces) == "".join(call.raw for call in replayed.turn.tool_calls)


async def test_an_input_that_came_with_the_start_of_its_block_is_used() -> None:
    block = {"type": "tool_use", "id": "toolu_1", "name": "t", "input": {"code": "x"}}

    replayed = await replay(
        "anthropic_messages",
        sse(
            {"type": "message_start", "message": {"usage": {}}},
            {"type": "content_block_start", "index": 0, "content_block": block},
            {"type": "content_block_stop", "index": 0},
            {"type": "message_delta", "delta": {"stop_reason": "tool_use"}, "usage": {}},
            {"type": "message_stop"},
        ),
    )

    assert [call.input for call in replayed.turn.tool_calls] == [{"code": "x"}]
    assert "".join(chunk.content for chunk in replayed.chunks) == '{"code": "x"}'


@pytest.mark.parametrize(
    "choice",
    [
        {"delta": {"function_call": {"name": "t", "arguments": '{"a":1}'}}, "finish_reason": "function_call"},
        {
            "message": {"tool_calls": [{"id": "c", "function": {"name": "t", "arguments": '{"a":1}'}}]},
            "finish_reason": "tool_calls",
        },
    ],
)
async def test_old_and_unstreamed_shapes_of_a_call_are_calls(choice: dict[str, Any]) -> None:
    replayed = await replay("chat_completions", f"data: {json.dumps({'choices': [choice]})}\n\n".encode())

    assert [(call.name, call.input) for call in replayed.turn.tool_calls] == [("t", {"a": 1})]


# -- what surrounds an answer -----------------------------------------------------------------------------------------


@by_dialect
async def test_a_byte_order_mark_hides_nothing(dialect: str) -> None:
    body = with_usage(dialect, {"in": 10, "out": 20})

    marked = await replay(dialect, b"\xef\xbb\xbf" + body)

    assert (marked.turn.text, marked.turn.usage) == ("x", (await replay(dialect, body)).turn.usage)
    assert marked.turn.usage.input_uncached == 10


@pytest.mark.parametrize("before", [": comment\n\n", "event: message\n", "id: 1\nretry: 5\n"])
async def test_gemini_may_come_with_all_that_events_have(before: str) -> None:
    body = before.encode() + with_usage("gemini", {}).replace(b"data: ", b"data:") + b"data: [DONE]\n\n"

    assert (await replay("gemini", body)).turn.text == "x"


@pytest.mark.parametrize(
    ("record", "wrong"),
    [({"body": None}, "body"), ({"body": "", "status": "200"}, "status"), ({"body": "", "model": 5}, "model")],
)
def test_a_recording_that_is_none_says_what_is_wrong(tmp_path: Path, record: dict[str, Any], wrong: str) -> None:
    path = tmp_path / "recording.json"
    path.write_text(json.dumps(record))

    with pytest.raises(ValueError, match=wrong):
        read(path)
