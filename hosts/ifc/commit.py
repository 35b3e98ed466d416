"""Saving the model so that a crash at any moment leaves a whole file and a true account of it.

    1. the new bytes lie beside the file, flushed
    2. the journal holds `prepared`: the whole result, and the sha256 of the file before and after
    3. the file is replaced by a rename, flushed
    4. the journal holds `final`

Killed before 3 the file is the old one, after 3 the new one; its sha256 tells which, and `settle` says so.
"""

import glob
import json
import os
import shutil
from pathlib import Path
from typing import TYPE_CHECKING

from hosts.ifc.disk import file_version
from hosts.runtime import durable, results
from hosts.runtime.journal import Journal

if TYPE_CHECKING:  # the supervisor settles commands and has no use for the library that a document needs
    from hosts.ifc.document import Document

CHANGED_ON_DISK = (
    "The file was changed on disk by another program since it was opened. Nothing was saved. "
    "It has been read again: look at it before changing it."
)
CRASHED = "The process that ran the script ended before it was done ({cause}). Nothing was saved."


class Refused(Exception):
    """The file may not be replaced; the message says why."""


class NotSaved(Exception):
    """The file couldn't be replaced and is what it was."""


def save(document: "Document", data: bytes, version: str, result: dict, journal: Journal, undoable: bool) -> None:
    """Replace the document's file by `data`, whose sha256 is `version`, and record `result` as final.

    With `undoable` the file as it was is kept, in place of an earlier one.

    Raises:
        Refused: saving would lose what somebody else has written, or what the library couldn't read.
        NotSaved: the folder is full or read-only.
    """
    if document.unreadable:
        raise Refused(
            f"{document.unreadable} entities of the file can't be read by IfcOpenShell and would be lost. "
            "Nothing was saved; export the file again without them."
        )
    if not document.is_on_disk():
        raise Refused(CHANGED_ON_DISK)
    if not os.access(document.path, os.W_OK):
        raise Refused("The file is write-protected. Nothing was saved.")
    try:
        _replace(document, data, version, result, journal, undoable)
    except OSError as error:
        if file_version(document.path) != version:
            raise NotSaved(f"The file couldn't be saved: {error}. Nothing was changed.") from error
        # It has its name already; only the flush of the folder failed.
    journal.finish(result["id"], result)


def _replace(document: "Document", data: bytes, version: str, result: dict, journal: Journal, undoable: bool) -> None:
    path = str(document.path)
    staged = durable.stage(path, data)
    try:
        shutil.copymode(path, staged)
        if undoable:
            _keep_for_undo(journal, document, version)
        record = {"path": path, "before": document.version, "after": version, "result": result}
        journal.prepare(result["id"], record)
        durable.publish(staged, path)
    finally:
        durable.discard(staged)


def undo_bytes(document: "Document", journal: Journal) -> bytes:
    """The file as it was before the last commit. Raises Refused where that can't be brought back."""
    folder = Path(journal.folder)
    if not (folder / "undo.json").exists():
        raise Refused("There is nothing to undo: no script has changed this document yet.")
    record = json.loads((folder / "undo.json").read_text("ascii"))
    if record["before"] == document.version:
        raise Refused("There is nothing to undo: the last change was undone already.")
    if record["after"] != document.version:
        raise Refused("The document has moved on since the last commit; undoing it now would lose other work.")
    return (folder / "undo.ifc").read_bytes()


def settle(journal: Journal) -> None:
    """Give every command that a crash left without a result the true one. No process may be at work on them."""
    for command_id in journal.unsettled():
        settle_one(journal, command_id, "the host was stopped or killed")


def settle_one(journal: Journal, command_id: str, cause: str, seconds: float = 0.0) -> dict:
    """Find out what became of one command, record it, and return its result."""
    prepared = journal.prepared(command_id)
    if prepared is None:
        return _not_committed(journal, command_id, cause, seconds)
    found = file_version(Path(prepared["path"]))
    if found == prepared["after"]:
        return journal.finish(command_id, prepared["result"])
    if found == prepared["before"]:
        return _not_committed(journal, command_id, cause, seconds)
    message = "The host was killed while it saved, and the file has been changed since: it can't tell what was saved."
    result = results.end(prepared["result"], "unknown", "HostEnded", message)
    return journal.finish(command_id, result)


def _not_committed(journal: Journal, command_id: str, cause: str, seconds: float) -> dict:
    begun = journal.started(command_id)
    result = results.new({"id": command_id}, begun["open"])
    result.update(script_sha256=begun.get("script_sha256"), seconds=seconds)
    result["stdout"] = printed(journal, command_id)
    results.end(result, "crashed", "Crashed", CRASHED.format(cause=cause))
    return journal.finish(command_id, results.pack(result, journal))


def printed(journal: Journal, command_id: str) -> str:
    """What a command's script has printed so far."""
    path = Path(journal.output_path(command_id))
    return path.read_bytes().decode("utf-8", "replace") if path.exists() else ""


def remove_leftovers(path: Path) -> None:
    """Remove staged files of processes that were killed while they saved. No process may be saving."""
    for leftover in path.parent.glob(f".{glob.escape(path.name)}.*.part"):
        leftover.unlink()


def _keep_for_undo(journal: Journal, document: "Document", after: str) -> None:
    folder = Path(journal.folder)
    durable.write(str(folder / "undo.ifc"), document.path.read_bytes())
    record = {"before": document.version, "after": after}
    durable.write(str(folder / "undo.json"), json.dumps(record).encode("ascii"))
