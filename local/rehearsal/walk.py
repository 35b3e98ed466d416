"""Which turn of which script answers a request. Pure, and neutral: it knows no vendor's JSON.

The server keeps no state. A dialect reads the request's own transcript into a `View`; the walk starts at the script's
first turn, or at the place that a summary tells, and takes one step for each assistant turn since the newest user
message, choosing by what the tool said.
"""

from __future__ import annotations

import re
import textwrap
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from local.rehearsal.place import Place
from local.rehearsal.script import FLAGS, PLACEHOLDER, REQUESTS, Call, Script, Turn, titles

LABEL = "[Rehearsal, no language model]"
QUOTE_CHARS = 1_200  # enough for an error with its traceback line; a whole listing would drown the reader


@dataclass(frozen=True)
class Exchange:
    """One assistant turn of the current run, and the text of the tool result that followed (None: there was none)."""

    result: str | None


@dataclass(frozen=True)
class View:
    """What the walk needs of a request.

    request: text of the newest message a person wrote.
    exchanges: the assistant turns since then, oldest first.
    tools: names of the tools the request lets the model call.
    place: where the walk starts, when the request comes out of a summary that tells it.
    summarize: a summary is asked for, and not the next turn.
    """

    request: str
    exchanges: tuple[Exchange, ...]
    tools: frozenset[str]
    place: Place | None = None
    summarize: bool = False


@dataclass(frozen=True)
class Play:
    """The answer to give. A play without a call ends the run."""

    script: str
    turn: str
    say: str | None
    think: str | None = None
    call: Call | None = None


def walk(scripts: Sequence[Script], view: View) -> Play:
    """The answer to a request. Never fails: where the script can't go on, the answer says so and why.

    `scripts`: the fallback last, as `script.load` returns them.
    """
    start = view.place or _opening(scripts, view.request)
    script = next((script for script in scripts if script.name == start.script), None)
    if script is None or not any(turn.name == start.turn for turn in script.turns):
        return Play(start.script, start.turn, f"{LABEL} {_unknown(start)}")
    place = _reached(script, start, view.exchanges)
    if view.summarize:
        return Play(script.name, place.turn, _summary(view, place))
    turn = script.turn(place.turn)
    if place.stuck is not None or (turn.call is not None and turn.call.tool not in view.tools):
        return Play(script.name, turn.name, f"{LABEL} {_stopped(turn, place, view)}")
    return _play(script, turn, place.groups, opens_run=place.opens)


def _opening(scripts: Sequence[Script], request: str) -> Place:
    for script in scripts:
        if script.match is not None and (found := re.search(script.match, request, FLAGS)):
            return Place(script.name, script.turns[0].name, _groups(found), opens=True)
    requests = "\n".join(f"- {title}" for title in titles(scripts))
    return Place(scripts[-1].name, scripts[-1].turns[0].name, {REQUESTS: requests}, opens=True)


def _reached(script: Script, place: Place, exchanges: Sequence[Exchange]) -> Place:
    """The place after these exchanges."""
    for exchange in exchanges:
        if place.stuck is not None:
            break
        step = _step(script, script.turn(place.turn), exchange)
        if isinstance(step, str):
            return replace(place, stuck=step)
        turn, found = step
        place = Place(script.name, turn.name, {**place.groups, **found})
    return place


def _step(script: Script, turn: Turn, exchange: Exchange) -> tuple[Turn, dict[str, str]] | str:
    """The turn that follows and the groups its condition caught, or a sentence why none does."""
    if turn.call is None:
        return f"The rehearsal can't go on: the script {script.name!r} had ended with the turn {turn.name!r}."
    if exchange.result is None:
        return f"The rehearsal can't go on: the call of the turn {turn.name!r} has no result in this transcript."
    if not turn.next:
        return script.following(turn), {}
    for branch in turn.next:
        if found := re.search(branch.when, exchange.result, FLAGS):
            return script.turn(branch.go), _groups(found)
    return _astray(turn, exchange.result)


def _groups(found: re.Match[str]) -> dict[str, str]:
    return {name: value for name, value in found.groupdict().items() if value is not None}


def _astray(turn: Turn, result: str) -> str:
    expected = " or ".join(f"/{branch.when}/" for branch in turn.next)
    return (
        f"The rehearsal can't go on. A language model would now read the result and decide; this only plays a script, "
        f"and after the turn {turn.name!r} the script knows no other result than {expected}. "
        f"The result was:\n\n{_quoted(result)}"
    )


def _quoted(text: str) -> str:
    return text if len(text) <= QUOTE_CHARS else f"{text[:QUOTE_CHARS]}… ({len(text):,} characters in all)"


def _stopped(turn: Turn, place: Place, view: View) -> str:
    """Why no call follows. Where calls are forbidden the user wants an account, and the newest result is a true one."""
    newest = view.exchanges[-1].result if view.exchanges else None
    if newest and not view.tools:
        return f"I stop here. What was used and done so far:\n\n{_quoted(newest)}"
    return place.stuck or _lacks_tool(turn, view)


def _unknown(place: Place) -> str:
    return (
        f"The rehearsal can't go on: the summary says that the turn {place.turn!r} of the script {place.script!r} "
        f"comes next, and there is no such turn."
    )


def _summary(view: View, place: Place) -> str:
    """What a model would sum up is only quoted; the last line tells the place."""
    results = [exchange.result for exchange in view.exchanges if exchange.result is not None]
    told = [
        f"{LABEL} A language model would now sum up the conversation. I only note what the script needs to go on.",
        f"The request:\n\n{textwrap.indent(_quoted(view.request), '> ')}",
        f"Tool results since then, or since the summary before: {len(results)}.",
    ]
    if results:
        told.append(f"The newest:\n\n{textwrap.indent(_quoted(results[-1]), '> ')}")
    return "\n\n".join([*told, place.line()])


def _lacks_tool(turn: Turn, view: View) -> str:
    offered = ", ".join(sorted(view.tools)) or "none"
    return (
        f"The rehearsal can't go on: the turn {turn.name!r} calls {turn.call.tool if turn.call else ''}, "
        f"and this request lets the model call: {offered}."
    )


def _play(script: Script, turn: Turn, groups: Mapping[str, str], *, opens_run: bool) -> Play:
    say = None if turn.say is None else fill(turn.say, groups)
    if opens_run:
        say = LABEL if say is None else f"{LABEL} {say}"
    think = None if turn.think is None else fill(turn.think, groups)
    call = None if turn.call is None else Call(tool=turn.call.tool, input=_fill_all(turn.call.input, groups))
    return Play(script.name, turn.name, say, think, call)


def fill(text: str, groups: Mapping[str, str]) -> str:
    """The text with each {name} of a known group replaced; other braces stay as they are."""
    return PLACEHOLDER.sub(lambda found: groups.get(found[1], found[0]), text)


def _fill_all(value: Any, groups: Mapping[str, str]) -> Any:
    if isinstance(value, str):
        return fill(value, groups)
    if isinstance(value, list):
        return [_fill_all(item, groups) for item in value]
    if isinstance(value, dict):
        return {key: _fill_all(item, groups) for key, item in value.items()}
    return value
