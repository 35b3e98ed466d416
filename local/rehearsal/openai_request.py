"""What OpenAI's two dialects share in reading a request: key, size, JSON, and the vendor's words for what is wrong.

The vendor names the first field at fault in a text of its own, with a code and the field's path.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Collection, Mapping, Sequence
from typing import Any, TypeVar

from pydantic import BaseModel, ValidationError

from local.rehearsal.wire import Refused

Shape = TypeVar("Shape", bound=BaseModel)

MAX_BODY = 50 * 1024 * 1024
EXPECTED = {
    "int_type": "an integer",
    "float_type": "a decimal",
    "string_type": "a string",
    "bool_type": "a boolean",
    "list_type": "an array",
    "dict_type": "an object",
    "model_type": "an object",
}
"""By pydantic's word for the finding."""
FOUND = {dict: "an object", list: "an array", str: "a string", bool: "a boolean", int: "an integer", float: "a decimal"}


class Denied(Refused):
    """Refused, with what this vendor tells besides: the field at fault and a code.

    Raised for everything that is wrong with a request; `kind` is nearly always invalid_request_error.
    """

    def __init__(
        self,
        message: str,
        code: str | None = None,
        param: str | None = None,
        status: int = 400,
        kind: str = "invalid_request_error",
        headers: Mapping[str, str] | None = None,
    ) -> None:
        super().__init__(status, kind, message, headers)
        self.code = code
        self.param = param

    def error(self) -> dict[str, Any]:
        """The vendor's error object."""
        return {"message": self.message, "type": self.kind, "param": self.param, "code": self.code}


def let_in(headers: Mapping[str, str], body: bytes, no_key: str) -> None:
    """Look at what comes before the JSON. Any key will do.

    Raises:
        Denied: 401 with the text `no_key`, or 413.
    """
    scheme, _, token = headers.get("authorization", "").partition(" ")
    if scheme.lower() != "bearer" or not token.strip():
        raise Denied(no_key, status=401)
    if len(body) > MAX_BODY:
        raise Denied("Request body is too large.", status=413)


def parsed(shape: type[Shape], body: bytes, denied: Callable[[Mapping[str, Any]], Denied]) -> Shape:
    """The body in its shape; `denied` words the first of pydantic's findings.

    Raises:
        Denied: 400.
    """
    try:
        return shape.model_validate(json.loads(body))
    except ValidationError as error:
        raise denied(error.errors()[0]) from error
    except ValueError as error:
        message = "We could not parse the JSON body of your request. The OpenAI API expects a JSON payload."
        raise Denied(message) from error


def as_choice(value: Any) -> Any:
    """A tool_choice by its mode alone is short for an object with that type."""
    return {"type": value} if isinstance(value, str) else value


def unsupported(at: str, value: Any, expected: str) -> Denied:
    """`expected`: the values in quotes, as pydantic lists them; names of our own hold a space."""
    values = [found for found in re.findall(r"'[^']+'", expected) if " " not in found]
    listed = " and ".join(values) if len(values) < 3 else f"{', '.join(values[:-1])}, and {values[-1]}"
    return Denied(f"Invalid value: '{value}'. Supported values are: {listed}.", "invalid_value", at)


def path_of(steps: Sequence[int | str], sorts: Collection[str]) -> str:
    """`input[3].call_id`. pydantic names after an index which of the `sorts` it tried; the vendor doesn't."""
    path = ""
    for before, step in zip(["", *steps], steps, strict=False):
        if isinstance(step, int):
            path += f"[{step}]"
        elif not (isinstance(before, int) and step in sorts):
            path += f".{step}"
    return path.lstrip(".") or "body"
