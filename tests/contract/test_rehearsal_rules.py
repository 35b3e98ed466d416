"""Rules of the strict Anthropic dialect on messages, calls and thinking: one mutation each, the vendor's own answer."""

from __future__ import annotations

import pytest

from tests.contract.test_rehearsal_accepted import (
    MARK,
    Change,
    call,
    check_row,
    drop,
    each,
    image,
    picture,
    put,
    result,
    row,
    text,
)

CALL = "messages.1.content.1"
RESULT = "messages.2.content.0"
SECOND = "messages.4.content"
THOUGHT = {"type": "thinking", "thinking": "Hm.", "signature": "Zm9yZWlnbg=="}


def unanswered(message: int, identifier: str) -> str:
    return (
        f"messages.{message}: `tool_use` ids were found without `tool_result` blocks immediately after: {identifier}. "
        f"Each `tool_use` block must have a corresponding `tool_result` block in the next message."
    )


TABLE = [
    # fields
    row("no max_tokens", drop("max_tokens"), "max_tokens: Field required"),
    row("no model", drop("model"), "model: Field required"),
    row("no messages", drop("messages"), "messages: Field required"),
    row("unknown field", put("max_output", 1), "max_output: Extra inputs are not permitted"),
    row(
        "unknown field of a block",
        put(CALL + ".text", "x"),
        "messages.1.content.1.tool_use.text: Extra inputs are not permitted",
    ),
    row("text for a number", put("max_tokens", "many"), "max_tokens: Input should be a valid integer"),
    row("block without type", drop("messages.1.content.0.type"), "messages.1.content.0.type: Field required"),
    row(
        "unknown block",
        put("messages.1.content.0.type", "audio"),
        "messages.1.content.0: Input tag 'audio' found using 'type' does not match any of the expected tags: 'text', ",
    ),
    row(
        "system role",
        put("messages.1.role", "system"),
        'messages: Unexpected role "system". The Messages API accepts a top-level `system` '
        'parameter, not "system" as an input message role.',
    ),
    row("unknown role", put("messages.1.role", "tool"), "messages.1.role: Input should be 'user' or 'assistant'"),
    row(
        "illegal call id",
        put(CALL + ".id", "call:1"),
        "messages.1.content.1.tool_use.id: String should match pattern '^[a-zA-Z0-9_-]+$'",
    ),
    row(
        "illegal result id",
        put(RESULT + ".tool_use_id", "a b"),
        "messages.2.content.0.tool_result.tool_use_id: String should match pattern '^[a-zA-Z0-9_-]+$'",
    ),
    row(
        "thinking without signature",
        put("messages.1.content.0", {"type": "thinking", "thinking": "x"}),
        "messages.1.content.0.thinking.signature: Field required",
    ),
    row(
        "marked thinking",
        put("messages.1.content.0", THOUGHT | {"cache_control": MARK}),
        "messages.1.content.0.thinking.cache_control: Extra inputs are not permitted",
    ),
    row("unknown model", put("model", "claude-9"), "model: claude-9", 404),
    # messages
    row("no message", put("messages", []), "messages: at least one message is required"),
    row("assistant first", drop("messages.0"), 'messages: first message must use the "user" role'),
    row(
        "assistant last",
        drop("messages.4"),
        unanswered(3, "t_2"),
    ),
    row(
        "prefill",
        put("messages.+", {"role": "assistant", "content": "The"}),
        "This model does not support assistant message prefill. The conversation must end with a user message.",
    ),
    row("user without content", put("messages.0.content", ""), "messages.0: user messages must have non-empty content"),
    row(
        "assistant without content",
        put("messages.1.content", []),
        "messages.1: all messages must have non-empty content except for the optional final assistant message",
    ),
    row("empty text", put("messages.1.content.0.text", ""), "messages: text content blocks must be non-empty"),
    row(
        "empty text in a result",
        put(SECOND + ".0.content.0.text", ""),
        "messages: text content blocks must be non-empty",
    ),
    row(
        "blank text",
        put("messages.1.content.0.text", " \n"),
        "messages: text content blocks must contain non-whitespace text",
    ),
    row(
        "blank message",
        put("messages.0.content", "\n"),
        "messages: text content blocks must contain non-whitespace text",
    ),
    row(
        "result of the assistant",
        put("messages.1.content.0", result("x")),
        "messages.1: `tool_result` blocks can only be in `user` messages",
    ),
    row(
        "call of the user",
        put(SECOND + ".+", call("x")),
        "messages.4: `tool_use` blocks can only be in `assistant` messages",
    ),
    row(
        "thinking of the user",
        put(SECOND + ".+", THOUGHT),
        "messages.4.content: thinking blocks may only be in `assistant` messages",
    ),
    row(
        "picture of the assistant",
        put("messages.1.content.0", image(picture())),
        "messages.1.content.0: 'image' blocks are not permitted within assistant turns",
    ),
    # calls
    row(
        "call without result",
        put(RESULT, text("never mind")),
        unanswered(1, "t_1"),
    ),
    row(
        "text before the result",
        put("messages.2.content", [text("here:"), result("t_1")]),
        unanswered(1, "t_1"),
    ),
    row(
        "one of two calls answered",
        put("messages.1.content.0", call("t_0")),
        unanswered(1, "t_0"),
    ),
    row(
        "result of no call",
        put(SECOND + ".+", result("t_9")),
        "messages.4.content.2: unexpected `tool_use_id` found in `tool_result` blocks: t_9. Each "
        "`tool_result` block must have a corresponding `tool_use` block in the previous message.",
    ),
    row(
        "two results",
        put(SECOND + ".+", result("t_2")),
        "messages.4.content.2: each tool_use must have a single result. Found multiple "
        "`tool_result` blocks with id: t_2",
    ),
    row(
        "an id twice",
        each(put("messages.3.content.0.id", "t_1"), put(SECOND + ".0.tool_use_id", "t_1")),
        "messages.3.content.0: `tool_use` ids must be unique",
    ),
    # thinking
    row(
        "foreign signature",
        put("messages.1.content.0", THOUGHT),
        "messages.1.content.0: Invalid `signature` in `thinking` block",
    ),
    row(
        "redacted thinking",
        put("messages.1.content.0", {"type": "redacted_thinking", "data": "eA=="}),
        "messages.1.content.0: Invalid `data` in `redacted_thinking` block",
    ),
    row(
        "thinking last",
        put("messages.1.content", [text("Hm."), THOUGHT]),
        "messages.1: The final block in an assistant message cannot be `thinking`.",
    ),
    row(
        "small budget",
        put("thinking", {"type": "enabled", "budget_tokens": 512}),
        "thinking.enabled.budget_tokens: Input should be greater than or equal to 1024",
    ),
    row("no budget", put("thinking", {"type": "enabled"}), "thinking.enabled.budget_tokens: Field required"),
    row(
        "budget over max_tokens",
        put("thinking", {"type": "enabled", "budget_tokens": 4_000}),
        "`max_tokens` must be greater than `thinking.budget_tokens`",
    ),
    row(
        "a budget at all",
        put("thinking", {"type": "enabled", "budget_tokens": 2_000}),
        '"thinking.type.enabled" is not supported for this model. Use "thinking.type.adaptive" '
        'and "output_config.effort" to control thinking behavior.',
    ),
    row(
        "budget when adaptive",
        put("thinking.budget_tokens", 2_000),
        "thinking.adaptive.budget_tokens: Extra inputs are not permitted",
    ),
    row(
        "unknown thinking",
        put("thinking.type", "auto"),
        "thinking: Input tag 'auto' found using 'type' does not match any of the expected tags: "
        "'adaptive', 'enabled', 'disabled'",
    ),
    row("temperature", put("temperature", 0.2), "`temperature` is deprecated for this model."),
    row(
        "unknown effort",
        put("output_config.effort", "huge"),
        "output_config.effort: Input should be 'low', 'medium', 'high', 'xhigh' or 'max'",
    ),
]


@pytest.mark.parametrize(("change", "message", "status"), TABLE)
async def test_a_broken_rule_gets_the_vendors_answer(change: Change, message: str, status: int):
    await check_row(change, message, status)
