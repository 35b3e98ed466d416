"""Anthropic Messages: the rules that need more than one field, each small and named.

A rule takes what was asked and returns the vendor's text, or None. `RULES` lists them in the order they are tried: the
vendor names one error at a time. Where a rule says which turn is at fault it uses the client's own message numbers.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property

from local.rehearsal.anthropic_cache import Segment, segments_of
from local.rehearsal.anthropic_compaction import since_compaction
from local.rehearsal.anthropic_images import image_problem
from local.rehearsal.anthropic_request import (
    CompactionBlock,
    EnabledThinking,
    ImageBlock,
    RedactedThinkingBlock,
    Request,
    TextBlock,
    ThinkingBlock,
    ToolResultBlock,
    ToolUseBlock,
    Turn,
)
from local.rehearsal.anthropic_thinking import signature_problem
from local.rehearsal.wire import WINDOW

MAX_OUTPUT = 32_000
MAX_CACHE_MARKS = 4


@dataclass(frozen=True)
class Asked:
    """A request of the right shape, its messages joined by role. `window`: tokens that it and its answer may have."""

    request: Request
    turns: list[Turn]
    window: int = WINDOW

    @cached_property
    def read(self) -> list[Turn]:
        """What of the turns the model reads: nothing before a compaction."""
        return since_compaction(self.turns)

    @cached_property
    def segments(self) -> list[Segment]:
        return segments_of(self.request, self.read)


Rule = Callable[[Asked], str | None]


# -- messages ---------------------------------------------------------------------------------------------------------


def there_is_a_message(asked: Asked) -> str | None:
    return None if asked.turns else "messages: at least one message is required"


def the_first_message_is_the_users(asked: Asked) -> str | None:
    """Or begins with a compaction, which stands for his."""
    first = asked.turns[0]
    if first.role == "user" or (first.blocks and isinstance(first.blocks[0].block, CompactionBlock)):
        return None
    return 'messages: first message must use the "user" role'


def every_block_stands_in_its_role(asked: Asked) -> str | None:
    for turn in asked.turns:
        for placed in turn.blocks:
            match placed.block:
                case ToolResultBlock() if turn.role == "assistant":
                    return f"messages.{placed.message}: `tool_result` blocks can only be in `user` messages"
                case ImageBlock() if turn.role == "assistant":
                    return f"{placed.at}: 'image' blocks are not permitted within assistant turns"
                case ToolUseBlock() if turn.role == "user":
                    return f"messages.{placed.message}: `tool_use` blocks can only be in `assistant` messages"
                case ThinkingBlock() | RedactedThinkingBlock() if turn.role == "user":
                    return f"messages.{placed.message}.content: thinking blocks may only be in `assistant` messages"
                case CompactionBlock() if turn.role == "user":
                    return f"messages.{placed.message}: `compaction` blocks can only be in `assistant` messages"
    return None


def every_message_has_content(asked: Asked) -> str | None:
    for number, message in enumerate(asked.request.messages):
        if message.content:
            continue
        if message.role == "user":
            return f"messages.{number}: user messages must have non-empty content"
        if number < len(asked.request.messages) - 1:
            return (
                f"messages.{number}: all messages must have non-empty content "
                f"except for the optional final assistant message"
            )
    return None


def _texts(asked: Asked) -> Iterator[tuple[str, bool]]:
    """All texts of the messages; True for those inside tool results."""
    for turn in asked.turns:
        for placed in turn.blocks:
            if isinstance(placed.block, TextBlock):
                yield placed.block.text, False
            elif isinstance(placed.block, ToolResultBlock):
                yield from ((part.text, True) for part in placed.block.content if isinstance(part, TextBlock))


def no_text_is_empty(asked: Asked) -> str | None:
    empty = any(not text for text, _ in _texts(asked))
    return "messages: text content blocks must be non-empty" if empty else None


def no_text_is_blank(asked: Asked) -> str | None:
    """Not inside tool results: a script may print nothing but a line feed."""
    blank = any(not text.strip() for text, in_result in _texts(asked) if not in_result)
    return "messages: text content blocks must contain non-whitespace text" if blank else None


def the_conversation_ends_with_the_user(asked: Asked) -> str | None:
    if asked.turns[-1].role == "user":
        return None
    return "This model does not support assistant message prefill. The conversation must end with a user message."


# -- calls and results ------------------------------------------------------------------------------------------------


def tool_use_ids_are_unique(asked: Asked) -> str | None:
    seen: set[str] = set()
    for turn in asked.turns:
        for placed, call in turn.of(ToolUseBlock):
            if call.id in seen:
                return f"{placed.at}: `tool_use` ids must be unique"
            seen.add(call.id)
    return None


def every_tool_use_is_answered_at_once(asked: Asked) -> str | None:
    """The results must stand at the head of the very next turn: text before them hides them."""
    for turn, following in zip(asked.turns, [*asked.turns[1:], None], strict=True):
        answered = set(_leading_results(following))
        open_calls = [(placed, call) for placed, call in turn.of(ToolUseBlock) if call.id not in answered]
        if open_calls:
            return (
                f"messages.{open_calls[0][0].message}: `tool_use` ids were found without `tool_result` blocks "
                f"immediately after: {', '.join(call.id for _, call in open_calls)}. Each `tool_use` block must have "
                f"a corresponding `tool_result` block in the next message."
            )
    return None


def _leading_results(turn: Turn | None) -> Iterator[str]:
    for placed in turn.blocks if turn else ():
        if not isinstance(placed.block, ToolResultBlock):
            return
        yield placed.block.tool_use_id


def every_result_answers_the_turn_before(asked: Asked) -> str | None:
    for before, turn in zip([None, *asked.turns], asked.turns, strict=False):
        calls = {call.id for _, call in before.of(ToolUseBlock)} if before else set()
        for placed, result in turn.of(ToolResultBlock):
            if result.tool_use_id not in calls:
                return (
                    f"{placed.at}: unexpected `tool_use_id` found in `tool_result` blocks: {result.tool_use_id}. "
                    f"Each `tool_result` block must have a corresponding `tool_use` block in the previous message."
                )
    return None


def every_call_has_one_result(asked: Asked) -> str | None:
    for turn in asked.turns:
        seen: set[str] = set()
        for placed, result in turn.of(ToolResultBlock):
            if result.tool_use_id in seen:
                return (
                    f"{placed.at}: each tool_use must have a single result. "
                    f"Found multiple `tool_result` blocks with id: {result.tool_use_id}"
                )
            seen.add(result.tool_use_id)
    return None


# -- thinking ---------------------------------------------------------------------------------------------------------


def thinking_is_followed_by_something(asked: Asked) -> str | None:
    for turn in asked.turns:
        last = turn.blocks[-1] if turn.blocks else None
        if last and isinstance(last.block, ThinkingBlock | RedactedThinkingBlock):
            return f"messages.{last.message}: The final block in an assistant message cannot be `{last.block.type}`."
    return None


def thinking_was_made_here(asked: Asked) -> str | None:
    return signature_problem(asked.request.model, asked.read)


def thinking_budget_fits(asked: Asked) -> str | None:
    thinking = asked.request.thinking
    if isinstance(thinking, EnabledThinking) and thinking.budget_tokens >= asked.request.max_tokens:
        return "`max_tokens` must be greater than `thinking.budget_tokens`"
    return None


def thinking_is_adaptive(asked: Asked) -> str | None:
    """The rehearsal behaves as the newer models do: they refuse thinking budgets."""
    if not isinstance(asked.request.thinking, EnabledThinking):
        return None
    return (
        '"thinking.type.enabled" is not supported for this model. Use "thinking.type.adaptive" and '
        '"output_config.effort" to control thinking behavior.'
    )


def sampling_is_the_models_own(asked: Asked) -> str | None:
    for name in ("temperature", "top_p", "top_k"):
        if getattr(asked.request, name) is not None:
            return f"`{name}` is deprecated for this model."
    return None


# -- tools ------------------------------------------------------------------------------------------------------------


def tool_names_are_unique(asked: Asked) -> str | None:
    names = [tool.name for tool in asked.request.tools]
    return "tools: Tool names must be unique." if len(set(names)) < len(names) else None


def no_schema_is_a_choice_at_its_top(asked: Asked) -> str | None:
    for index, tool in enumerate(asked.request.tools):
        if {"oneOf", "allOf", "anyOf"} & set(tool.input_schema.model_extra or ()):
            at = f"tools.{index}.custom.input_schema"
            return f"{at}: input_schema does not support oneOf, allOf, or anyOf at the top level"
    return None


def tool_choice_can_be_met(asked: Asked) -> str | None:
    choice, tools = asked.request.tool_choice, asked.request.tools
    if choice is None:
        return None
    if not tools:
        return f"tool_choice.{choice.type} may only be specified while providing tools."
    if choice.type == "none" and choice.disable_parallel_tool_use is not None:
        return "tool_choice.none.disable_parallel_tool_use: Extra inputs are not permitted"
    if choice.type == "tool" and choice.name is None:
        return "tool_choice.tool.name: Field required"
    if choice.type == "tool" and choice.name not in {tool.name for tool in tools}:
        return f"Tool '{choice.name}' not found in provided tools"
    if choice.type in ("any", "tool") and getattr(asked.request.thinking, "type", "disabled") != "disabled":
        return "Thinking may not be enabled when tool_choice forces tool use."
    return None


# -- cache marks and sizes --------------------------------------------------------------------------------------------


def no_empty_text_is_marked(asked: Asked) -> str | None:
    for segment in asked.segments:
        if segment.empty and segment.mark:
            return f"{segment.at}: cache_control cannot be set for empty text blocks"
    return None


def there_are_few_cache_marks(asked: Asked) -> str | None:
    found = sum(segment.mark is not None for segment in asked.segments)
    if found <= MAX_CACHE_MARKS:
        return None
    return f"A maximum of {MAX_CACHE_MARKS} blocks with cache_control may be provided. Found {found}."


def longer_cache_marks_stand_first(asked: Asked) -> str | None:
    short = False
    for segment in asked.segments:
        if segment.mark == "1h" and short:
            return (
                f"{segment.at.removesuffix('.text')}.cache_control.ttl: a ttl='1h' cache_control block must not come "
                f"after a ttl='5m' cache_control block. Note that blocks are processed in the following order: "
                f"`tools`, `system`, `messages`."
            )
        short = short or segment.mark == "5m"
    return None


def the_answer_fits_the_model(asked: Asked) -> str | None:
    wanted, model = asked.request.max_tokens, asked.request.model
    if wanted <= MAX_OUTPUT:
        return None
    return f"max_tokens: {wanted} > {MAX_OUTPUT}, which is the maximum allowed number of output tokens for {model}"


def the_prompt_fits_the_window(asked: Asked) -> str | None:
    prompt, wanted, window = asked.segments[-1].tokens, asked.request.max_tokens, asked.window
    if prompt > window:
        return f"prompt is too long: {prompt} tokens > {window} maximum"
    if prompt + wanted > window:
        return (
            f"input length and `max_tokens` exceed context limit: {prompt} + {wanted} > {window}, "
            f"decrease input length or `max_tokens` and try again"
        )
    return None


def pictures_can_be_seen(asked: Asked) -> str | None:
    return image_problem(asked.turns)


RULES: Sequence[Rule] = (
    there_is_a_message,
    the_first_message_is_the_users,
    every_block_stands_in_its_role,
    every_message_has_content,
    pictures_can_be_seen,  # before any rule that counts tokens: it decodes the pictures
    no_empty_text_is_marked,
    no_text_is_empty,
    no_text_is_blank,
    thinking_is_followed_by_something,
    tool_use_ids_are_unique,
    every_tool_use_is_answered_at_once,
    every_result_answers_the_turn_before,
    every_call_has_one_result,
    the_conversation_ends_with_the_user,
    there_are_few_cache_marks,
    longer_cache_marks_stand_first,
    tool_names_are_unique,
    no_schema_is_a_choice_at_its_top,
    tool_choice_can_be_met,
    thinking_budget_fits,
    thinking_is_adaptive,
    sampling_is_the_models_own,
    the_answer_fits_the_model,
    the_prompt_fits_the_window,
    thinking_was_made_here,
)


def problem_of(asked: Asked) -> str | None:
    """The vendor's text for the first rule the request breaks."""
    return next((problem for rule in RULES if (problem := rule(asked)) is not None), None)
