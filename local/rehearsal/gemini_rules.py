"""Gemini: the rules that need more than one field, each small and named.

A rule takes the request and returns the vendor's text, or None. `RULES` lists them in the order they are tried. The
vendor has relaxed the order of turns more than once; the rehearsal holds to the form that all its versions take.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Sequence

from local.rehearsal.gemini_request import Blob, Content, Part, Request
from local.rehearsal.gemini_signature import is_ours, is_sentinel
from local.rehearsal.gemini_tokens import is_picture, prompt_tokens

MAX_OUTPUT = 32_000
NAME = re.compile(r"[a-zA-Z_][\w.:-]{0,63}", re.ASCII)
Rule = Callable[[Request], str | None]


def _starred(problems: Sequence[str]) -> str | None:
    """How the vendor lists what its validator found: all of it, a line each."""
    return "".join(f"* GenerateContentRequest.{problem}\n" for problem in problems) or None


def _parts(request: Request) -> Iterator[tuple[str, Part]]:
    """All parts of the contents, with their paths."""
    for number, content in enumerate(request.contents):
        for index, part in enumerate(content.parts):
            yield f"contents[{number}].parts[{index}]", part


# -- contents ---------------------------------------------------------------------------------------------------------


def there_are_contents(request: Request) -> str | None:
    return None if request.contents else _starred(["contents: contents is not specified"])


def every_part_holds_one_thing(request: Request) -> str | None:
    for at, part in _parts(request):
        if len(part.data()) > 1:
            return f"Invalid value at '{at}' (oneof), oneof field 'data' is already set. Cannot set '{part.data()[1]}'"
    return None


def no_content_and_no_part_is_empty(request: Request) -> str | None:
    """Empty text is nothing, except the model's: the vendor's own streams end so, and its SDK sends that back."""
    problems = []
    for number, content in enumerate(request.contents):
        if not content.parts:
            problems.append(f"contents[{number}].parts: contents.parts must not be empty.")
        for index, part in enumerate(content.parts):
            if not part.data() or (part.text == "" and content.role != "model"):
                at = f"contents[{number}].parts[{index}].data"
                problems.append(f"{at}: required oneof field 'data' must have one initialized field")
    return _starred(problems)


def every_call_and_response_is_named(request: Request) -> str | None:
    problems = []
    for at, part in _parts(request):
        for field in ("function_call", "function_response"):
            named = getattr(part, field)
            if named is not None and not named.name:
                problems.append(f"{at}.{field}.name: Name cannot be empty.")
    return _starred(problems)


def roles_are_known(request: Request) -> str | None:
    known = all(content.role in ("user", "model") for content in request.contents)
    return None if known else "Please use a valid role: user, model."


# -- turns ------------------------------------------------------------------------------------------------------------


def _neighbours(request: Request) -> Iterator[tuple[Content | None, Content]]:
    return zip([None, *request.contents], request.contents, strict=False)


def calls_follow_the_user(request: Request) -> str | None:
    for before, content in _neighbours(request):
        if content.calls and (content.role != "model" or before is None or before.role != "user"):
            return (
                "Please ensure that function call turn comes immediately after a user turn or after a function "
                "response turn."
            )
    return None


def responses_follow_calls(request: Request) -> str | None:
    for before, content in _neighbours(request):
        if content.responses and (content.role != "user" or before is None or not before.calls):
            return "Please ensure that function response turn comes immediately after a function call turn."
    return None


def every_call_has_its_response(request: Request) -> str | None:
    for content, following in zip(request.contents, [*request.contents[1:], Content()], strict=True):
        if len(content.calls) != len(following.responses):
            return (
                "Please ensure that the number of function response parts is equal to the number of function call "
                "parts of the function call turn."
            )
    return None


def turns_alternate(request: Request) -> str | None:
    roles = [content.role for content in request.contents]
    if roles != ["user", "model"] * (len(roles) // 2) + ["user"] * (len(roles) % 2):
        return "Please ensure that multiturn requests alternate between user and model."
    return None


def the_user_has_the_last_word(request: Request) -> str | None:
    if request.contents[-1].role == "user":
        return None
    return "Please ensure that multiturn requests ends with a user role or a function response."


# -- signatures -------------------------------------------------------------------------------------------------------


def signatures_are_this_models(request: Request) -> str | None:
    for _, part in _parts(request):
        if part.thought_signature is not None and not (is_ours(part) or is_sentinel(part)):
            return "Corrupted thought signature."
    return None


def each_steps_first_call_is_signed(request: Request) -> str | None:
    """Only in the current turn: since the newest content that a person wrote."""
    start = max((number for number, content in enumerate(request.contents) if is_written(content)), default=0)
    for number, content in enumerate(request.contents[start:], start + 1):
        first = next((part for part in content.parts if part.function_call is not None), None)
        if first is not None and first.function_call is not None and first.thought_signature is None:
            return (
                "Function call is missing a thought_signature in functionCall parts. This is required for tools to "
                "work correctly, and missing thought_signature may lead to degraded model performance. Additional "
                f"data, function call `default_api:{first.function_call.name}` , position {number}. Please refer to "
                "https://ai.google.dev/gemini-api/docs/thought-signatures for more details."
            )
    return None


def is_written(content: Content) -> bool:
    """A person's words, not the tools' results. Pictures beside results are part of them."""
    if content.responses:
        return any(part.text for part in content.parts)
    return content.role == "user"


# -- tools and settings -----------------------------------------------------------------------------------------------


def function_names_are_legal(request: Request) -> str | None:
    problems = [
        f"\n  * tools[{number}].function_declarations[{index}].name: [FIELD_INVALID] Invalid function name. Must start "
        f"with a letter or an underscore. Must be a-z, A-Z, 0-9, or contain underscores (_), dots (.), colons (:), or "
        f"dashes (-), with a maximum length of 64."
        for number, tool in enumerate(request.tools)
        for index, declaration in enumerate(tool.function_declarations)
        if not NAME.fullmatch(declaration.name)
    ]
    return "The GenerateContentRequest proto is invalid:" + "".join(problems) if problems else None


def function_names_are_unique(request: Request) -> str | None:
    names = [declaration.name for declaration in request.declarations]
    twice = next((name for index, name in enumerate(names) if name in names[:index]), None)
    return None if twice is None else f"Duplicate function declaration found: {twice}"


def thinking_is_set_one_way(request: Request) -> str | None:
    thinking = request.generation_config.thinking_config
    if thinking.thinking_budget is None or thinking.thinking_level is None:
        return None
    return "You can only set only one of thinking budget and thinking level."


def the_answer_fits_the_model(request: Request) -> str | None:
    wanted = request.generation_config.max_output_tokens
    if wanted is None or 1 <= wanted <= MAX_OUTPUT:
        return None
    return (
        f"Unable to submit request because it has a maxOutputTokens value of {wanted} but the supported range is from "
        f"1 (inclusive) to {MAX_OUTPUT + 1} (exclusive). Update the value and try again."
    )


def pictures_can_be_seen(request: Request) -> str | None:
    if all(is_picture(blob.data) for blob in _blobs(request)):
        return None
    return (
        "Unable to process input image. Please retry or report in "
        "https://developers.generativeai.google/guide/troubleshooting"
    )


def _blobs(request: Request) -> Iterator[Blob]:
    for _, part in _parts(request):
        if part.inline_data is not None:
            yield part.inline_data
        if part.function_response is not None:
            yield from (inner.inline_data for inner in part.function_response.parts)


RULES: Sequence[Rule] = (
    there_are_contents,
    every_part_holds_one_thing,
    no_content_and_no_part_is_empty,
    every_call_and_response_is_named,
    function_names_are_legal,
    function_names_are_unique,
    roles_are_known,
    calls_follow_the_user,
    responses_follow_calls,
    every_call_has_its_response,
    turns_alternate,
    the_user_has_the_last_word,
    thinking_is_set_one_way,
    the_answer_fits_the_model,
    pictures_can_be_seen,
    signatures_are_this_models,
    each_steps_first_call_is_signed,
)


def problem_of(request: Request, window: int) -> str | None:
    """The vendor's text for the first rule the request breaks, or for a prompt of more tokens than `window`."""
    broken = next((problem for rule in RULES if (problem := rule(request)) is not None), None)
    if broken is not None or (tokens := prompt_tokens(request)) <= window:
        return broken
    return f"The input token count ({tokens}) exceeds the maximum number of tokens allowed ({window})."
