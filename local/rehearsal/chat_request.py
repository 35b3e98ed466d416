"""OpenAI Chat Completions: the shape of a request. Its words for one that has another stand in chat_words.py.

Rules that need more than one field stand in chat_rules.py; pictures may lie in any message here, so that the vendor's
own answer to a misplaced one can be given there.
"""

from __future__ import annotations

from typing import Annotated, Any, Literal

from pydantic import BaseModel, BeforeValidator, ConfigDict, Field

from local.rehearsal.chat_words import denied
from local.rehearsal.openai_request import as_choice, parsed

CallId = Annotated[str, Field(min_length=1, max_length=40)]
Name = Annotated[str, Field(pattern=r"^[a-zA-Z0-9_-]+$", max_length=64)]
Limit = Annotated[int, Field(ge=1)]


class _Shape(BaseModel):
    model_config = ConfigDict(extra="forbid", strict=True, frozen=True)


# -- messages ---------------------------------------------------------------------------------------------------------


class TextPart(_Shape):
    type: Literal["text"]
    text: str


class ImageUrl(_Shape):
    url: str
    detail: Literal["auto", "low", "high"] | None = None


class ImagePart(_Shape):
    type: Literal["image_url"]
    image_url: ImageUrl


class RefusalPart(_Shape):
    type: Literal["refusal"]
    refusal: str


Part = Annotated[TextPart | ImagePart | RefusalPart, Field(discriminator="type")]


def _as_parts(value: Any) -> Any:
    """A string is short for one text part."""
    return [{"type": "text", "text": value}] if isinstance(value, str) else value


Content = Annotated[list[Part], Field(min_length=1), BeforeValidator(_as_parts)] | None


class System(_Shape):
    role: Literal["system", "developer"]
    content: Content
    name: str | None = None


class User(_Shape):
    role: Literal["user"]
    content: Content
    name: str | None = None


class Function(_Shape):
    name: Name
    arguments: str


class ToolCall(_Shape):
    id: CallId
    type: Literal["function"]
    function: Function


class Assistant(_Shape):
    """`refusal` and `annotations` come with an answer and may come back."""

    role: Literal["assistant"]
    content: Content = None
    tool_calls: Annotated[list[ToolCall], Field(min_length=1)] | None = None
    refusal: str | None = None
    annotations: list[dict[str, Any]] | None = None
    name: str | None = None


class Tool(_Shape):
    role: Literal["tool"]
    content: Content
    tool_call_id: CallId | None = None
    name: str | None = None


Message = Annotated[System | User | Assistant | Tool, Field(discriminator="role")]


def texts_of(message: Message) -> list[str]:
    return [part.text for part in message.content or () if isinstance(part, TextPart)]


# -- request ----------------------------------------------------------------------------------------------------------


class Declared(_Shape):
    name: Name
    description: str | None = None
    parameters: dict[str, Any] | None = None
    strict: bool | None = None


class DeclaredTool(_Shape):
    type: Literal["function"]
    function: Declared


class ChosenFunction(_Shape):
    name: str


class Choice(_Shape):
    """A mode, or one function by its name."""

    type: Literal["none", "auto", "required", "function"]
    function: ChosenFunction | None = None


class StreamOptions(_Shape):
    include_usage: bool = False
    include_obfuscation: bool = True


class Request(_Shape):
    """The body of POST /v1/chat/completions. What only changes how an answer is kept or billed is taken and ignored."""

    model: str
    messages: Annotated[list[Message], Field(min_length=1)]
    tools: Annotated[list[DeclaredTool], Field(min_length=1)] | None = None
    tool_choice: Annotated[Choice, BeforeValidator(as_choice)] | None = None
    parallel_tool_calls: bool | None = None
    max_tokens: Limit | None = None
    max_completion_tokens: Limit | None = None
    reasoning_effort: Literal["none", "minimal", "low", "medium", "high", "xhigh"] | None = None
    stream: bool | None = None
    stream_options: StreamOptions | None = None
    n: Annotated[int, Field(ge=1, le=1)] | None = None
    prompt_cache_key: Annotated[str, Field(max_length=64)] | None = None
    temperature: float | None = None
    top_p: float | None = None
    seed: int | None = None
    store: bool | None = None
    metadata: dict[str, str] | None = None
    service_tier: str | None = None
    safety_identifier: str | None = None
    user: str | None = None
    verbosity: Literal["low", "medium", "high"] | None = None

    @property
    def limit(self) -> int | None:
        """Tokens that the answer may take."""
        return self.max_completion_tokens or self.max_tokens

    @property
    def names(self) -> frozenset[str]:
        return frozenset(tool.function.name for tool in self.tools or ())


def parse(body: bytes) -> Request:
    """The request.

    Raises:
        Denied: 400; the message names the first field at fault.
    """
    return parsed(Request, body, denied)
