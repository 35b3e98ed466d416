"""OpenAI Responses: the rules that need more than one field, each small and named.

A rule takes what was asked and returns the vendor's refusal, or None. `RULES` lists them in the order they are tried:
the vendor names one error at a time.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import Any

from local.rehearsal.openai_request import Denied
from local.rehearsal.responses_images import image_problem
from local.rehearsal.responses_reasoning import (
    PREFIXES,
    encryption_problem,
    missing_reasoning,
    orphaned_reasoning,
    persistence_problem,
)
from local.rehearsal.responses_request import FunctionCall, FunctionCallOutput, Request
from local.rehearsal.wire import MODEL

MAX_OUTPUT = 32_000
Rule = Callable[[Request], Denied | None]


def too_long() -> Denied:
    """No rule: told in the stream where there is one, for the prompt is counted after the answer has begun."""
    message = "Your input exceeds the context window of this model. Please adjust your input and try again."
    return Denied(message, "context_length_exceeded", "input")


# -- the request ------------------------------------------------------------------------------------------------------


def the_model_exists(request: Request) -> Denied | None:
    if request.model == MODEL:
        return None
    return Denied(f"The requested model '{request.model}' does not exist.", "model_not_found", "model")


def sampling_is_the_models_own(request: Request) -> Denied | None:
    for name in ("temperature", "top_p"):
        if getattr(request, name) is not None:
            message = f"Unsupported parameter: '{name}' is not supported with this model."
            return Denied(message, "unsupported_parameter", name)
    return None


def stream_options_need_a_stream(request: Request) -> Denied | None:
    if request.stream_options is None or request.stream:
        return None
    message = "The 'stream_options' parameter is only allowed when 'stream' is enabled."
    return Denied(message, param="stream_options")


def nothing_came_before(request: Request) -> Denied | None:
    """The rehearsal keeps no answers."""
    if request.previous_response_id is None:
        return None
    message = f"Previous response with id '{request.previous_response_id}' not found."
    return Denied(message, "previous_response_not_found", "previous_response_id")


def the_answer_fits_the_model(request: Request) -> Denied | None:
    wanted = request.max_output_tokens or 0
    if wanted <= MAX_OUTPUT:
        return None
    supported = f"This model supports at most {MAX_OUTPUT} output tokens, whereas you provided {wanted}."
    return Denied(f"max_output_tokens is too large: {wanted}. {supported}", "invalid_value", "max_output_tokens")


# -- tools ------------------------------------------------------------------------------------------------------------


def schemas_are_objects(request: Request) -> Denied | None:
    for index, tool in enumerate(request.tools):
        kind = (tool.parameters or {}).get("type", "None")
        if tool.parameters is not None and kind != "object":
            told = f"schema must be a JSON Schema of 'type: \"object\"', got 'type: \"{kind}\"'."
            return _bad_schema(index, tool.name, told)
    return None


def strict_schemas_are_strict(request: Request) -> Denied | None:
    """Only where `strict` is asked for: left out, the vendor tries, and falls back."""
    for index, tool in enumerate(request.tools):
        if tool.strict and (told := next(_looseness(tool.parameters or {}, ()), None)) is not None:
            return _bad_schema(index, tool.name, told)
    return None


def _looseness(schema: Any, context: tuple[str, ...]) -> Iterator[str]:
    if not isinstance(schema, dict):
        return
    if schema.get("type") == "object":
        properties = schema.get("properties", {})
        missing = next((name for name in properties if name not in schema.get("required", ())), None)
        if missing is not None:
            told = "'required' is required to be supplied and to be an array including every key in properties."
            yield f"In context={context!r}, {told} Missing '{missing}'."
        if schema.get("additionalProperties") is not False:
            yield f"In context={context!r}, 'additionalProperties' is required to be supplied and to be false."
        for name, inner in properties.items():
            yield from _looseness(inner, (*context, "properties", name))
    yield from _looseness(schema.get("items"), (*context, "items"))


def _bad_schema(index: int, name: str, told: str) -> Denied:
    message = f"Invalid schema for function '{name}': {told}"
    return Denied(message, "invalid_function_parameters", f"tools[{index}].parameters")


def tool_choice_can_be_met(request: Request) -> Denied | None:
    choice = request.tool_choice
    if choice.type == "function" and choice.name is None:
        message = "Missing required parameter: 'tool_choice.name'."
        return Denied(message, "missing_required_parameter", "tool_choice.name")
    if choice.type == "function" and choice.name not in {tool.name for tool in request.tools}:
        return Denied(f"Tool choice '{choice.name}' not found in 'tools' parameter.", param="tool_choice")
    if choice.type == "required" and not request.tools:
        message = "Tool choice 'required' must be specified with 'tools' parameter."
        return Denied(message, param="tool_choice")
    return None


# -- items ------------------------------------------------------------------------------------------------------------


def ids_tell_what_they_are(request: Request) -> Denied | None:
    for number, item in enumerate(request.input):
        prefix = PREFIXES[type(item)]
        if item.id is not None and not item.id.startswith(prefix):
            at = f"input[{number}].id"
            message = f"Invalid '{at}': '{item.id}'. Expected an ID that begins with '{prefix}'."
            return Denied(message, "invalid_id_prefix", at)
    return None


def no_item_comes_twice(request: Request) -> Denied | None:
    seen: set[str] = set()
    for item in request.input:
        if item.id in seen:
            message = f"Duplicate item found with id {item.id}. Remove duplicate items from your input and try again."
            return Denied(message, param="input")
        seen |= {item.id} if item.id else set()
    return None


def every_output_answers_a_call_before_it(request: Request) -> Denied | None:
    calls: set[str] = set()
    for item in request.input:
        if isinstance(item, FunctionCall):
            calls.add(item.call_id)
        elif isinstance(item, FunctionCallOutput) and item.call_id not in calls:
            message = f"No tool call found for function call output with call_id {item.call_id}."
            return Denied(message, param="input")
    return None


def every_call_has_an_output(request: Request) -> Denied | None:
    outputs = {item.call_id for item in request.input if isinstance(item, FunctionCallOutput)}
    for item in request.input:
        if isinstance(item, FunctionCall) and item.call_id not in outputs:
            return Denied(f"No tool output found for function call {item.call_id}.", param="input")
    return None


def call_ids_are_used_once(request: Request) -> Denied | None:
    for kind in (FunctionCall, FunctionCallOutput):
        found = [item.call_id for item in request.input if isinstance(item, kind)]
        twice = next((call_id for call_id in found if found.count(call_id) > 1), None)
        if twice is not None:
            name = "function_call" if kind is FunctionCall else "function_call_output"
            told = "Each function_call must have exactly one matching function_call_output."
            return Denied(f"Duplicate {name} for call_id '{twice}'. {told}", param="input")
    return None


def reasoning_can_be_found(request: Request) -> Denied | None:
    return persistence_problem(request.input, request.store)


def reasoning_can_be_read(request: Request) -> Denied | None:
    return encryption_problem(request.input)


def reasoning_is_followed_by_its_item(request: Request) -> Denied | None:
    return orphaned_reasoning(request.input)


def items_come_with_their_reasoning(request: Request) -> Denied | None:
    return missing_reasoning(request.input)


def pictures_can_be_seen(request: Request) -> Denied | None:
    return image_problem(request.input)


RULES: Sequence[Rule] = (
    the_model_exists,
    sampling_is_the_models_own,
    stream_options_need_a_stream,
    the_answer_fits_the_model,
    schemas_are_objects,
    strict_schemas_are_strict,
    tool_choice_can_be_met,
    nothing_came_before,
    ids_tell_what_they_are,
    no_item_comes_twice,
    pictures_can_be_seen,
    every_output_answers_a_call_before_it,
    every_call_has_an_output,
    call_ids_are_used_once,
    reasoning_can_be_found,
    reasoning_is_followed_by_its_item,
    items_come_with_their_reasoning,
    reasoning_can_be_read,
)


def problem_of(request: Request) -> Denied | None:
    """The vendor's answer to the first rule the request breaks."""
    return next((problem for rule in RULES if (problem := rule(request)) is not None), None)
