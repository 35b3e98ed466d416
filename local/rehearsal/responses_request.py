"""OpenAI Responses: the shape of a request, and the vendor's words for one that has another.

The vendor names the first field at fault in a text of its own ("Invalid 'input[3].call_id': string too long. ..."),
with a code and the field's path. Rules that need more than one field stand in responses_rules.py.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Annotated, Any, Literal

from pydantic import BaseModel, BeforeValidator, ConfigDict, Discriminator, Field, Tag

from local.rehearsal.openai_request import EXPECTED, FOUND, Denied, as_choice, parsed, path_of, unsupported

NAME = r"^[a-zA-Z0-9_-]+$"
MIN_OUTPUT = 16
MIN_THRESHOLD = 1_000
ASSISTANT = "message of the assistant"  # told apart from other messages: it has other parts
Status = Literal["in_progress", "completed", "incomplete"]
CallId = Annotated[str, Field(min_length=1, max_length=64)]
Name = Annotated[str, Field(pattern=NAME, max_length=64)]


class _Shape(BaseModel):
    model_config = ConfigDict(extra="forbid", strict=True, frozen=True)


# -- items ------------------------------------------------------------------------------------------------------------


class InputText(_Shape):
    type: Literal["input_text"]
    text: str = Field(min_length=1)
    prompt_cache_breakpoint: dict[str, Any] | None = None


class InputImage(_Shape):
    type: Literal["input_image"]
    image_url: str
    detail: Literal["low", "high", "auto", "original"] | None = None
    prompt_cache_breakpoint: dict[str, Any] | None = None


class OutputText(_Shape):
    type: Literal["output_text"]
    text: str = Field(min_length=1)
    annotations: list[dict[str, Any]] = []
    logprobs: list[dict[str, Any]] | None = None


class RefusalText(_Shape):
    type: Literal["refusal"]
    refusal: str = Field(min_length=1)


class SummaryText(_Shape):
    type: Literal["summary_text"]
    text: str


def _as_parts(kind: str) -> Callable[[Any], Any]:
    """A string is short for one text part of this kind."""
    return lambda value: [{"type": kind, "text": value}] if isinstance(value, str) else value


def _as_outputs(value: Any) -> Any:
    """An output may be empty: a script may print nothing."""
    return [] if value == "" else _as_parts("input_text")(value)


Input = Annotated[InputText | InputImage, Field(discriminator="type")]


class Message(_Shape):
    type: Literal["message"] = "message"
    role: Literal["user", "system", "developer"]
    content: Annotated[list[Input], Field(min_length=1), BeforeValidator(_as_parts("input_text"))]
    id: str | None = None
    status: Status | None = None


class Written(_Shape):
    """A message of the assistant."""

    type: Literal["message"] = "message"
    role: Literal["assistant"]
    content: Annotated[
        list[Annotated[OutputText | RefusalText, Field(discriminator="type")]],
        Field(min_length=1),
        BeforeValidator(_as_parts("output_text")),
    ]
    id: str | None = None
    status: Status | None = None
    phase: Literal["commentary", "final_answer"] | None = None


class FunctionCall(_Shape):
    type: Literal["function_call"]
    call_id: CallId
    name: Name
    arguments: str
    id: str | None = None
    status: Status | None = None


class FunctionCallOutput(_Shape):
    type: Literal["function_call_output"]
    call_id: CallId
    output: Annotated[list[Input], BeforeValidator(_as_outputs)]
    id: str | None = None
    status: Status | None = None


class Reasoning(_Shape):
    type: Literal["reasoning"]
    summary: list[SummaryText]
    id: str | None = None
    encrypted_content: str | None = None
    content: list[dict[str, Any]] | None = None
    status: Status | None = None


class Compaction(_Shape):
    type: Literal["compaction"]
    encrypted_content: str = Field(min_length=1)
    id: str | None = None


def _tag(value: Any) -> str | None:
    """Which item this is, as JSON or as its model. A message may leave out its type."""
    facts = value.__dict__ if isinstance(value, BaseModel) else value
    if not isinstance(facts, dict):
        return None
    kind = facts.get("type", "message" if "role" in facts else None)
    return ASSISTANT if kind == "message" and facts.get("role") == "assistant" else kind


Item = Annotated[
    Annotated[Message, Tag("message")]
    | Annotated[Written, Tag(ASSISTANT)]
    | Annotated[FunctionCall, Tag("function_call")]
    | Annotated[FunctionCallOutput, Tag("function_call_output")]
    | Annotated[Reasoning, Tag("reasoning")]
    | Annotated[Compaction, Tag("compaction")],
    Discriminator(_tag),
]


def _as_items(value: Any) -> Any:
    return [{"role": "user", "content": value}] if isinstance(value, str) else value


# -- request ----------------------------------------------------------------------------------------------------------


class Tool(_Shape):
    type: Literal["function"]
    name: Name
    parameters: dict[str, Any] | None = None
    strict: bool | None = None
    description: str | None = None


class ToolChoice(_Shape):
    """A mode, or one function by its name."""

    type: Literal["none", "auto", "required", "function"]
    name: str | None = None


class ReasoningOptions(_Shape):
    effort: Literal["none", "minimal", "low", "medium", "high", "xhigh", "max"] | None = None
    summary: Literal["auto", "concise", "detailed"] | None = None
    context: Literal["auto", "current_turn", "all_turns"] | None = None


class ContextEntry(_Shape):
    type: Literal["compaction"]
    compact_threshold: int = Field(ge=MIN_THRESHOLD)


class StreamOptions(_Shape):
    include_obfuscation: bool = True


class Request(_Shape):
    """The body of POST /v1/responses. What only changes how an answer is kept or billed is taken and ignored."""

    model: str
    input: Annotated[list[Item], Field(min_length=1), BeforeValidator(_as_items)]
    instructions: str | None = None
    tools: list[Tool] = []
    tool_choice: Annotated[ToolChoice, BeforeValidator(as_choice)] = ToolChoice(type="auto")
    parallel_tool_calls: bool | None = None
    max_output_tokens: Annotated[int, Field(ge=MIN_OUTPUT)] | None = None
    reasoning: ReasoningOptions = ReasoningOptions()
    context_management: list[ContextEntry] | None = None
    include: list[Literal["reasoning.encrypted_content", "message.output_text.logprobs"]] = []
    store: bool | None = None
    stream: bool = False
    stream_options: StreamOptions | None = None
    previous_response_id: str | None = None
    prompt_cache_key: Annotated[str, Field(max_length=64)] | None = None
    truncation: Literal["auto", "disabled"] | None = None
    temperature: float | None = None
    top_p: float | None = None
    text: dict[str, Any] | None = None
    metadata: dict[str, str] | None = None
    service_tier: str | None = None
    safety_identifier: str | None = None
    user: str | None = None


def parse(body: bytes) -> Request:
    """The request.

    Raises:
        Denied: 400; the message names the first field at fault.
    """
    return parsed(Request, body, _denied)


# -- the vendor's words -----------------------------------------------------------------------------------------------

EITHER = ("input", "content", "output")
SORTS = {
    "message",
    ASSISTANT,
    "function_call",
    "function_call_output",
    "reasoning",
    "compaction",
    "input_text",
    "input_image",
    "output_text",
    "refusal",
}


def _denied(problem: Mapping[str, Any]) -> Denied:
    at, kind, value, facts = path_of(problem["loc"], SORTS), problem["type"], problem["input"], problem.get("ctx", {})
    match kind:
        case "extra_forbidden":
            return Denied(f"Unknown parameter: '{at}'.", "unknown_parameter", at)
        case "missing":
            return Denied(f"Missing required parameter: '{at}'.", "missing_required_parameter", at)
        case "union_tag_not_found":
            return _untagged(at, value)
        case "union_tag_invalid":
            return unsupported(f"{at}.type", facts["tag"], facts["expected_tags"])
        case "literal_error":
            return unsupported(at, value, facts["expected"])
        case "string_too_long":
            told = f"string too long. Expected a string with maximum length {facts['max_length']}, but got a string"
            return Denied(f"Invalid '{at}': {told} with length {len(value)} instead.", "string_above_max_length", at)
        case "string_too_short":
            told = "empty string. Expected a string with minimum length 1, but got an empty string instead."
            return Denied(f"Invalid '{at}': {told}", "empty_string", at)
        case "too_short":
            told = "empty array. Expected an array with minimum length 1, but got an empty array instead."
            return Denied(f"Invalid '{at}': {told}", "empty_array", at)
        case "string_pattern_mismatch":
            told = "string does not match pattern. Expected a string that matches the pattern"
            return Denied(f"Invalid '{at}': {told} '{facts['pattern']}'.", "invalid_value", at)
        case "greater_than_equal":
            told = f"integer below minimum value. Expected a value >= {facts['ge']}, but got {value} instead."
            return Denied(f"Invalid '{at}': {told}", "integer_below_min_value", at)
    return _mistyped(at, EXPECTED.get(kind, "another value"), value)


def _untagged(at: str, value: Any) -> Denied:
    if not isinstance(value, dict):
        return _mistyped(at, "an object", value)
    return Denied(f"Missing required parameter: '{at}.type'.", "missing_required_parameter", f"{at}.type")


def _mistyped(at: str, expected: str, value: Any) -> Denied:
    if expected == "an array" and at.rpartition(".")[2] in EITHER:
        expected = "one of an array of objects or string"
    found = FOUND.get(type(value), "null")
    return Denied(f"Invalid type for '{at}': expected {expected}, but got {found} instead.", "invalid_type", at)
