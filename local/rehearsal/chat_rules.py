"""OpenAI Chat Completions: the rules that need more than one field, each small and named.

A rule takes what was asked and returns the vendor's refusal, or None. `RULES` lists them in the order they are tried:
the vendor names one error at a time. Paths of messages have a dot before the index here, as the vendor writes them.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence

from local.rehearsal.chat_images import image_problem, misplaced_image
from local.rehearsal.chat_request import Assistant, Request, Tool
from local.rehearsal.openai_request import Denied
from local.rehearsal.wire import MODEL

MAX_OUTPUT = 32_000
Rule = Callable[[Request], Denied | None]


# -- the request ------------------------------------------------------------------------------------------------------


def the_model_exists(request: Request) -> Denied | None:
    if request.model == MODEL:
        return None
    message = f"The model `{request.model}` does not exist or you do not have access to it."
    return Denied(message, "model_not_found", status=404)


def there_is_one_limit(request: Request) -> Denied | None:
    if request.max_tokens is None or request.max_completion_tokens is None:
        return None
    message = "Setting 'max_tokens' and 'max_completion_tokens' at the same time is not supported."
    return Denied(message, "invalid_parameter_combination")


def the_answer_fits_the_model(request: Request) -> Denied | None:
    wanted = request.limit or 0
    if wanted <= MAX_OUTPUT:
        return None
    told = f"This model supports at most {MAX_OUTPUT} completion tokens, whereas you provided {wanted}."
    return Denied(f"max_tokens is too large: {wanted}. {told}", "invalid_value", "max_tokens")


def sampling_is_the_models_own(request: Request) -> Denied | None:
    for name in ("temperature", "top_p"):
        if (value := getattr(request, name)) not in (None, 1):
            told = f"'{name}' does not support {value} with this model. Only the default (1) value is supported."
            return Denied(f"Unsupported value: {told}", "unsupported_value", name)
    return None


def stream_options_need_a_stream(request: Request) -> Denied | None:
    if request.stream_options is None or request.stream:
        return None
    message = "The 'stream_options' parameter is only allowed when 'stream' is enabled."
    return Denied(message, param="stream_options")


# -- tools ------------------------------------------------------------------------------------------------------------


def options_of_tools_need_tools(request: Request) -> Denied | None:
    for name in ("tool_choice", "parallel_tool_calls"):
        if getattr(request, name) is not None and not request.tools:
            told = f"'{name}' is only allowed when 'tools' are specified."
            return Denied(f"Invalid value for '{name}': {told}", param=name)
    return None


def schemas_are_objects(request: Request) -> Denied | None:
    for index, tool in enumerate(request.tools or ()):
        kind = (tool.function.parameters or {}).get("type", "None")
        if tool.function.parameters is not None and kind != "object":
            told = f"schema must be a JSON Schema of 'type: \"object\"', got 'type: \"{kind}\"'."
            message = f"Invalid schema for function '{tool.function.name}': {told}"
            return Denied(message, "invalid_function_parameters", f"tools[{index}].function.parameters")
    return None


def tool_choice_can_be_met(request: Request) -> Denied | None:
    choice = request.tool_choice
    if choice is None or choice.type != "function":
        return None
    if choice.function is None:
        message = "Missing required parameter: 'tool_choice.function'."
        return Denied(message, "missing_required_parameter", "tool_choice.function")
    if choice.function.name not in request.names:
        told = f"function {choice.function.name!r} was not specified in 'tools'."
        return Denied(f"Invalid value for 'tool_choice': {told}", param="tool_choice")
    return None


# -- messages ---------------------------------------------------------------------------------------------------------


def messages_have_content(request: Request) -> Denied | None:
    """Only an assistant that calls may say nothing."""
    for number, message in enumerate(request.messages):
        silent = isinstance(message, Assistant) and (message.tool_calls or message.refusal)
        if message.content is None and not silent:
            told = "Invalid value for 'content': expected a string, got null."
            return Denied(told, param=f"messages.[{number}].content")
    return None


def tool_messages_name_their_call(request: Request) -> Denied | None:
    for number, message in enumerate(request.messages):
        if isinstance(message, Tool) and message.tool_call_id is None:
            told = "messages with role 'tool' must have a 'tool_call_id'."
            return Denied(f"Missing parameter 'tool_call_id': {told}", param=f"messages.[{number}].tool_call_id")
    return None


def tool_messages_answer_the_calls_before_them(request: Request) -> Denied | None:
    for number, message in enumerate(request.messages):
        if not isinstance(message, Tool):
            continue
        calls = _calls_before(request, number)
        if not calls:
            told = "messages with role 'tool' must be a response to a preceeding message with 'tool_calls'."
            return Denied(f"Invalid parameter: {told}", param=f"messages.[{number}].role")
        if message.tool_call_id not in calls:
            told = f"'tool_call_id' of '{message.tool_call_id}' not found in 'tool_calls' of previous message."
            return Denied(f"Invalid parameter: {told}", param=f"messages.[{number}].tool_call_id")
    return None


def _calls_before(request: Request, number: int) -> list[str]:
    """Ids of the calls of the message that this run of tool messages follows."""
    before = next((other for other in reversed(request.messages[:number]) if not isinstance(other, Tool)), None)
    return [call.id for call in before.tool_calls or ()] if isinstance(before, Assistant) else []


def calls_are_answered_once(request: Request) -> Denied | None:
    for start, results in _runs(request):
        seen: dict[str | None, int] = {}
        for number, result in enumerate(results, start=start + 1):
            if result.tool_call_id in seen:
                told = f"Duplicate value for 'tool_call_id' of '{result.tool_call_id}'"
                places = f"in messages[{seen[result.tool_call_id]}] and messages[{number}]."
                return Denied(f"Invalid parameter: {told}, {places}", param=f"messages.[{number}].tool_call_id")
            seen[result.tool_call_id] = number
    return None


def every_call_is_answered_at_once(request: Request) -> Denied | None:
    for start, results in _runs(request):
        message = request.messages[start]
        calls = [call.id for call in message.tool_calls or ()] if isinstance(message, Assistant) else []
        open_calls = [call for call in calls if call not in {result.tool_call_id for result in results}]
        if open_calls:
            following = start + len(results) + 1
            at = "messages" if following == len(request.messages) else f"messages.[{following}].role"
            told = "must be followed by tool messages responding to each 'tool_call_id'."
            listed = f"The following tool_call_ids did not have response messages: {', '.join(open_calls)}"
            return Denied(f"An assistant message with 'tool_calls' {told} {listed}", param=at)
    return None


def _runs(request: Request) -> Iterator[tuple[int, list[Tool]]]:
    """Each message that is none of a tool, by its number, with the tool messages right behind it."""
    for number, message in enumerate(request.messages):
        if isinstance(message, Tool):
            continue
        results: list[Tool] = []
        for following in request.messages[number + 1 :]:
            if not isinstance(following, Tool):
                break
            results.append(following)
        yield number, results


def pictures_are_the_users(request: Request) -> Denied | None:
    return misplaced_image(request)


def pictures_can_be_seen(request: Request) -> Denied | None:
    return image_problem(request)


RULES: Sequence[Rule] = (
    the_model_exists,
    there_is_one_limit,
    the_answer_fits_the_model,
    sampling_is_the_models_own,
    stream_options_need_a_stream,
    options_of_tools_need_tools,
    schemas_are_objects,
    tool_choice_can_be_met,
    messages_have_content,
    pictures_are_the_users,
    tool_messages_name_their_call,
    tool_messages_answer_the_calls_before_them,
    calls_are_answered_once,
    every_call_is_answered_at_once,
    pictures_can_be_seen,
)


def problem_of(request: Request) -> Denied | None:
    """The vendor's answer to the first rule the request breaks."""
    return next((problem for rule in RULES if (problem := rule(request)) is not None), None)
