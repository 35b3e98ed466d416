"""Anthropic Messages: the shape of a request.

The vendor's own field errors come from pydantic ("messages.1.content.0.tool_use.id: String should match pattern ..."),
so pydantic models of its request give the same texts; `_vendor_text` irons out where the paths differ.
Rules that need more than one field stand in anthropic_rules.py.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Annotated, Any, Literal, TypeVar

from pydantic import BaseModel, BeforeValidator, ConfigDict, Field, ValidationError

from local.rehearsal.wire import Refused

SYSTEM_ROLE = (
    'messages: Unexpected role "system". The Messages API accepts a top-level `system` parameter, '
    'not "system" as an input message role.'
)
ID = r"^[a-zA-Z0-9_-]+$"
NAME = r"^[a-zA-Z0-9_-]{1,128}$"
MIN_BUDGET = 1_024
MIN_TRIGGER = 50_000
B = TypeVar("B", bound=BaseModel)


def _as_blocks(value: Any) -> Any:
    """A string is short for one text block, an empty one for none."""
    if isinstance(value, str):
        return [{"type": "text", "text": value}] if value else []
    return value


class _Shape(BaseModel):
    model_config = ConfigDict(extra="forbid", strict=True, frozen=True)


class CacheControl(_Shape):
    type: Literal["ephemeral"]
    ttl: Literal["5m", "1h"] = "5m"


class TextBlock(_Shape):
    type: Literal["text"]
    text: str
    cache_control: CacheControl | None = None


class Base64Source(_Shape):
    type: Literal["base64"]
    media_type: Literal["image/jpeg", "image/png", "image/gif", "image/webp"]
    data: str


class UrlSource(_Shape):
    type: Literal["url"]
    url: str


class ImageBlock(_Shape):
    type: Literal["image"]
    source: Annotated[Base64Source | UrlSource, Field(discriminator="type")]
    cache_control: CacheControl | None = None


class ToolUseBlock(_Shape):
    type: Literal["tool_use"]
    id: str = Field(pattern=ID)
    name: str = Field(pattern=NAME)
    input: dict[str, Any]
    caller: dict[str, Any] | None = None
    cache_control: CacheControl | None = None


class ToolResultBlock(_Shape):
    type: Literal["tool_result"]
    tool_use_id: str = Field(pattern=ID)
    content: Annotated[
        list[Annotated[TextBlock | ImageBlock, Field(discriminator="type")]], BeforeValidator(_as_blocks)
    ] = []
    is_error: bool = False
    cache_control: CacheControl | None = None


class ThinkingBlock(_Shape):
    type: Literal["thinking"]
    thinking: str
    signature: str


class RedactedThinkingBlock(_Shape):
    type: Literal["redacted_thinking"]
    data: str


class CompactionBlock(_Shape):
    """Without `content` it is a compaction that failed."""

    type: Literal["compaction"]
    content: Annotated[str, Field(min_length=1)] | None = None
    encrypted_content: str | None = None
    signature: str | None = None
    cache_control: CacheControl | None = None


Block = Annotated[
    TextBlock | ImageBlock | ToolUseBlock | ToolResultBlock | ThinkingBlock | RedactedThinkingBlock | CompactionBlock,
    Field(discriminator="type"),
]


class Message(_Shape):
    role: Literal["user", "assistant"]
    content: Annotated[list[Block], BeforeValidator(_as_blocks)]


class InputSchema(BaseModel):
    """A JSON Schema, looked at only where the vendor looks."""

    model_config = ConfigDict(extra="allow", strict=True, frozen=True)

    type: Literal["object"]
    properties: dict[str, Any] | None = None
    required: list[str] | None = None


class Tool(_Shape):
    name: str = Field(pattern=NAME)
    input_schema: InputSchema
    type: Literal["custom"] | None = None
    description: str | None = None
    eager_input_streaming: bool | None = None
    strict: bool | None = None
    defer_loading: bool | None = None
    input_examples: list[dict[str, Any]] | None = None
    allowed_callers: list[str] | None = None
    cache_control: CacheControl | None = None


class AdaptiveThinking(_Shape):
    type: Literal["adaptive"]
    display: Literal["summarized", "omitted"] | None = None


class EnabledThinking(_Shape):
    type: Literal["enabled"]
    budget_tokens: int = Field(ge=MIN_BUDGET)
    display: Literal["summarized", "omitted"] | None = None


class DisabledThinking(_Shape):
    type: Literal["disabled"]


class ToolChoice(_Shape):
    type: Literal["auto", "any", "tool", "none"]
    name: str | None = None
    disable_parallel_tool_use: bool | None = None


class OutputConfig(_Shape):
    effort: Literal["low", "medium", "high", "xhigh", "max"] | None = None


class InputTokensTrigger(_Shape):
    type: Literal["input_tokens"]
    value: int = Field(ge=MIN_TRIGGER)


class Compact(_Shape):
    """Of the edits that the vendor knows, the one that the rehearsal plays."""

    type: Literal["compact_20260112"]
    trigger: InputTokensTrigger | None = None


class ContextManagement(_Shape):
    edits: list[Compact] = []


class Metadata(_Shape):
    user_id: str | None = None


class Request(_Shape):
    """The body of POST /v1/messages. `stop_sequences`, `metadata` and `service_tier` are taken and change nothing."""

    model: str
    messages: list[Message]
    max_tokens: int = Field(ge=0)
    system: Annotated[list[TextBlock], BeforeValidator(_as_blocks)] = []
    tools: list[Tool] = []
    tool_choice: ToolChoice | None = None
    thinking: Annotated[AdaptiveThinking | EnabledThinking | DisabledThinking, Field(discriminator="type")] | None = (
        None
    )
    output_config: OutputConfig | None = None
    context_management: ContextManagement | None = None
    stream: bool = False
    cache_control: CacheControl | None = None
    temperature: float | None = None
    top_p: float | None = None
    top_k: int | None = None
    stop_sequences: list[str] | None = None
    metadata: Metadata | None = None
    service_tier: Literal["auto", "standard_only"] | None = None


@dataclass(frozen=True)
class Placed:
    """A block and where the client put it: `messages.{message}.content.{index}`."""

    message: int
    index: int
    block: Block

    @property
    def at(self) -> str:
        return f"messages.{self.message}.content.{self.index}"


@dataclass(frozen=True)
class Turn:
    """Neighbouring messages of one role: the vendor takes them as one."""

    role: Literal["user", "assistant"]
    blocks: list[Placed]

    def of(self, kind: type[B]) -> list[tuple[Placed, B]]:
        """The blocks of one kind, each with its place."""
        return [(placed, placed.block) for placed in self.blocks if isinstance(placed.block, kind)]


def parse(body: bytes) -> Request:
    """The request.

    Raises:
        Refused: 400; the message names the first field at fault.
    """
    try:
        return Request.model_validate(json.loads(body))
    except ValidationError as error:
        raise Refused(400, "invalid_request_error", _vendor_text(error.errors()[0])) from error
    except ValueError as error:
        raise Refused(400, "invalid_request_error", f"The request body is not valid JSON: {error}") from error


def _vendor_text(problem: Mapping[str, Any]) -> str:
    steps = [str(step) for step in problem["loc"]]
    if steps[-1:] == ["role"] and problem["input"] == "system":
        return SYSTEM_ROLE
    if steps[:1] == ["tools"] and len(steps) > 2:
        steps.insert(2, "custom")  # the vendor tells tools apart by a type that defaults to this
    if problem["type"] == "union_tag_not_found":
        return f"{'.'.join([*steps, 'type'])}: Field required"
    return f"{'.'.join(steps) or 'body'}: {problem['msg']}"


def turns_of(request: Request) -> list[Turn]:
    """The messages with neighbours of one role joined."""
    turns: list[Turn] = []
    for number, message in enumerate(request.messages):
        placed = [Placed(number, index, block) for index, block in enumerate(message.content)]
        if turns and turns[-1].role == message.role:
            turns[-1].blocks.extend(placed)
        else:
            turns.append(Turn(message.role, placed))
    return turns


def canonical(block: BaseModel) -> str:
    """The block's content as JSON, the same however it was written down; where cache marks stand is not content."""
    marks: dict[str, Any] = {"cache_control": True, "caller": True}
    if isinstance(block, ToolResultBlock):
        marks["content"] = {"__all__": {"cache_control"}}
    return json.dumps(block.model_dump(exclude=marks, exclude_none=True), sort_keys=True, ensure_ascii=False)
