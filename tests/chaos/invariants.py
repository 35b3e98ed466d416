"""What must hold after every history, whatever happened in it: each check yields what is violated."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator
from typing import Any

from drafthand import rendezvous
from drafthand.errors import VendorError
from drafthand.model import ModelSpec, TurnSettings
from drafthand.runlog import Numbered, _read
from drafthand.session import Progress, Run
from drafthand.tools import TOOLS
from drafthand.transcript import Message, Text, ToolResult, Turn
from drafthand.vendors.models import models

from tests.chaos.history import Check, History

REHEARSED = [model for model in models().values() if model.rehearsal]
LATE = re.compile(r"^\[The result of call \w+ came after[\s\S]*?\]\n", re.MULTILINE)
TOOK_OR_MAY_HAVE = ("committed", "unknown")


def at_most_once(history: History) -> Iterator[str]:
    """A command's script is executed once, and takes effect at most once."""
    for what, ids in (("executed", history.desk.host.ran), ("took effect", history.desk.host.applied)):
        for call_id, times in Counter(ids).items():
            if times > 1:
                yield f"{call_id} was {what} {times} times"


def told(history: History) -> Iterator[str]:
    """A change is reported to the user in a chunk, and to the model by its next turn, as one that was or may have been
    made; what came late is told to the model once."""
    chunks = [chunk for run in history.runs for _, chunk in stored(history, run)]
    shown = {
        chunk.metadata["call_id"]
        for chunk in chunks
        if chunk.metadata.get("kind") == "tool_result" and chunk.metadata["outcome"] in TOOK_OR_MAY_HAVE
    }
    messages = transcript(history)
    results = _results(messages)
    for call_id in history.desk.host.applied[history.applied_before :]:
        late = sum(text.count(f"[The result of call {call_id} came after") for text in _texts(messages))
        at_once = results.get(call_id, "").startswith(tuple(f"outcome: {each}" for each in TOOK_OR_MAY_HAVE))
        if call_id not in shown:
            yield f"the user was never told of {call_id}"
        if late + at_once != 1:
            yield f"the model was told of {call_id} {late + at_once} times"


def taken_by_every_vendor(history: History) -> Iterator[str]:
    """The transcript goes to the strict server in all dialects."""
    messages = [*transcript(history), Message(role="user", parts=(Text(text="And now?"),))]
    for spec in REHEARSED:
        try:
            history.desk.wait(_asked(history, spec, messages))
        except VendorError as error:
            yield f"{spec.dialect} refuses the transcript: {error}"


async def _asked(history: History, spec: ModelSpec, messages: list[Message]) -> None:
    settings = TurnSettings(spec, "You are Drafthand.", spec.heavy, {})
    async for _ in history.desk.client(spec).stream(messages, TOOLS, settings, Turn(spec.vendor, spec.id)):
        pass


def one_end(history: History) -> Iterator[str]:
    """Every run ends in exactly one Complete or Error, its last chunk; the session is free."""
    for run in history.runs:
        chunks = [chunk for _, chunk in stored(history, run)]
        ends = [chunk.ends_run for chunk in chunks]
        if ends.count(True) != 1 or not ends[-1]:
            yield f"{run.id} has {ends.count(True)} ends"
            continue
        state = history.store.sessions.run(run.owner, run.id).state
        if state != str(chunks[-1].type).lower():
            yield f"{run.id} is {state} and ends with {chunks[-1].type}"
        if chunks[-1].metadata.get("code") == "internal":
            yield f"{run.id} ended with an internal error: {chunks[-1].content}"
    session = _session(history)
    if session.active_run is not None:
        yield f"the session is still held by {session.active_run}"
    if history.store.table.get(f"HOST#{history.desk.host_id}", "SLOT") is not None:
        yield "the host's slot is still taken"


def seen_is_stored(history: History) -> Iterator[str]:
    """Numbers are contiguous, and what any live reader saw is what is replayed."""
    for run_id, chunks in history.logs.items():
        if [seq for seq, _ in chunks] != list(range(1, len(chunks) + 1)):
            yield f"{run_id} is numbered {[seq for seq, _ in chunks]}"
    for run_id, seen in history.seen:
        replayed = dict(history.logs.get(run_id, []))
        for seq, chunk in seen:
            if replayed.get(seq) != chunk:
                yield f"a reader of {run_id} saw another chunk {seq} than is stored"


def one_at_a_time(history: History) -> Iterator[str]:
    """Who has lost the session appends no more; messages are contiguous."""
    numbers = [number for number, _ in history.journal.entries]
    if numbers != sorted(numbers):
        yield f"processes wrote in turns: {numbers}"
    keys = [key for _, key in history.journal.entries]
    if len(keys) != len(set(keys)):
        yield f"one key was written twice: {[key for key, times in Counter(keys).items() if times > 1]}"
    session = _session(history)
    items = history.store.table.query(f"SESSION#{session.id}", "MSG#")
    expected = [f"MSG#{number:06d}" for number in range(1, session.messages + 1)]
    if [item["sk"] for item in items] != expected:
        yield "the messages are not contiguous"


def counted(history: History) -> Iterator[str]:
    """The counters of a run that came to its end are those that its transcript tells."""
    sessions = history.store.sessions
    dispatched = {line["call"] for line in sessions.audit(_session(history))}
    parts = _of_each_run(transcript(history))
    if len(parts) != len(history.runs):
        yield f"{len(history.runs)} runs, {len(parts)} messages of the user"
        return
    for run, messages in zip(history.runs, parts, strict=True):
        last = stored(history, run)[-1][1]
        if last.type == "Complete":
            expected = _progress(messages, dispatched)
            if last.metadata["counters"] != expected.counters():
                yield f"{run.id} counts {last.metadata['counters']}, its transcript {expected.counters()}"
            if last.metadata["changed"] != expected.changed:
                yield f"{run.id} changed {last.metadata['changed']}, by its transcript {expected.changed}"


def audited(history: History) -> Iterator[str]:
    """Each dispatched call has its audit line, and the line the outcome of its call."""
    session = _session(history)
    lines = {line["call"]: line for line in history.store.sessions.audit(session)}
    for call_id in history.desk.host.applied[history.applied_before :]:
        if call_id not in lines:
            yield f"{call_id} took effect and has no audit line"
    for call_id, line in lines.items():
        call = rendezvous.read_call(history.store, session.id, call_id)
        if call is None:
            yield f"{call_id} has an audit line and no call"
        elif call.is_open:
            yield f"{call_id} is still {call.status}"
        else:
            answer = rendezvous.read_result(history.store, call) if call.answer_sha256 else None
            expected = (answer.outcome if answer else call.status, call.late)
            if (line["outcome"], line["late"]) != expected:
                yield f"the audit line of {call_id} says {(line['outcome'], line['late'])}, the call {expected}"


CHECKS: list[Check] = [
    at_most_once,
    told,
    taken_by_every_vendor,
    one_end,
    seen_is_stored,
    one_at_a_time,
    counted,
    audited,
]


def violations(history: History) -> list[str]:
    history.logs = {
        run.id: [each for _, batch in _read(history.store, run, None) for each in batch] for run in history.runs
    }
    return [f"{check.__name__}: {text}" for check in CHECKS for text in check(history)]


def stored(history: History, run: Run) -> list[Numbered]:
    return history.logs[run.id]


def transcript(history: History) -> list[Message]:
    return history.store.sessions.messages(_session(history))


def _session(history: History) -> Any:
    assert history.session_id is not None
    return history.store.sessions.get(history.desk.owner, history.session_id)


def _results(messages: list[Message]) -> dict[str, str]:
    """What the model was told of each call itself: its result, without those of others that came late."""
    parts = [part for message in messages for part in message.parts]
    return {part.call_id: LATE.sub("", part.text) for part in parts if isinstance(part, ToolResult)}


def _texts(messages: list[Message]) -> list[str]:
    return [part.text for message in messages for part in message.parts if part.type in ("text", "tool_result")]


def _of_each_run(messages: list[Message]) -> list[list[Message]]:
    parts: list[list[Message]] = []
    for message in messages:
        if message.role == "user":
            parts.append([])
        parts[-1].append(message)
    return parts


def _progress(messages: list[Message], dispatched: set[str]) -> Progress:
    """The counters by the transcript of a run alone; a result that says committed changed what its call says."""
    progress = Progress()
    results = _results(messages)
    for message in messages:
        if message.role == "assistant":
            progress = progress.model_copy(update={"turns": progress.turns + 1})
        for call in message.calls:
            text = results.get(call.id, "")
            if call.id in dispatched:
                progress = progress.before_call(call.name, runs_script=True)
            if text.startswith("outcome: committed"):
                progress = progress.after_commit({"added": 0, "modified": 1, "deleted": 0})
    return progress
