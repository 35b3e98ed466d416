"""Rules of the strict chat dialect: one mutation of a request that is taken, and the vendor's own answer to it."""

from __future__ import annotations

import pytest

from local.rehearsal.chat_request import parse
from local.rehearsal.chat_rules import RULES
from local.rehearsal.responses_request import Denied
from tests.contract.test_rehearsal_accepted import Change, drop, each, picture, put
from tests.contract.test_rehearsal_chat_accepted import call, check_row, image, missing, mutated, output, post, row

NO_RESULTS = (
    "An assistant message with 'tool_calls' must be followed by tool messages responding to each 'tool_call_id'. "
    "The following tool_call_ids did not have response messages:"
)
ORPHAN = "Invalid parameter: messages with role 'tool' must be a response to a preceeding message with 'tool_calls'."
UNSUPPORTED = (
    "You uploaded an unsupported image. Please make sure your image has of one the following formats: "
    "['png', 'jpeg', 'gif', 'webp']."
)
IMAGE = {"type": "text", "text": "Look:"}, image(picture())


def url(text: str) -> Change:
    return put("messages.5.content.1.image_url.url", text)


TABLE = [
    # the request
    row(
        "unknown model",
        put("model", "gpt-9"),
        "The model `gpt-9` does not exist or you do not have access to it.",
        "model_not_found",
        None,
        404,
    ),
    row(
        "two limits",
        put("max_tokens", 100),
        "Setting 'max_tokens' and 'max_completion_tokens' at the same time is not supported.",
        "invalid_parameter_combination",
        None,
    ),
    row(
        "too long an answer",
        put("max_completion_tokens", 40_000),
        "max_tokens is too large: 40000. This model supports at most 32000 completion tokens, whereas you provided",
        "invalid_value",
        "max_tokens",
    ),
    row(
        "temperature",
        put("temperature", 0.2),
        "Unsupported value: 'temperature' does not support 0.2 with this model. Only the default (1) value is",
        "unsupported_value",
        "temperature",
    ),
    row(
        "options of no stream",
        put("stream", False),
        "The 'stream_options' parameter is only allowed when 'stream' is enabled.",
        None,
        "stream_options",
    ),
    # tools
    row(
        "one at a time of nothing",
        drop("tools"),
        "Invalid value for 'parallel_tool_calls': 'parallel_tool_calls' is only allowed when 'tools' are specified.",
        None,
        "parallel_tool_calls",
    ),
    row(
        "choice of nothing",
        each(drop("tools"), drop("parallel_tool_calls"), put("tool_choice", "auto")),
        "Invalid value for 'tool_choice': 'tool_choice' is only allowed when 'tools' are specified.",
        None,
        "tool_choice",
    ),
    row(
        "schema of no object",
        put("tools.0.function.parameters", {"type": "array"}),
        "Invalid schema for function 'look': schema must be a JSON Schema of 'type: \"object\"', got 'type: ",
        "invalid_function_parameters",
        "tools[0].function.parameters",
    ),
    row(
        "choice of no tool",
        put("tool_choice", {"type": "function", "function": {"name": "paint"}}),
        "Invalid value for 'tool_choice': function 'paint' was not specified in 'tools'.",
        None,
        "tool_choice",
    ),
    row("nameless choice", put("tool_choice", {"type": "function"}), *missing("tool_choice.function")),
    # content
    row(
        "a user who says nothing",
        put("messages.1.content", None),
        "Invalid value for 'content': expected a string, got null.",
        None,
        "messages.[1].content",
    ),
    row(
        "an assistant who says and calls nothing",
        put("messages.+", {"role": "assistant"}),
        "Invalid value for 'content': expected a string, got null.",
        None,
        "messages.[8].content",
    ),
    row(
        "a result of nothing",
        put("messages.7.content", None),
        "Invalid value for 'content': expected a string, got null.",
        None,
        "messages.[7].content",
    ),
    # calls and results
    row("results missing", drop("messages.4"), f"{NO_RESULTS} t_1", None, "messages.[4].role"),
    row("last result missing", drop("messages.7"), f"{NO_RESULTS} t_3", None, "messages"),
    row(
        "results behind the picture",
        lambda body: body["messages"].insert(5, body["messages"].pop(3)),
        ORPHAN,
        None,
        "messages.[5].role",
    ),
    row(
        "result of nothing asked",
        put("messages.+", output("t_3")),
        "Invalid parameter: Duplicate value",
        None,
        "messages.[8].tool_call_id",
    ),
    row("result in front", lambda body: body["messages"].insert(1, output("t_1")), ORPHAN, None, "messages.[1].role"),
    row(
        "result of another turn's call",
        put("messages.7.tool_call_id", "t_1"),
        "Invalid parameter: 'tool_call_id' of 't_1' not found in 'tool_calls' of previous message.",
        None,
        "messages.[7].tool_call_id",
    ),
    row(
        "two results",
        put("messages.4.tool_call_id", "t_2"),
        "Invalid parameter: Duplicate value for 'tool_call_id' of 't_2', in messages[3] and messages[4].",
        None,
        "messages.[4].tool_call_id",
    ),
    row(
        "nameless result",
        drop("messages.4.tool_call_id"),
        "Missing parameter 'tool_call_id': messages with role 'tool' must have a 'tool_call_id'.",
        None,
        "messages.[4].tool_call_id",
    ),
    # pictures
    *(
        row(
            f"picture of the {role}",
            put(f"messages.{number}.content", list(IMAGE)),
            f"Invalid 'messages[{number}]'. Image URLs are only allowed for messages with role 'user', but this "
            f"message with role '{role}' contains an image URL.",
            "invalid_value",
            f"messages[{number}]",
        )
        for number, role in ((0, "system"), (2, "assistant"), (3, "tool"))
    ),
    row("no base64", url("data:image/png;base64,%%%"), "Invalid base64 image_url.", "invalid_base64", None),
    row("empty picture", url("data:image/png;base64,"), "Invalid base64 image_url.", "invalid_base64", None),
    row("no data URL", url(picture()), "Invalid base64 image_url.", "invalid_base64", None),
    row("no picture", url("data:image/png;base64,aGk="), UNSUPPORTED, "invalid_image_format", None),
    row("another format", url(f"data:image/bmp;base64,{picture()}"), UNSUPPORTED, "invalid_image_format", None),
    row(
        "a document",
        url("data:application/pdf;base64,aGk="),
        "Invalid MIME type. Only image types are supported.",
        "invalid_image_format",
        None,
    ),
    row("elsewhere", url("https://example.org/a.png"), "The rehearsal fetches nothing;", "invalid_image_url", None),
]


@pytest.mark.parametrize(("change", "message", "code", "param", "status"), TABLE)
async def test_a_broken_rule_gets_the_vendors_answer(
    change: Change, message: str, code: str | None, param: str | None, status: int
):
    await check_row(change, message, code, param, status)


def test_every_rule_has_a_row():
    broken = set()
    for each_row in TABLE:
        try:
            request = parse(mutated(each_row.values[0]))
        except Denied:
            continue
        broken |= {rule.__name__ for rule in RULES if rule(request) is not None}

    assert broken == {rule.__name__ for rule in RULES}


async def test_a_prompt_over_the_window_is_a_bad_request():
    answer = await post(mutated(put("messages.1.content", "x" * 810_000)))

    error = answer.json()["error"]
    assert (answer.status_code, error["code"], error["param"]) == (400, "context_length_exceeded", "messages")
    assert error["message"].startswith("This model's maximum context length is 200000 tokens. However, your messages")


async def test_two_calls_of_one_id_can_not_both_be_answered():
    answer = await post(
        mutated(each(put("messages.2.tool_calls", [call("t_1"), call("t_1")]), put("messages.3.tool_call_id", "t_1")))
    )

    assert "Duplicate value for 'tool_call_id' of 't_1'" in answer.json()["error"]["message"]
