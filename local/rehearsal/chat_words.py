"""OpenAI Chat Completions: the vendor's words for a field that has another shape than it should.

The vendor names the first field at fault, in a text of its own, with a code and the field's path.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from local.rehearsal.openai_request import EXPECTED, FOUND, Denied, path_of, unsupported

SORTS = {"system", "developer", "user", "assistant", "tool", "text", "image_url", "refusal"}
"""What pydantic names behind an index: which sort of message or part it tried."""


def denied(problem: Mapping[str, Any]) -> Denied:
    """The vendor's answer to one of pydantic's findings."""
    at, kind, value, facts = path_of(problem["loc"], SORTS), problem["type"], problem["input"], problem.get("ctx", {})
    match kind:
        case "extra_forbidden":
            return Denied(f"Unknown parameter: '{at}'.", "unknown_parameter", at)
        case "missing" if at == "model":
            return Denied("you must provide a model parameter")
        case "missing":
            return missing(at)
        case "union_tag_not_found":
            return missing(f"{at}.{facts['discriminator'].strip(chr(39))}")
        case "union_tag_invalid":
            return unsupported(f"{at}.{facts['discriminator'].strip(chr(39))}", facts["tag"], facts["expected_tags"])
        case "literal_error":
            return unsupported(at.removesuffix(".type") if at == "tool_choice.type" else at, value, facts["expected"])
        case "string_pattern_mismatch":
            told = f"Expected a string that matches the pattern '{facts['pattern']}'."
            return Denied(f"Invalid '{at}': string does not match pattern. {told}", "invalid_value", at)
        case _ if kind in BOUNDS:
            told, code = BOUNDS[kind]
            length = len(value) if isinstance(value, str | list) else value
            return Denied(f"Invalid '{at}': {told.format(**facts, value=length)} instead.", code, at)
    expected = "one of a string or array of objects" if at.endswith(".content") else EXPECTED.get(kind, "an object")
    found = FOUND.get(type(value), "null")
    return Denied(f"Invalid type for '{at}': expected {expected}, but got {found} instead.", "invalid_type", at)


BOUNDS = {
    "string_too_long": (
        "string too long. Expected a string with maximum length {max_length}, but got a string with length {value}",
        "string_above_max_length",
    ),
    "string_too_short": (
        "empty string. Expected a string with minimum length {min_length}, but got an empty string",
        "empty_string",
    ),
    "too_short": (
        "empty array. Expected an array with minimum length {min_length}, but got an empty array",
        "empty_array",
    ),
    "greater_than_equal": (
        "integer below minimum value. Expected a value >= {ge}, but got {value}",
        "integer_below_min_value",
    ),
    "less_than_equal": (
        "integer above maximum value. Expected a value <= {le}, but got {value}",
        "integer_above_max_value",
    ),
}


def missing(at: str) -> Denied:
    return Denied(f"Missing required parameter: '{at}'.", "missing_required_parameter", at)
