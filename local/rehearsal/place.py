"""Where a rehearsal stands, as a line in a summary: after it nothing else of the transcript is left to walk through.

The line is one that a person can read, too:

    Rehearsal place: script 'renumber-doors', next turn 'mend', with {"level": "2", "doors": "8"}
"""

from __future__ import annotations

import ast
import json
import re
from collections.abc import Mapping
from dataclasses import dataclass, field

NAME = r"""'(?:[^'\\\n]|\\.)*'|"(?:[^"\\\n]|\\.)*\""""  # as repr() writes a text
LINE = re.compile(
    rf"^Rehearsal place: script (?P<script>{NAME}), (?:"
    rf"(?P<way>first|next) turn (?P<turn>{NAME}), with (?P<groups>\{{.*\}})"
    rf"|stuck in turn (?P<last>{NAME}): (?P<stuck>\".*\")"
    r")[ \t\r]*$",
    re.MULTILINE,
)


@dataclass(frozen=True)
class Place:
    """The turn to play next.

    groups: what the patterns have caught so far, by name.
    opens: no turn of this run has been played yet.
    stuck: the sentence to say instead, because nothing follows `turn`.
    """

    script: str
    turn: str
    groups: Mapping[str, str] = field(default_factory=dict)
    opens: bool = False
    stuck: str | None = None

    def line(self) -> str:
        """The place in one line of ASCII, whatever the names and groups hold."""
        head = f"Rehearsal place: script {self.script!a}"
        if self.stuck is not None:
            return f"{head}, stuck in turn {self.turn!a}: {json.dumps(self.stuck)}"
        way = "first" if self.opens else "next"
        return f"{head}, {way} turn {self.turn!a}, with {json.dumps(dict(self.groups))}"


def read_place(text: str) -> Place | None:
    """The newest place that a text tells: the last one that can be read. None where there is none."""
    places = (_parsed(found) for found in reversed(list(LINE.finditer(text))))
    return next((place for place in places if place is not None), None)


def _parsed(found: re.Match[str]) -> Place | None:
    """None for a line that only looks like one of ours: anyone may have written it."""
    try:
        script = ast.literal_eval(found["script"])
        if found["stuck"] is not None:
            stuck = json.loads(found["stuck"])
            return Place(script, ast.literal_eval(found["last"]), stuck=stuck)
        turn, groups = ast.literal_eval(found["turn"]), json.loads(found["groups"])
    except (RecursionError, SyntaxError, ValueError):
        return None
    if not all(isinstance(value, str) for value in groups.values()):
        return None
    return Place(script, turn, groups, opens=found["way"] == "first")
