"""The process that holds one version of the document and has every command run beside it, never in it.

It has one thread, since it forks. `python -m hosts.ifc.worker HANDLE PARENT STRATEGY MODEL JOURNAL`, started by the
supervisor, to whom it says over the channel:

    {kind: "ready", document, application}   {kind: "unusable", message}
    {kind: "result", result, pid, retires}   the answer to a run; a worker that retires is to be replaced
    {kind: "stale"}                          the file is another one now; have a new worker run this command
"""

import hashlib
import os
import sys
import time
from pathlib import Path

import ifcopenshell

from hosts.ifc import channel, checkpoint, commit, document, family, side_work, snapshot
from hosts.ifc.attend import Ending, attend
from hosts.ifc.channel import Channel, ChannelLost
from hosts.ifc.document import Document
from hosts.ifc.isolate import Unfinished, in_fork
from hosts.runtime import results
from hosts.runtime.journal import Journal

FORK, SNAPSHOT = "fork", "snapshot"
STRATEGIES = {FORK: checkpoint.launch, SNAPSHOT: snapshot.launch}
SCRIPT_MODES = ("read", "preview", "commit")
LOCK_WAIT_S = 10.0  # a family whose supervisor was killed is gone within milliseconds
WRITTEN_MEANWHILE = (
    "The document's file was written while this ran, by the script itself or by another program. That is not undone."
)
DYING_S = 0.5  # between a closed channel and the end of its process


class Retired(Exception):
    """This worker holds a version of the document that is past, and has said so."""


class Worker:
    """Serves one supervisor with one document."""

    def __init__(self, line: Channel, held: Document, journal: Journal, strategy: str, lock: int | None):
        self.line = line
        self.document = held
        self.journal = journal
        self.lock = lock
        self.cache: dict = {}
        self._strategy = strategy
        self._warm = strategy != FORK
        self._pictured = False

    def serve(self) -> None:
        """Answer commands until the supervisor is gone (ChannelLost) or this worker is to be replaced (Retired)."""
        while True:
            if self._pictured and not self._warm and not self.line.has_message(0.0):
                self._warm_up()  # while nobody waits: whoever took one picture will take the next
            message = self.line.receive()
            if message["kind"] == "run":  # a cancel that comes here is for a command that has ended
                self._run(message["command"])

    def succeeded(self, result: dict) -> None:
        """This process ran a command, saved the model, and has taken the worker's place: answer."""
        self._warm = False
        self._answer(result, retires=False)

    def _run(self, command: dict) -> None:
        if not self.document.is_current():
            self._run_on_stale_file(command)
            return
        refusal = _refusal(command, self.document)
        if refusal is not None:
            self._answer(self._without_effect(command, "refused", "Refused", refusal), retires=False)
            return
        view = command.get("view")
        if view is not None and view.get("when") != "geometry" and not self._warm:
            self._warm_up()
        started_at = time.monotonic()
        runner = STRATEGIES[self._strategy](self, command)
        if runner is None:
            return
        ending = attend(self.line, runner, command)
        how = runner.end(DYING_S if ending.cause == "died" else 0.0)
        result = ending.result or self._account(command, ending, how, round(time.monotonic() - started_at, 3))
        saved = ending.saved or (ending.saving and result["outcome"] in ("committed", "unknown"))
        if not saved and not self.document.is_current():
            result["notes"].append(WRITTEN_MEANWHILE)
        self._answer(result, retires=saved)

    def _run_on_stale_file(self, command: dict) -> None:
        """The script of a commit was written for another state of the file; anything else runs on the new one."""
        if command["mode"] == "commit":
            self._answer(self._without_effect(command, "refused", "Refused", commit.CHANGED_ON_DISK), retires=True)
        self.line.send({"kind": "stale"})
        raise Retired

    def _account(self, command: dict, ending: Ending, how: str, seconds: float) -> dict:
        """The result of a command whose runner couldn't give one."""
        if ending.saving or ending.cause == "died":
            return commit.settle_one(self.journal, command["id"], how, seconds)
        limit = f"{command['limits']['seconds']:g} s" if ending.phase == "script" else "its time"
        outcome, kind, message = {
            "cancelled": ("rolled_back", "Cancelled", "The command was cancelled. Nothing was changed."),
            "timed_out": (
                "timed_out",
                "TimedOut",
                f"The {ending.phase} took longer than {limit} and was stopped. Nothing was changed.",
            ),
        }[ending.cause]
        result = self._without_effect(command, outcome, kind, message)
        result.update(stdout=commit.printed(self.journal, command["id"]), seconds=seconds)
        return results.pack(result, self.journal)

    def _without_effect(self, command: dict, outcome: str, kind: str, message: str) -> dict:
        result = results.end(results.new(command, self.document.state()), outcome, kind, message)
        if outcome != "refused" and command.get("script") is not None:
            result["script_sha256"] = _sha256(command["script"])
        return result

    def _answer(self, result: dict, retires: bool) -> None:
        self._pictured = bool(result["images"])
        self.line.send({"kind": "result", "result": result, "pid": os.getpid(), "retires": retires})
        if retires:
            raise Retired

    def _warm_up(self) -> None:
        """Make the shapes of the whole model once, instead of in every runner anew."""
        self._warm = True  # a model whose shapes can't be made isn't tried again
        try:
            self.cache = side_work.warm_up(self.document.model, self.cache, in_fork)
        except Unfinished as error:
            print(f"Pictures start cold: {error}.", file=sys.stderr)


def _refusal(command: dict, held: Document) -> str | None:
    """Why a command can't be run at all, or None."""
    mode, script, pinned = command["mode"], command.get("script"), command.get("document") or {}
    if mode not in (*SCRIPT_MODES, "view", "undo"):
        return f"This host knows no mode {mode!r}."
    if mode in SCRIPT_MODES and script is None:
        return "The command came without a script."
    if script is not None and command.get("script_sha256") not in (None, _sha256(script)):
        return "The script isn't the one its sha256 names; it was changed on the way."
    if pinned and pinned["id"] != held.id:
        return f"Another document is open here: {held.path.name}. Nothing was run."
    if pinned.get("version") not in (None, held.version):
        return "The document has changed since the version this command was meant for. Nothing was run."
    return None


def _sha256(script: str) -> str:
    return hashlib.sha256(script.encode()).hexdigest()


def main(arguments: list[str]) -> None:
    """The worker process."""
    handle, parent, strategy, path, folder = arguments
    family.die_with_parent(int(parent))
    family.adopt_orphans()
    line, journal = channel.inherited(int(handle)), Journal(folder)
    try:
        lock = family.hold_lock(Path(folder), LOCK_WAIT_S)
        held = document.load(Path(path))
    except family.Busy:
        line.send({"kind": "unusable", "message": f"Another Drafthand host uses {folder}. Stop it first."})
        return
    except document.Unusable as error:
        line.send({"kind": "unusable", "message": str(error)})
        return
    commit.remove_leftovers(held.path)
    application = {"name": "ifc", "version": ifcopenshell.version}
    line.send({"kind": "ready", "document": held.state(), "application": application})
    try:
        Worker(line, held, journal, strategy, lock).serve()
    except (ChannelLost, Retired):
        return


if __name__ == "__main__":
    main(sys.argv[1:])
    os._exit(0)  # not through Python's own end, which a committed script may have filled with its exit handlers
