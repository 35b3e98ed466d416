"""The shape of a request to the strict chat dialect: one wrong field each, the vendor's own answer."""

from __future__ import annotations

import pytest

from tests.contract.test_rehearsal_accepted import Change, drop, put
from tests.contract.test_rehearsal_chat_accepted import check_row, missing, row


def unknown(at: str) -> tuple[str, str, str]:
    return f"Unknown parameter: '{at}'.", "unknown_parameter", at


def empty(at: str, kind: str = "array") -> tuple[str, str, str]:
    article = "an array" if kind == "array" else "a string"
    told = f"empty {kind}. Expected {article} with minimum length 1, but got an empty {kind} instead."
    return f"Invalid '{at}': {told}", f"empty_{kind}", at


def mistyped(at: str, expected: str, found: str) -> tuple[str, str, str]:
    return f"Invalid type for '{at}': expected {expected}, but got {found} instead.", "invalid_type", at


TABLE = [
    row("no model", drop("model"), "you must provide a model parameter", None, None),
    row("no messages", drop("messages"), *missing("messages")),
    row("empty messages", put("messages", []), *empty("messages")),
    row("no message", put("messages.0", "hi"), *mistyped("messages[0]", "an object", "a string")),
    row("no role", drop("messages.1.role"), *missing("messages[1].role")),
    row("no content", drop("messages.1.content"), *missing("messages[1].content")),
    row("empty content", put("messages.1.content", []), *empty("messages[1].content")),
    row(
        "content of another type",
        put("messages.1.content", {"type": "text"}),
        *mistyped("messages[1].content", "one of a string or array of objects", "an object"),
    ),
    row(
        "unknown role",
        put("messages.1.role", "human"),
        "Invalid value: 'human'. Supported values are: 'system', 'developer', 'user', 'assistant', and 'tool'.",
        "invalid_value",
        "messages[1].role",
    ),
    row("unknown field", put("max_output_tokens", 1), *unknown("max_output_tokens")),
    row("reasoning of others", put("messages.2.reasoning_content", "hm"), *unknown("messages[2].reasoning_content")),
    row("index of a call", put("messages.2.tool_calls.0.index", 0), *unknown("messages[2].tool_calls[0].index")),
    row("cache mark", put("messages.5.content.0.cache", 1), *unknown("messages[5].content[0].cache")),
    row("field of another role", put("messages.1.tool_call_id", "t_1"), *unknown("messages[1].tool_call_id")),
    row("empty calls", put("messages.2.tool_calls", []), *empty("messages[2].tool_calls")),
    row("empty tools", put("tools", []), *empty("tools")),
    row("call without id", drop("messages.2.tool_calls.0.id"), *missing("messages[2].tool_calls[0].id")),
    row("empty id", put("messages.2.tool_calls.0.id", ""), *empty("messages[2].tool_calls[0].id", "string")),
    row(
        "long id",
        put("messages.2.tool_calls.0.id", "x" * 41),
        "Invalid 'messages[2].tool_calls[0].id': string too long. Expected a string with maximum length 40, but got a "
        "string with length 41 instead.",
        "string_above_max_length",
        "messages[2].tool_calls[0].id",
    ),
    row(
        "illegal name",
        put("messages.2.tool_calls.0.function.name", "functions.look"),
        "Invalid 'messages[2].tool_calls[0].function.name': string does not match pattern. Expected a string that "
        "matches the pattern '^[a-zA-Z0-9_-]+$'.",
        "invalid_value",
        "messages[2].tool_calls[0].function.name",
    ),
    row(
        "arguments as an object",
        put("messages.2.tool_calls.0.function.arguments", {"a": 1}),
        *mistyped("messages[2].tool_calls[0].function.arguments", "a string", "an object"),
    ),
    row(
        "part of another API",
        put("messages.5.content.0.type", "input_text"),
        "Invalid value: 'input_text'. Supported values are: 'text', 'image_url', and 'refusal'.",
        "invalid_value",
        "messages[5].content[0].type",
    ),
    row(
        "picture as a string",
        put("messages.5.content.1.image_url", "data:"),
        *mistyped("messages[5].content[1].image_url", "an object", "a string"),
    ),
    row(
        "no room",
        put("max_completion_tokens", 0),
        "Invalid 'max_completion_tokens': integer below minimum value. Expected a value >= 1, but got 0 instead.",
        "integer_below_min_value",
        "max_completion_tokens",
    ),
    row(
        "two answers",
        put("n", 2),
        "Invalid 'n': integer above maximum value. Expected a value <= 1, but got 2 instead.",
        "integer_above_max_value",
        "n",
    ),
    row(
        "unknown effort",
        put("reasoning_effort", "huge"),
        "Invalid value: 'huge'. Supported values are: 'none', 'minimal', ",
        "invalid_value",
        "reasoning_effort",
    ),
    row(
        "unknown choice",
        put("tool_choice", "any"),
        "Invalid value: 'any'. Supported values are: 'none', 'auto', ",
        "invalid_value",
        "tool_choice",
    ),
]


@pytest.mark.parametrize(("change", "message", "code", "param", "status"), TABLE)
async def test_a_wrong_field_gets_the_vendors_answer(
    change: Change, message: str, code: str | None, param: str | None, status: int
):
    await check_row(change, message, code, param, status)
