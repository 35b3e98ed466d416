"""What happens inside the process that runs a command: script, changes, report, picture, and saving.

It may be killed at any line. Until `commit.save` has renamed the file, that undoes everything.
"""

import hashlib
import os
import time
from dataclasses import dataclass

import ifcopenshell

from hosts.ifc import changes, commit, side_work
from hosts.ifc.changes import Changes
from hosts.ifc.channel import Channel
from hosts.ifc.document import Document
from hosts.ifc.isolate import Isolate
from hosts.runtime import execute, results
from hosts.runtime.capture import Capture
from hosts.runtime.journal import Journal

SUCCESS = {"read": "rolled_back", "view": "rolled_back", "preview": "previewed"}
READ_ONLY_NOTE = "The script changed the document although it was only to read; that was undone."


@dataclass
class Job:
    """One command and what is needed for it; `saved` becomes true when the file has been replaced."""

    command: dict
    document: Document
    journal: Journal
    cache: dict
    line: Channel
    isolate: Isolate
    saved: bool = False

    def tell(self, phase: str) -> None:
        """Say which phase begins: "script", "report" or "saving". Raises ChannelLost when nobody listens any more."""
        self.line.send({"kind": "phase", "phase": phase})

    def ask_to_save(self) -> None:
        """Wait, at the last moment, for the word that the result is still wanted.

        Raises ChannelLost when it can't come any more; a command that isn't wanted has its process killed here.
        """
        self.tell("saving")
        self.line.receive()


def perform(job: Job) -> dict:
    """Do what the command says and return its result. Raises ChannelLost when whoever asked for it has gone."""
    started_at = time.monotonic()
    result = results.new(job.command, job.document.state())
    try:
        _perform(job, result, started_at)
    except commit.Refused as error:
        _undone(result, "refused", "Refused", str(error))
    except commit.NotSaved as error:
        _undone(result, "failed", "NotSaved", str(error))
    result["seconds"] = _seconds(started_at)
    return results.pack(result, job.journal)


def _perform(job: Job, result: dict, started_at: float) -> None:
    mode = job.command["mode"]
    if mode == "undo":
        _undo(job, result, started_at)
        return
    if mode != "view" and not _run_script(job, result):
        return
    job.tell("report")
    model, before = job.document.model, job.document.text
    after = model.to_string() if mode != "view" else before
    found = Changes()
    if mode == "read":
        result["notes"] += [READ_ONLY_NOTE] if after != before else []
    elif mode != "view":
        found = changes.between(before, after, model)
    _tell_changes(result, found)
    side_work.report(job.command, model, before, found, job.isolate, result)
    side_work.picture(job.command, model, found, job.isolate, job.cache, result)
    if mode in SUCCESS:
        results.end(result, SUCCESS[mode])
        return
    if after == before:  # nothing to save: the file keeps its spelling
        results.end(result, "committed")
        return
    _save(job, result, after.encode(), started_at, undoable=True)
    job.document.moved_on(after, result["document"]["version"])


def _undo(job: Job, result: dict, started_at: float) -> None:
    data = commit.undo_bytes(job.document, job.journal)
    job.tell("report")
    earlier = Document(job.document.path, data)
    found = changes.between(job.document.text, earlier.text, earlier.model)
    _tell_changes(result, found)
    side_work.report(job.command, earlier.model, job.document.text, found, job.isolate, result)
    side_work.picture(job.command, earlier.model, found, job.isolate, job.cache, result)
    _save(job, result, data, started_at, undoable=False)


def _save(job: Job, result: dict, data: bytes, started_at: float, undoable: bool) -> None:
    version = hashlib.sha256(data).hexdigest()
    results.end(result, "committed")
    result["document"] = {**job.document.state(), "version": version}
    result["seconds"] = _seconds(started_at)
    results.pack(result, job.journal)
    job.ask_to_save()
    commit.save(job.document, data, version, result, job.journal, undoable)
    job.saved = True


def _run_script(job: Job, result: dict) -> bool:
    """Run the command's script in a namespace of its own. False when it failed."""
    script, limits = job.command["script"], job.command["limits"]
    result["script_sha256"] = hashlib.sha256(script.encode()).hexdigest()
    namespace = {"__name__": "__main__", "model": job.document.model, "ifcopenshell": ifcopenshell}
    runner = os.getpid()
    output = job.journal.output_path(result["id"])
    with open(output, "ab", buffering=0) as sink, Capture(sink, limits["output_chars"]) as capture:
        job.tell("script")
        error = execute.run(script, namespace)
    if os.getpid() != runner:  # the script forked, and this is its copy of us
        os._exit(0)
    namespace.clear()  # what its objects do when they go must happen before the model is looked at
    result["stdout"] = commit.printed(job.journal, result["id"])
    if error is None and capture.overflowed:
        error = {"type": "OutputLimit", "message": "The script printed too much.", "line": None}
    if error is not None:
        result["outcome"], result["error"] = "failed", error
    return error is None


def _tell_changes(result: dict, found: Changes) -> None:
    result["changed"] = found.by_kind()
    result["geometry_changed"] = found.geometry


def _undone(result: dict, outcome: str, kind: str, message: str) -> None:
    """The command ended without effect after it had seemed to have one."""
    _tell_changes(result, Changes())
    result.update(report=None, images=[])
    results.end(result, outcome, kind, message)


def _seconds(started_at: float) -> float:
    return round(time.monotonic() - started_at, 3)
