"""Rules of the strict Gemini dialect: one mutation each of a request that it takes, the vendor's own answer."""

from __future__ import annotations

from typing import Any

import pytest

from tests.contract.test_rehearsal_accepted import Change, drop, each, put
from tests.contract.test_rehearsal_gemini_accepted import SENTINEL, call, mutated, post, response

PAIRS = (
    "Please ensure that the number of function response parts is equal to the number of function call parts of the "
    "function call turn."
)
CALLS_FOLLOW = (
    "Please ensure that function call turn comes immediately after a user turn or after a function response turn."
)
RESPONSES_FOLLOW = "Please ensure that function response turn comes immediately after a function call turn."
ALTERNATE = "Please ensure that multiturn requests alternate between user and model."
NAME = "tools.0.functionDeclarations.0.name"
ILLEGAL_NAME = (
    "The GenerateContentRequest proto is invalid:\n  * tools[0].function_declarations[0].name: [FIELD_INVALID] Invalid "
    "function name. Must start with a letter or an underscore."
)
UNSIGNED = (
    "Function call is missing a thought_signature in functionCall parts. This is required for tools to work correctly, "
    "and missing thought_signature may lead to degraded model performance. Additional data, function call "
    "`default_api:look` , position {}. Please refer to https://ai.google.dev/gemini-api/docs/thought-signatures for "
    "more details."
)


def row(name: str, change: Change, message: str) -> Any:
    """A mutation and the beginning of the vendor's answer to it."""
    return pytest.param(change, message, id=name)


TABLE = [
    # contents
    row("no contents", drop("contents"), "* GenerateContentRequest.contents: contents is not specified\n"),
    row(
        "content without parts",
        put("contents.0.parts", []),
        "* GenerateContentRequest.contents[0].parts: contents.parts must not be empty.\n",
    ),
    row(
        "part without data",
        put("contents.1.parts.0", {}),
        "* GenerateContentRequest.contents[1].parts[0].data: required oneof field 'data' must have one initialized "
        "field\n",
    ),
    row(
        "two empty texts",
        each(put("contents.4.parts.0.text", ""), put("contents.0.parts.0.text", "")),
        "* GenerateContentRequest.contents[0].parts[0].data: required oneof field 'data' must have one initialized "
        "field\n* GenerateContentRequest.contents[4].parts[0].data: required oneof field 'data' must have one",
    ),
    row(
        "text and call in one part",
        put("contents.1.parts.1.text", "x"),
        "Invalid value at 'contents[1].parts[1]' (oneof), oneof field 'data' is already set. Cannot set 'functionCall'",
    ),
    row(
        "nameless response",
        drop("contents.2.parts.0.functionResponse.name"),
        "* GenerateContentRequest.contents[2].parts[0].function_response.name: Name cannot be empty.\n",
    ),
    row(
        "nameless call",
        put("contents.1.parts.1.functionCall.name", ""),
        "* GenerateContentRequest.contents[1].parts[1].function_call.name: Name cannot be empty.\n",
    ),
    row("unknown role", put("contents.1.role", "assistant"), "Please use a valid role: user, model."),
    row(
        "a picture that is none",
        put("contents.4.parts.1.inlineData.data", "bm8="),
        "Unable to process input image. Please retry or report in https://developers.generativeai.google/guide/",
    ),
    row(
        "a picture in a result that is none",
        put("contents.6.parts.0.functionResponse.parts.0.inlineData.data", ""),
        "Unable to process input image.",
    ),
    # turns
    row("model first", drop("contents.0"), CALLS_FOLLOW),
    row("model first, without a call", put("contents", [{"role": "model", "parts": [{"text": "Hi"}]}]), ALTERNATE),
    row("model twice", put("contents.2", {"role": "model", "parts": [{"text": "Hm."}]}), PAIRS),
    row(
        "call after the model's text",
        lambda body: body["contents"].insert(1, {"role": "model", "parts": [{"text": "Hm."}]}),
        CALLS_FOLLOW,
    ),
    row("user twice", lambda body: body["contents"].insert(0, body["contents"][0]), ALTERNATE),
    row("call of the user", put("contents.4.parts.+", call("c_9")), CALLS_FOLLOW),
    row("call without response", put("contents.2.parts", [{"text": "never mind"}]), PAIRS),
    row("one of two calls answered", drop("contents.6.parts.1"), PAIRS),
    row("a response too many", put("contents.2.parts.+", response("c_9")), PAIRS),
    row("response of no call", put("contents.4.parts.+", response("c_9")), RESPONSES_FOLLOW),
    row(
        "responses in two turns",
        lambda body: body["contents"].insert(7, {"role": "user", "parts": [body["contents"][6]["parts"].pop(1)]}),
        RESPONSES_FOLLOW,
    ),
    row("response of the model", put("contents.2.role", "model"), RESPONSES_FOLLOW),
    row("call last", drop("contents.8"), PAIRS),
    row(
        "model last",
        lambda body: body["contents"].append({"role": "model", "parts": [{"text": "The"}]}),
        "Please ensure that multiturn requests ends with a user role or a function response.",
    ),
    # signatures
    row("unsigned step", drop("contents.5.parts.0.thoughtSignature"), UNSIGNED.format(6)),
    row("unsigned later step", drop("contents.7.parts.0.thoughtSignature"), UNSIGNED.format(8)),
    row(
        "only the sibling signed",
        lambda body: body["contents"][5]["parts"].reverse() or body["contents"][6]["parts"].reverse(),
        UNSIGNED.format(6).replace("look", "gone"),
    ),
    row(
        "foreign signature",
        put("contents.7.parts.0.thoughtSignature", "Zm9yZWlnbg=="),
        "Corrupted thought signature.",
    ),
    row(
        "foreign signature of an earlier run",
        put("contents.3.parts.1.thoughtSignature", "Zm9yZWlnbg=="),
        "Corrupted thought signature.",
    ),
    row(
        "signature of another call",
        put("contents.5.parts.0.functionCall.args", {"a": 2}),
        "Corrupted thought signature.",
    ),
    row("sentinel on a text", put("contents.3.parts.1.thoughtSignature", SENTINEL), "Corrupted thought signature."),
    row(
        "signature that is no base64",
        put("contents.7.parts.0.thoughtSignature", "ä"),
        "Invalid value at 'contents[7].parts[0].thought_signature' (TYPE_BYTES), Base64 decoding failed for \"ä\"",
    ),
    # fields
    row(
        "unknown field",
        put("max_tokens", 1),
        'Invalid JSON payload received. Unknown name "max_tokens": Cannot find field.',
    ),
    row(
        "another vendor's field",
        put("contents.1.parts.1.functionCall.thought_signature", "eA=="),
        "Invalid JSON payload received. Unknown name \"thought_signature\" at 'contents[1].parts[1].function_call': "
        "Cannot find field.",
    ),
    row(
        "display name in a result's picture",
        put("contents.6.parts.0.functionResponse.parts.0.inlineData.displayName", "a.png"),
        'Invalid JSON payload received. Unknown name "displayName" at '
        "'contents[6].parts[0].function_response.parts[0].inline_data': Cannot find field.",
    ),
    row(
        "arguments that stream (only elsewhere)",
        put("toolConfig", {"functionCallingConfig": {"streamFunctionCallArguments": True}}),
        'Invalid JSON payload received. Unknown name "streamFunctionCallArguments" at '
        "'tool_config.function_calling_config': Cannot find field.",
    ),
    row(
        "response as text",
        put("contents.2.parts.0.functionResponse.response", "42"),
        "Invalid value at 'contents[2].parts[0].function_response.response' (type.googleapis.com/google.protobuf.Struct"
        '), "42"',
    ),
    row(
        "response as list",
        put("contents.2.parts.0.functionResponse.response", []),
        "Invalid JSON payload received. Unknown name \"response\" at 'contents[2].parts[0].function_response': Proto "
        "field is not repeating, cannot start list.",
    ),
    row(
        "text for a number",
        put("generationConfig.maxOutputTokens", "many"),
        "Invalid value at 'generation_config.max_output_tokens' (TYPE_INT32), \"many\"",
    ),
    row(
        "number for a text",
        put("contents.0.parts.0.text", 5),
        "Invalid value at 'contents[0].parts[0].text' (TYPE_STRING), 5",
    ),
    row(
        "text for a content",
        put("contents.0", "Hi"),
        "Invalid value at 'contents[0]' (type.googleapis.com/google.ai.generativelanguage.v1beta.Content), \"Hi\"",
    ),
    row(
        "unknown level",
        put("generationConfig.thinkingConfig.thinkingLevel", "HUGE"),
        "Invalid value at 'generation_config.thinking_config.thinking_level' (type.googleapis.com/google.ai."
        'generativelanguage.v1beta.ThinkingConfig.ThinkingLevel), "HUGE"',
    ),
    # tools and settings
    row("illegal tool name", put(NAME, "2 look"), ILLEGAL_NAME),
    row("long tool name", put(NAME, "a" * 65), ILLEGAL_NAME),
    row("a tool twice", put(NAME, "draw"), "Duplicate function declaration found: draw"),
    row(
        "level and budget",
        put("generationConfig.thinkingConfig", {"thinkingBudget": 1, "thinkingLevel": "LOW"}),
        "You can only set only one of thinking budget and thinking level.",
    ),
    row(
        "long answer",
        put("generationConfig.maxOutputTokens", 32_001),
        "Unable to submit request because it has a maxOutputTokens value of 32001 but the supported range is from 1 "
        "(inclusive) to 32001 (exclusive).",
    ),
    row(
        "long prompt",
        put("contents.0.parts.0.text", "word " * 200_000),
        "The input token count (",
    ),
]


@pytest.mark.parametrize(("change", "message"), TABLE)
async def test_a_broken_rule_gets_the_vendors_answer(change: Change, message: str):
    answer = await post(mutated(change))

    error = answer.json()["error"]
    assert error["message"][: len(message)] == message
    assert (answer.status_code, error["code"], error["status"]) == (400, 400, "INVALID_ARGUMENT")


async def test_every_field_at_fault_is_named_and_told_again_in_the_details():
    answer = await post(mutated(each(put("contents.0.parts.0.type", "text"), put("contents.1.name", "x"))))

    error = answer.json()["error"]
    (details,) = error["details"]
    assert details["@type"] == "type.googleapis.com/google.rpc.BadRequest"
    assert [each["field"] for each in details["fieldViolations"]] == ["contents[0].parts[0]", "contents[1]"]
    assert "\n".join(each["description"] for each in details["fieldViolations"]) == error["message"]
