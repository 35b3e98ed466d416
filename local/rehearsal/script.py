"""Rehearsal scripts: their shape, and the loader.

A script is a YAML file that says what the rehearsal answers, turn by turn:

    name: renumber-doors
    title: Renumber every door on level 2       # shown to the user; it must itself be matched by `match`
    match: 'renumber.*doors.*level (?P<level>\\d+)'    # left out in exactly one script: the fallback
    turns:
      - name: inspect
        think: What the model thinks.
        say: What it says about level {level}.
        call: {tool: execute_data_collection, input: {code: "...", purpose: "..."}}
        next:
          - {when: 'level has (?P<doors>\\d+) doors', go: renumber}
      - name: renumber
        ...

Rule 1: every pattern ignores case, and ^ and $ match at each line; write [\\s\\S] to cross lines.
Rule 2: named groups of the patterns that matched so far replace {name} in `say`, in `think` and in the strings of a
call's input. Other braces are left alone, so Python source needs no escaping; a group must only not be named like a
variable that stands alone in an f-string.
Rule 3: a turn without `next` is followed by the one below it; a turn without `call` ends the run.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Annotated, Any

import yaml
from pydantic import AfterValidator, BaseModel, ConfigDict, Field, ValidationError, model_validator

FLAGS = re.IGNORECASE | re.MULTILINE
PLACEHOLDER = re.compile(r"\{(\w+)\}")
BUNDLED = Path(__file__).with_name("scripts")
REQUESTS = "requests"  # the one group of the fallback: the titles of the other scripts


class ScriptError(ValueError):
    """A script can't be played; the text names file and field."""


def _compiles(pattern: str) -> str:
    try:
        re.compile(pattern, FLAGS)
    except re.error as error:
        raise ValueError(f"not a regular expression: {error}") from error
    return pattern


Pattern = Annotated[str, Field(min_length=1), AfterValidator(_compiles)]
Text = Annotated[str, Field(min_length=1)]


class _Part(BaseModel):
    model_config = ConfigDict(extra="forbid", frozen=True)


class Call(_Part):
    """A tool call as the script writes it."""

    tool: Text
    input: dict[str, Any]


class Branch(_Part):
    """Where to go when the text of the tool result matches."""

    when: Pattern
    go: Text


class Turn(_Part):
    """One answer of the model."""

    name: Text
    think: Text | None = None
    say: Text | None = None
    call: Call | None = None
    next: tuple[Branch, ...] = ()

    @model_validator(mode="after")
    def _is_an_answer(self) -> Turn:
        if self.say is None and self.call is None:
            raise ValueError("a turn must say or call something")
        if self.next and self.call is None:
            raise ValueError("next: a turn without a call ends the run, nothing can follow it")
        return self


class Script(_Part):
    """A whole script. `match` None marks the fallback."""

    name: Text
    title: Text
    match: Pattern | None = None
    turns: tuple[Turn, ...] = Field(min_length=1)

    @model_validator(mode="after")
    def _hangs_together(self) -> Script:
        for problem in (*_dangling(self), *_unknown_groups(self)):
            raise ValueError(problem)
        if self.match is not None and not re.search(self.match, self.title, FLAGS):
            raise ValueError("title: it is shown as a request one can rehearse, so `match` must match it")
        return self

    def turn(self, name: str) -> Turn:
        return next(turn for turn in self.turns if turn.name == name)

    def following(self, turn: Turn) -> Turn:
        return self.turns[self.turns.index(turn) + 1]


def _dangling(script: Script) -> Iterator[str]:
    names = [turn.name for turn in script.turns]
    for index, turn in enumerate(script.turns):
        if turn.name in names[:index]:
            yield f"turns.{index}.name: there are two turns named {turn.name!r}"
        for place, branch in enumerate(turn.next):
            if branch.go not in names:
                yield f"turns.{index}.next.{place}.go: no turn is named {branch.go!r}"
    if script.turns[-1].call is not None and not script.turns[-1].next:
        yield f"turns.{len(names) - 1}.call: nothing follows the last turn, so it can't wait for a result"


def _unknown_groups(script: Script) -> Iterator[str]:
    patterns = [script.match or "", *(branch.when for turn in script.turns for branch in turn.next)]
    known = {group for pattern in patterns for group in re.compile(pattern, FLAGS).groupindex} | {REQUESTS}
    for index, turn in enumerate(script.turns):
        for field in ("think", "say"):
            for group in PLACEHOLDER.findall(getattr(turn, field) or ""):
                if group not in known:
                    yield f"turns.{index}.{field}: no pattern has a group named {group!r}"


def parse(text: str, source: str) -> Script:
    """The script in a YAML text; `source` is what errors call it.

    Raises:
        ScriptError: not YAML, or a field that is missing, unknown or wrong.
    """
    try:
        return Script.model_validate(yaml.safe_load(text))
    except yaml.YAMLError as error:
        raise ScriptError(f"{source}: not YAML: {error}") from error
    except ValidationError as error:
        problem = error.errors()[0]
        where = ".".join(str(step) for step in problem["loc"])
        what = problem["msg"].removeprefix("Value error, ")
        raise ScriptError(f"{source}: {where}: {what}" if where else f"{source}: {what}") from error


def load(folder: Path = BUNDLED) -> list[Script]:
    """All scripts of a folder in the order of their file names, the fallback last.

    Raises:
        ScriptError: a script is wrong, two have one name, or there is not exactly one fallback.
    """
    scripts = [parse(path.read_text("utf-8"), path.name) for path in sorted(folder.glob("*.yaml"))]
    names = [script.name for script in scripts]
    for name in names:
        if names.count(name) > 1:
            raise ScriptError(f"{folder}: name: two scripts are named {name!r}")
    fallbacks = [script for script in scripts if script.match is None]
    if len(fallbacks) != 1:
        raise ScriptError(
            f"{folder}: match: exactly one script must have none, the fallback; {len(fallbacks)} have none"
        )
    return [script for script in scripts if script.match is not None] + fallbacks


def titles(scripts: Sequence[Script]) -> list[str]:
    """What can be rehearsed, as a user would ask for it."""
    return [script.title for script in scripts if script.match is not None]
