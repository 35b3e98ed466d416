"""The shape of a request to the strict Responses dialect: one wrong field each, the vendor's own answer."""

from __future__ import annotations

import pytest

from tests.contract.test_rehearsal_accepted import Change, drop, put
from tests.contract.test_rehearsal_responses_accepted import check_row, missing, row


def unknown(at: str) -> tuple[str, str, str]:
    return f"Unknown parameter: '{at}'.", "unknown_parameter", at


def empty(at: str, kind: str) -> tuple[str, str, str]:
    told = f"empty {kind}. Expected {'an array' if kind == 'array' else 'a string'} with minimum length 1"
    return f"Invalid '{at}': {told}", f"empty_{kind}", at


def mistyped(at: str, expected: str, found: str) -> tuple[str, str, str]:
    return f"Invalid type for '{at}': expected {expected}, but got {found} instead.", "invalid_type", at


TABLE = [
    row("no model", drop("model"), *missing("model")),
    row("no input", drop("input"), *missing("input")),
    row("empty input", put("input", []), *empty("input", "array")),
    row("unknown field", put("max_tokens", 1), *unknown("max_tokens")),
    row("unknown field of an item", put("input.2.thought_signature", "x"), *unknown("input[2].thought_signature")),
    row("unknown field of a part", put("input.0.content.0.cache", 1), *unknown("input[0].content[0].cache")),
    row("unknown field of a tool", put("tools.0.eager", True), *unknown("tools[0].eager")),
    row("text for a number", put("max_output_tokens", "x"), *mistyped("max_output_tokens", "an integer", "a string")),
    row("number for text", put("instructions", 1), *mistyped("instructions", "a string", "an integer")),
    row("no list", put("tools", {}), *mistyped("tools", "an array", "an object")),
    row(
        "no content",
        put("input.0.content", None),
        *mistyped("input[0].content", "one of an array of objects or string", "null"),
    ),
    row("no item", put("input.0", "hi"), *mistyped("input[0]", "an object", "a string")),
    row("item without type", drop("input.2.type"), *missing("input[2].type")),
    row("call without id", drop("input.2.call_id"), *missing("input[2].call_id")),
    row("output without output", drop("input.5.output"), *missing("input[5].output")),
    row("reasoning without summary", drop("input.3.summary"), *missing("input[3].summary")),
    row("empty text", put("input.7.content", ""), *empty("input[7].content[0].text", "string")),
    row("empty message", put("input.7.content", []), *empty("input[7].content", "array")),
    row("empty answer", put("input.1.content", ""), *empty("input[1].content[0].text", "string")),
    row("empty call id", put("input.2.call_id", ""), *empty("input[2].call_id", "string")),
    row(
        "long call id",
        put("input.2.call_id", "x" * 69),
        "Invalid 'input[2].call_id': string too long. Expected a string with maximum length 64, but got a string with "
        "length 69 instead.",
        "string_above_max_length",
        "input[2].call_id",
    ),
    row(
        "illegal name",
        put("input.2.name", "functions.look"),
        "Invalid 'input[2].name': string does not match pattern. Expected a string that matches the pattern "
        "'^[a-zA-Z0-9_-]+$'.",
        "invalid_value",
        "input[2].name",
    ),
    row(
        "little room",
        put("max_output_tokens", 10),
        "Invalid 'max_output_tokens': integer below minimum value. Expected a value >= 16, but got 10 instead.",
        "integer_below_min_value",
        "max_output_tokens",
    ),
    row(
        "part of another API",
        put("input.0.content.0.type", "text"),
        "Invalid value: 'text'. Supported values are: 'input_text' and 'input_image'.",
        "invalid_value",
        "input[0].content[0].type",
    ),
    row(
        "input of the assistant",
        put("input.1.content", [{"type": "input_text", "text": "x"}]),
        "Invalid value: 'input_text'. Supported values are: 'output_text' and 'refusal'.",
        "invalid_value",
        "input[1].content[0].type",
    ),
    row(
        "unknown item",
        put("input.2.type", "tool_use"),
        "Invalid value: 'tool_use'. Supported values are: 'message', 'function_call', 'function_call_output', "
        "'reasoning', and 'compaction'.",
        "invalid_value",
        "input[2].type",
    ),
    row(
        "tool role",
        put("input.7.role", "tool"),
        "Invalid value: 'tool'. Supported values are: 'user', 'system', and 'developer'.",
        "invalid_value",
        "input[7].role",
    ),
    row(
        "unknown effort",
        put("reasoning.effort", "huge"),
        "Invalid value: 'huge'. Supported values are: 'none', 'minimal', 'low', ",
        "invalid_value",
        "reasoning.effort",
    ),
    row(
        "unknown phase",
        put("input.1.phase", "final"),
        "Invalid value: 'final'. Supported values are: 'commentary' and 'final_answer'.",
        "invalid_value",
        "input[1].phase",
    ),
]


@pytest.mark.parametrize(("change", "message", "code", "param", "status"), TABLE)
async def test_a_wrong_field_gets_the_vendors_answer(
    change: Change, message: str, code: str | None, param: str | None, status: int
):
    await check_row(change, message, code, param, status)
