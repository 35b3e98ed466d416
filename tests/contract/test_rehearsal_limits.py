"""Rules of the strict Anthropic dialect on tools, cache marks, sizes and pictures, and that each rule has its row."""

from __future__ import annotations

import pytest

from local.rehearsal.anthropic_request import parse, turns_of
from local.rehearsal.anthropic_rules import RULES, Asked
from local.rehearsal.wire import Refused
from tests.contract import test_rehearsal_rules
from tests.contract.test_rehearsal_accepted import (
    MARK,
    Change,
    check_row,
    each,
    image,
    mutated,
    picture,
    put,
    result,
    row,
)

RESULT = "messages.2.content.0"
SECOND = "messages.4.content"
MANY = [image(picture(size=(2_001, 2)))] * 21

TABLE = [
    # tools
    row("tool named twice", put("tools.1.name", "look"), "tools: Tool names must be unique."),
    row(
        "illegal tool name",
        put("tools.0.name", "look at"),
        "tools.0.custom.name: String should match pattern '^[a-zA-Z0-9_-]{1,128}$'",
    ),
    row(
        "schema without type",
        put("tools.0.input_schema", {"properties": {}}),
        "tools.0.custom.input_schema.type: Field required",
    ),
    row(
        "schema of no object",
        put("tools.0.input_schema.type", "array"),
        "tools.0.custom.input_schema.type: Input should be 'object'",
    ),
    row(
        "schema with a choice",
        put("tools.0.input_schema.anyOf", []),
        "tools.0.custom.input_schema: input_schema does not support oneOf, allOf, or anyOf at the top level",
    ),
    row("choice without tools", put("tools", []), "tool_choice.auto may only be specified while providing tools."),
    row(
        "choice of no tool",
        put("tool_choice", {"type": "tool", "name": "paint"}),
        "Tool 'paint' not found in provided tools",
    ),
    row("nameless choice", put("tool_choice", {"type": "tool"}), "tool_choice.tool.name: Field required"),
    row(
        "forced while thinking",
        put("tool_choice", {"type": "any"}),
        "Thinking may not be enabled when tool_choice forces tool use.",
    ),
    # marks
    row(
        "five marks",
        each(*(put(f"{place}.cache_control", MARK) for place in ("tools.0", "tools.1", RESULT))),
        "A maximum of 4 blocks with cache_control may be provided. Found 5.",
    ),
    row(
        "longer mark later",
        put(SECOND + ".1.cache_control", MARK | {"ttl": "1h"}),
        "messages.4.content.1.cache_control.ttl: a ttl='1h' cache_control block must not come "
        "after a ttl='5m' cache_control block. Note that blocks are processed in the following "
        "order: `tools`, `system`, `messages`.",
    ),
    row(
        "unknown ttl",
        put("system.0.cache_control", MARK | {"ttl": "1d"}),
        "system.0.cache_control.ttl: Input should be '5m' or '1h'",
    ),
    row("mark on nothing", put("system.0.text", ""), "system.0: cache_control cannot be set for empty text blocks"),
    row(
        "mark on an empty text",
        put(SECOND + ".1.text", ""),
        "messages.4.content.1.text: cache_control cannot be set for empty text blocks",
    ),
    row(
        "too long an answer",
        put("max_tokens", 40_000),
        "max_tokens: 40000 > 32000, which is the maximum allowed number of output tokens for rehearsal",
    ),
    row("too long a prompt", put("messages.0.content", "x" * 801_000), "prompt is too long: 2"),
    row(
        "no room to answer",
        put("messages.0.content", "x" * 798_000),
        "input length and `max_tokens` exceed context limit: 1995",
    ),
    # pictures
    row(
        "no base64",
        put(SECOND + ".0.content.1.source.data", "%%%"),
        "messages.4.content.0.tool_result.content.1.image.source.base64: invalid base64 data",
    ),
    row("no picture", put(SECOND + ".0.content.1.source.data", "aGVsbG8="), "Could not process image"),
    row("broken picture", put(SECOND + ".0.content.1.source.data", picture()[:60]), "Could not process image"),
    row(
        "another format",
        put(SECOND + ".0.content.1", image(picture("JPEG"))),
        "messages.4.content.0.tool_result.content.1.image.source.base64: The image was specified "
        "using the image/png media type, but the image appears to be a image/jpeg image",
    ),
    row(
        "unknown format",
        put(SECOND + ".0.content.1.source.media_type", "image/bmp"),
        "messages.4.content.0.tool_result.content.1.image.source.base64.media_type: Input should "
        "be 'image/jpeg', 'image/png', 'image/gif' or 'image/webp'",
    ),
    row(
        "too wide",
        put(SECOND + ".+", image(picture(size=(8_001, 1)))),
        "messages.4.content.2.image.source.base64.data: At least one of the image dimensions "
        "exceed max allowed size: 8000 pixels",
    ),
    row(
        "too wide among many",
        put(SECOND, [result("t_2"), *MANY]),
        "messages.4.content.1.image.source.base64.data: At least one of the image dimensions "
        "exceed max allowed size for many-image requests: 2000 pixels",
    ),
    row(
        "too heavy",
        put(SECOND + ".+", image("A" * (5 * 1024 * 1024 + 4))),
        "messages.4.content.2.image.source.base64: image exceeds 5 MB maximum: 5242884 bytes > 5242880 bytes",
    ),
    row(
        "too many",
        put(SECOND, [result("t_2"), *[image(picture())] * 101]),
        "Too much media: 0 document pages + 101 images > 100",
    ),
    row(
        "by address",
        put(SECOND + ".+", {"type": "image", "source": {"type": "url", "url": "https://example.com/a.png"}}),
        "messages.4.content.2.image.source.url.url: the rehearsal fetches nothing; send the picture as base64",
    ),
]


@pytest.mark.parametrize(("change", "message", "status"), TABLE)
async def test_a_broken_limit_gets_the_vendors_answer(change: Change, message: str, status: int):
    await check_row(change, message, status)


def broken_rule(change: Change) -> str | None:
    """Name of the rule that refuses the mutated request; None where its shape is already wrong."""
    try:
        request = parse(mutated(change))
    except Refused:
        return None
    asked = Asked(request, turns_of(request))
    return next((rule.__name__ for rule in RULES if rule(asked) is not None), None)


def test_every_rule_has_a_row():
    broken = {broken_rule(case.values[0]) for case in [*TABLE, *test_rehearsal_rules.TABLE]}

    assert {rule.__name__ for rule in RULES} - broken == set()
