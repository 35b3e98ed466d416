"""Dialect `gemini`: the arguments of one function call, whole or in pieces by JSONPath.

The vendor sends a call's arguments whole, or (where argument streaming is on) values and pieces of strings, each with
the path where it belongs. Closing marks are not reliable: the end of a string, or of the whole call, may be told only
by what comes next.
"""

from __future__ import annotations

import json
import math
import re
from itertools import pairwise
from typing import Any

from drafthand.transcript import is_json
from drafthand.vendors.hygiene import clean, clean_all

STEP = re.compile(
    r"""\.(?P<name>[^.\[\]'"*?@\s]+)|\[(?P<index>\d{1,6})\]"""
    r"""|\['(?P<single>(?:[^'\\]|\\.)*)'\]|\["(?P<double>(?:[^"\\]|\\.)*)"\]"""
)


def steps_of(path: str) -> list[str | int]:
    """The names and indices of a JSONPath such as `$.edits[0].start_line` or `$['a b']`.

    Raises:
        ValueError: it is none, or it names more than one place.
    """
    steps: list[str | int] = []
    at = 1
    while at < len(path):
        found = STEP.match(path, at)
        if found is None:
            break
        steps.append(_step(found))
        at = found.end()
    if not path.startswith("$") or at < len(path) or not steps:
        raise ValueError(f"not the path of one value: {path!r}")
    return steps


def _step(found: re.Match[str]) -> str | int:
    if found["name"] is not None:
        return found["name"]
    if found["index"] is not None:
        return int(found["index"])
    quoted = found["double"]
    if quoted is None:
        quoted = found["single"].replace("\\'", "'").replace('"', '\\"')
    name: str = json.loads(f'"{quoted}"')
    return name


class Arguments:
    """Arguments while they arrive. `open`: the latest string was announced to go on; `broken`: a piece fitted nowhere.

    Strings may go on in turns: `going` holds the paths of all that were announced to.
    """

    def __init__(self) -> None:
        self.value: dict[str, Any] = {}
        self.open: str | None = None
        self.going: set[str] = set()
        self.broken = False
        self._told = ""
        self._in_order = True

    @property
    def raw(self) -> str:
        return json.dumps(self.value, ensure_ascii=False)

    def whole(self, args: dict[str, Any]) -> None:
        if is_json(args):
            self.value |= clean_all(args)
        else:
            self.broken = True

    def piece(self, partial: Any) -> str:
        """Take a `PartialArg` in; the JSON text that it adds."""
        try:
            steps = steps_of(partial.json_path or "")
            self._put(steps, partial)
        except ValueError:
            self.broken = True
            return ""
        text = self.raw
        closers = len(steps) + (self.open is not None)
        return self._tell(text[: len(text) - closers])

    def rest(self) -> str:
        """The JSON text that no piece has told yet."""
        return self._tell(self.raw)

    def _tell(self, text: str) -> str:
        """What `text` adds to what was told; nothing once a value has come out of order, for then it adds nowhere."""
        self._in_order = self._in_order and text.startswith(self._told)
        if not self._in_order:
            return ""
        added = text[len(self._told) :]
        self._told = text
        return added

    def _put(self, steps: list[str | int], partial: Any) -> None:
        value = _value_of(partial)
        if isinstance(value, str) and partial.json_path in self.going:
            value = _get(self._home(steps), steps[-1]) + value
        _set(self._home(steps), steps[-1], value)
        self.going.discard(partial.json_path)
        self.open = partial.json_path if isinstance(value, str) and partial.will_continue else None
        if self.open is not None:
            self.going.add(self.open)

    def _home(self, steps: list[str | int]) -> Any:
        """The object or list that holds the last step, made where it does not exist."""
        node: Any = self.value
        for step, following in pairwise(steps):
            if not _has(node, step):
                _set(node, step, [] if isinstance(following, int) else {})
            node = _get(node, step)
        return node


def _value_of(partial: Any) -> Any:
    if partial.string_value is not None:
        return clean(partial.string_value)
    if partial.bool_value is not None:
        return partial.bool_value
    if partial.number_value is not None:
        number: float = partial.number_value
        if not math.isfinite(number):
            raise ValueError("a number that JSON can't say")
        return int(number) if number.is_integer() else number
    if "null_value" in partial.model_fields_set:
        return None
    raise ValueError("a piece without a value")


def _has(node: Any, step: str | int) -> bool:
    if isinstance(step, int):
        return isinstance(node, list) and step < len(node)
    return isinstance(node, dict) and step in node


def _get(node: Any, step: Any) -> Any:
    if not _has(node, step):
        raise ValueError(f"no {step!r} here")
    return node[step]


def _set(node: Any, step: Any, value: Any) -> None:
    if _has(node, step) or (isinstance(node, dict) and isinstance(step, str)):
        node[step] = value
    elif isinstance(node, list) and step == len(node):
        node.append(value)
    else:
        raise ValueError(f"no place for {step!r} in a {type(node).__name__}")
