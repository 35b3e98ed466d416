"""Gemini: the shape of a request.

The vendor reads JSON into protocol buffers: a name may be written in camelCase or snake_case, bytes in either base64
alphabet, one element where a list is meant; anything else is refused with the path in snake_case. Fields that no client
of ours would send (files, the vendor's own tools) are unknown here.
Rules that need more than one field stand in gemini_rules.py.
"""

from __future__ import annotations

import base64
import binascii
import json
import re
from collections.abc import Mapping, Sequence
from typing import Annotated, Any, Literal

from pydantic import AfterValidator, BaseModel, BeforeValidator, ConfigDict, ValidationError
from pydantic.alias_generators import to_camel

from local.rehearsal.wire import Refused

PACKAGE = "type.googleapis.com/google.ai.generativelanguage.v1beta"
SCALARS = {"int": "TYPE_INT32", "float": "TYPE_FLOAT", "string": "TYPE_STRING", "bool": "TYPE_BOOL"}
ENUMS = {"thinking_level": "ThinkingConfig.ThinkingLevel", "mode": "FunctionCallingConfig.Mode"}


class GeminiRefused(Refused):
    """`details`: what the vendor adds to the text, in google.rpc's types."""

    def __init__(self, status: int, kind: str, message: str, details: Sequence[Mapping[str, Any]] = ()) -> None:
        super().__init__(status, kind, message)
        self.details = list(details)


def invalid(message: str) -> GeminiRefused:
    return GeminiRefused(400, "INVALID_ARGUMENT", message)


def decoded(text: str) -> bytes:
    """Bytes written as base64, in the standard or the URL-safe alphabet, padded or not.

    Raises:
        binascii.Error: they are not.
    """
    plain = text.rstrip("=").replace("-", "+").replace("_", "/")
    return base64.b64decode(plain + "=" * (-len(plain) % 4), validate=True)


def _is_base64(text: str) -> str:
    try:
        decoded(text)
    except binascii.Error as error:
        raise ValueError("Base64 decoding failed") from error
    return text


def _as_list(value: Any) -> Any:
    return [value] if isinstance(value, dict) else value


Bytes = Annotated[str, AfterValidator(_is_base64)]


class _Shape(BaseModel):
    model_config = ConfigDict(extra="forbid", frozen=True, alias_generator=to_camel, populate_by_name=True)


class Blob(_Shape):
    mime_type: str = ""
    data: Bytes = ""


class FunctionCall(_Shape):
    id: str | None = None
    name: str = ""
    args: dict[str, Any] = {}


class FunctionResponsePart(_Shape):
    inline_data: Blob


class FunctionResponse(_Shape):
    id: str | None = None
    name: str = ""
    response: dict[str, Any] = {}
    parts: Annotated[list[FunctionResponsePart], BeforeValidator(_as_list)] = []


class Part(_Shape):
    text: str | None = None
    inline_data: Blob | None = None
    function_call: FunctionCall | None = None
    function_response: FunctionResponse | None = None
    thought: bool = False
    thought_signature: Bytes | None = None

    def data(self) -> list[str]:
        """Names of the fields that hold the part's content, as JSON spells them; exactly one may."""
        fields = ("text", "inline_data", "function_call", "function_response")
        return [to_camel(name) for name in fields if getattr(self, name) is not None]


class Content(_Shape):
    role: str = "user"
    parts: Annotated[list[Part], BeforeValidator(_as_list)] = []

    @property
    def calls(self) -> list[FunctionCall]:
        return [part.function_call for part in self.parts if part.function_call is not None]

    @property
    def responses(self) -> list[FunctionResponse]:
        return [part.function_response for part in self.parts if part.function_response is not None]


class FunctionDeclaration(_Shape):
    name: str = ""
    description: str = ""
    parameters: dict[str, Any] | None = None
    parameters_json_schema: dict[str, Any] | None = None


class Tool(_Shape):
    function_declarations: Annotated[list[FunctionDeclaration], BeforeValidator(_as_list)] = []


class FunctionCallingConfig(_Shape):
    mode: Literal["MODE_UNSPECIFIED", "AUTO", "ANY", "NONE", "VALIDATED"] = "AUTO"
    allowed_function_names: list[str] = []


class ToolConfig(_Shape):
    function_calling_config: FunctionCallingConfig = FunctionCallingConfig()


class ThinkingConfig(_Shape):
    include_thoughts: bool = False
    thinking_budget: int | None = None
    thinking_level: Literal["THINKING_LEVEL_UNSPECIFIED", "MINIMAL", "LOW", "MEDIUM", "HIGH", "XHIGH"] | None = None


class GenerationConfig(_Shape):
    """Sampling is taken and changes nothing."""

    max_output_tokens: int | None = None
    thinking_config: ThinkingConfig = ThinkingConfig()
    temperature: float | None = None
    top_p: float | None = None
    top_k: float | None = None
    seed: int | None = None
    candidate_count: int | None = None
    stop_sequences: list[str] = []


class Request(_Shape):
    """The body of POST models/{model}:streamGenerateContent."""

    contents: Annotated[list[Content], BeforeValidator(_as_list)] = []
    system_instruction: Content | None = None
    tools: Annotated[list[Tool], BeforeValidator(_as_list)] = []
    tool_config: ToolConfig = ToolConfig()
    generation_config: GenerationConfig = GenerationConfig()
    safety_settings: list[dict[str, Any]] = []

    @property
    def declarations(self) -> list[FunctionDeclaration]:
        return [declaration for tool in self.tools for declaration in tool.function_declarations]


def parse(body: bytes) -> Request:
    """The request.

    Raises:
        GeminiRefused: 400; names every field at fault.
    """
    try:
        return Request.model_validate(json.loads(body))
    except ValidationError as error:
        violations = [_violation(problem) for problem in error.errors()]
        message = "\n".join(violation["description"] for violation in violations)
        details = {"@type": "type.googleapis.com/google.rpc.BadRequest", "fieldViolations": violations}
        raise GeminiRefused(400, "INVALID_ARGUMENT", message, [details]) from error
    except ValueError as error:
        raise invalid(f"Invalid JSON payload received. {error}") from error


def _violation(problem: Mapping[str, Any]) -> dict[str, str]:
    """One problem as the vendor's `google.rpc.BadRequest.FieldViolation`."""
    *above, last = problem["loc"] or ("",)
    kind, value = str(problem["type"]), problem["input"]
    if kind == "extra_forbidden":
        return _unknown(above, last, "Cannot find field.")
    if isinstance(value, list):
        return _unknown(above, last, "Proto field is not repeating, cannot start list.")
    field = _path(problem["loc"])
    shown = json.dumps(value, ensure_ascii=False)
    if kind == "value_error":
        return {
            "field": field,
            "description": f"Invalid value at '{field}' (TYPE_BYTES), Base64 decoding failed for {shown}",
        }
    return {"field": field, "description": f"Invalid value at '{field}' ({_type(kind, problem)}), {shown}"}


def _unknown(above: Sequence[str | int], name: str | int, why: str) -> dict[str, str]:
    at = f" at '{_path(above)}'" if above else ""
    violation = {"field": _path(above)} if above else {}
    return violation | {"description": f'Invalid JSON payload received. Unknown name "{name}"{at}: {why}'}


def _type(kind: str, problem: Mapping[str, Any]) -> str:
    head = kind.split("_")[0]
    if head in SCALARS:
        return SCALARS[head]
    if head == "literal":
        return f"{PACKAGE}.{ENUMS[_snake(str(problem['loc'][-1]))]}"
    if head == "dict":
        return "type.googleapis.com/google.protobuf.Struct"
    name = problem.get("ctx", {}).get("class_name", "")
    return f"{PACKAGE}.{name or _snake(str(problem['loc'][-1]))}"


def _path(steps: Sequence[str | int]) -> str:
    return "".join(f"[{step}]" if isinstance(step, int) else f".{_snake(step)}" for step in steps).lstrip(".")


def _snake(name: str) -> str:
    return re.sub(r"(?<!^)([A-Z])", r"_\1", name).lower()
