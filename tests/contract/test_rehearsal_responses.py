"""Rules of the strict Responses dialect: one mutation of a request that is taken, and the vendor's own answer to it."""

from __future__ import annotations

import pytest

from local.rehearsal.responses_reasoning import encrypt
from local.rehearsal.responses_request import Denied, parse
from local.rehearsal.responses_rules import RULES
from tests.contract.test_rehearsal_accepted import Change, drop, each, picture, put
from tests.contract.test_rehearsal_responses_accepted import (
    PLACE,
    call,
    check_row,
    image,
    missing,
    mutated,
    output,
    row,
)

URL = "input[6].output[1].image_url"
EXPECTED_URL = (
    f"Invalid '{URL}'. Expected a base64-encoded data URL with an image MIME type "
    f"(e.g. 'data:image/png;base64,aW1nIGJ5dGVzIGhlcmU='), but got"
)

UNREADABLE = "could not be verified. Reason: Encrypted content could not be decrypted or parsed."


def schema(told: str) -> tuple[str, str, str]:
    return f"Invalid schema for function 'look': {told}", "invalid_function_parameters", "tools[0].parameters"


TABLE = [
    # the request
    row(
        "unknown model",
        put("model", "gpt-9"),
        "The requested model 'gpt-9' does not exist.",
        "model_not_found",
        "model",
    ),
    row(
        "temperature",
        put("temperature", 0.2),
        "Unsupported parameter: 'temperature' is not supported with this model.",
        "unsupported_parameter",
        "temperature",
    ),
    row(
        "options of no stream",
        put("stream", False),
        "The 'stream_options' parameter is only allowed when 'stream' is enabled.",
        None,
        "stream_options",
    ),
    row(
        "an answer before",
        put("previous_response_id", "resp_1"),
        "Previous response with id 'resp_1' not found.",
        "previous_response_not_found",
        "previous_response_id",
    ),
    row(
        "too long an answer",
        put("max_output_tokens", 40_000),
        "max_output_tokens is too large: 40000. This model supports at most 32000 output tokens",
        "invalid_value",
        "max_output_tokens",
    ),
    # tools
    row(
        "schema of no object",
        put("tools.0.parameters", {"type": "array"}),
        *schema("schema must be a JSON Schema of 'type: \"object\"', got 'type: \"array\"'."),
    ),
    row(
        "strict with an optional field",
        put("tools.0.strict", True),
        *schema(
            "In context=(), 'required' is required to be supplied and to be an array including every key in "
            "properties. Missing 'a'."
        ),
    ),
    row(
        "strict with an open object inside",
        each(
            put("tools.0.strict", True),
            put(
                "tools.0.parameters",
                {
                    "type": "object",
                    "required": ["a"],
                    "additionalProperties": False,
                    "properties": {"a": {"type": "array", "items": {"type": "object"}}},
                },
            ),
        ),
        *schema("In context=('properties', 'a', 'items'), 'additionalProperties' is required to be supplied and"),
    ),
    row(
        "choice of no tool",
        put("tool_choice", {"type": "function", "name": "paint"}),
        "Tool choice 'paint' not found in 'tools' parameter.",
        None,
        "tool_choice",
    ),
    row("nameless choice", put("tool_choice", {"type": "function"}), *missing("tool_choice.name")),
    row(
        "required without tools",
        each(put("tool_choice", "required"), put("tools", [])),
        "Tool choice 'required' must be specified with 'tools' parameter.",
        None,
        "tool_choice",
    ),
    # calls and outputs
    row("call without output", drop("input.5"), "No tool output found for function call t_1.", None, "input"),
    row(
        "output of no call",
        put("input.5.call_id", "t_9"),
        "No tool call found for function call output with call_id t_9.",
        None,
        "input",
    ),
    row(
        "output before its call",
        lambda body: body["input"].insert(1, body["input"].pop(5)),
        "No tool call found for function call output with call_id t_1.",
        None,
        "input",
    ),
    row(
        "two outputs", put("input.+", output("t_1")), "Duplicate function_call_output for call_id 't_1'.", None, "input"
    ),
    row(
        "two calls of one id", put("input.+", call("t_1")), "Duplicate function_call for call_id 't_1'.", None, "input"
    ),
    row(
        "id of another item",
        put("input.4.id", "call_1"),
        "Invalid 'input[4].id': 'call_1'. Expected an ID that begins with 'fc'.",
        "invalid_id_prefix",
        "input[4].id",
    ),
    row(
        "an item twice",
        each(put("input.+", {**call("t_3"), "id": f"fc_{PLACE}"}), put("input.+", output("t_3"))),
        f"Duplicate item found with id fc_{PLACE}. Remove duplicate items from your input and try again.",
        None,
        "input",
    ),
    # reasoning
    row(
        "reasoning by its id",
        drop("input.3.encrypted_content"),
        f"Item with id 'rs_{PLACE}' not found. Items are not persisted when `store` is set to false. Try again with "
        f"`store` set to true, or remove this item from your input.",
        None,
        "input",
        404,
    ),
    row(
        "reasoning by its id, stored",
        each(drop("input.3.encrypted_content"), put("store", True)),
        f"Item with id 'rs_{PLACE}' not found.",
        None,
        "input",
        404,
    ),
    row("bare reasoning", each(drop("input.3.encrypted_content"), drop("input.3.id")), *missing("input[3].id")),
    row(
        "reasoning without its item",
        lambda body: body["input"].append(body["input"].pop(3)),
        f"Item 'rs_{PLACE}' of type 'reasoning' was provided without its required following item.",
        None,
        "input",
    ),
    row(
        "reasoning before the user",
        each(drop("input.4"), drop("input.5")),
        f"Item 'rs_{PLACE}' of type 'reasoning' was provided without its required following item.",
        None,
        "input",
    ),
    row(
        "call without its reasoning",
        drop("input.3"),
        f"Item 'fc_{PLACE}' of type 'function_call' was provided without its required 'reasoning' item: 'rs_{PLACE}'.",
        None,
        "input",
    ),
    row(
        "reasoning of another model",
        put("input.3.encrypted_content", encrypt(f"rs_{PLACE}", "gpt-6-luna")),
        f"The encrypted content for item rs_{PLACE} {UNREADABLE}",
        "invalid_encrypted_content",
        None,
    ),
    row(
        "half of the encrypted content",
        put("input.3.encrypted_content", encrypt(f"rs_{PLACE}")[:60]),
        f"The encrypted content for item rs_{PLACE} {UNREADABLE}",
        "invalid_encrypted_content",
        None,
    ),
    row(
        "encrypted content of another item",
        put("input.3.encrypted_content", encrypt("rs_2")),
        f"The encrypted content for item rs_{PLACE} could not be verified. Reason: Encrypted content item_id did not "
        f"match the target item id.",
        "invalid_encrypted_content",
        None,
    ),
    # pictures
    row(
        "bare base64",
        put("input.6.output.1.image_url", picture()),
        f"{EXPECTED_URL} a value without the 'data:' prefix.",
        "invalid_value",
        URL,
    ),
    row("empty picture", put("input.6.output.1", image("")), f"{EXPECTED_URL} empty base64", "invalid_value", URL),
    row("no base64", put("input.6.output.1", image("%%%")), f"{EXPECTED_URL} an invalid base64", "invalid_value", URL),
    row(
        "unknown format",
        put("input.6.output.1", image(picture(), "image/bmp")),
        f"{EXPECTED_URL} unsupported MIME type 'image/bmp'",
        "invalid_value",
        URL,
    ),
    row(
        "no picture",
        put("input.6.output.1", image("aGVsbG8=")),
        "The image data you provided does not represent a valid image.",
        "invalid_value",
        "input",
    ),
    row(
        "too many patches",
        put("input.6.output.1", image(picture(size=(5_600, 5_600)))),
        "The image has 30625 patches of 32 pixels, which exceeds the maximum of 30000.",
        "image_too_large",
        URL,
    ),
    row(
        "by address",
        put("input.6.output.1.image_url", "https://example.com/a.png"),
        f"Invalid '{URL}'. The rehearsal fetches nothing; send the picture as a data URL.",
        None,
        URL,
    ),
]


@pytest.mark.parametrize(("change", "message", "code", "param", "status"), TABLE)
async def test_a_broken_rule_gets_the_vendors_answer(
    change: Change, message: str, code: str | None, param: str | None, status: int
):
    await check_row(change, message, code, param, status)


def broken_rule(change: Change) -> str | None:
    """Name of the rule that refuses the mutated request; None where its shape is already wrong."""
    try:
        request = parse(mutated(change))
    except Denied:
        return None
    return next((rule.__name__ for rule in RULES if rule(request) is not None), None)


def test_every_rule_has_a_row():
    broken = {broken_rule(case.values[0]) for case in TABLE}

    assert {rule.__name__ for rule in RULES} - broken == set()
