"""The IFC host as the link sees it: keeps a worker process alive, gives it commands, and knows the truth when it dies.

This process never loads the model and never runs a script. It has threads (the link's); that is why it doesn't fork.
"""

import os
import re
import signal
import subprocess
import sys
import threading
import time
from contextlib import suppress
from pathlib import Path

from hosts.ifc import channel, commit, family, spawn
from hosts.ifc.attend import REPORT_S, SAVE_S, START_S
from hosts.ifc.channel import Channel, ChannelLost
from hosts.runtime import results
from hosts.runtime.journal import Journal

# Scripts are written by a model that may have read anything: they see no secrets that they could print.
SECRET = re.compile(r"API_?KEY|ACCESS_KEY|TOKEN|SECRET|PASSWORD|PASSWD|CREDENTIAL", re.IGNORECASE)
ONE_THREAD = {"OPENBLAS_NUM_THREADS": "1", "OMP_NUM_THREADS": "1"}  # a process that forks should have no other
END_S = 5.0  # how long a worker may take to end itself
GRACE_S = 10.0  # how long it may take to answer a cancel
SLACK_S = START_S + REPORT_S + SAVE_S + 60.0  # what a worker may take beyond the script's own limit
READ_AGAIN = "The file had been changed on disk by another program; it was read again before this ran."


class Unusable(Exception):
    """The worker can't open the document; the message says why and what to do."""


class IfcHost:
    """One IFC file, as a host of `hosts.runtime.link`.

    Args:
        strategy: how a command is kept apart, "fork" or "snapshot".
    """

    def __init__(self, path: Path, journal: Journal, strategy: str):
        self._path = path.absolute()
        self._journal = journal
        self._strategy = strategy
        self._sending = threading.Lock()
        self._line: Channel | None = None
        self._process: subprocess.Popen | None = None
        self._pid = 0
        self._ready = False
        self._give_up_at = float("inf")
        self._command_id: str | None = None
        self._document: dict = {}
        self._application: dict = {}

    def start(self) -> None:
        """Open the document, and find out what became of commands that an earlier process left. Raises Unusable."""
        self._spawn()
        self._await_ready()
        commit.settle(self._journal)

    def document(self) -> dict:
        """{id, title, version} of the file as it was last opened or saved."""
        return self._document

    def application(self) -> dict:
        """{name, version}: "ifc", and the version of the library that reads and writes the file."""
        return self._application

    def run(self, command: dict) -> dict:
        """Have a command run and return its result, whatever happens to the processes that run it."""
        self._command_id = command["id"]
        self._give_up_at = time.monotonic() + command["limits"]["seconds"] + SLACK_S
        try:
            self._await_ready()
            answer = self._ask(command)
            if answer is not None and answer["kind"] == "stale":
                self._replace_worker()
                answer = self._ask(command)
                if answer is not None and answer["kind"] == "result":
                    answer["result"]["notes"].append(READ_AGAIN)
            return self._conclude(command, answer)
        except Unusable as error:
            return self._refused(command, str(error))
        finally:
            self._command_id = None

    def cancel(self, command_id: str) -> None:
        """Stop a command that is running; callable from any thread. One that has begun to save is let finish."""
        line = self._line
        if command_id != self._command_id or line is None:
            return
        self._give_up_at = min(self._give_up_at, time.monotonic() + GRACE_S)
        with suppress(ChannelLost), self._sending:  # a worker that has died is found by `run`
            line.send({"kind": "cancel", "id": command_id})

    def close(self) -> None:
        """End the worker and whatever it runs, and record what became of a command that was running."""
        self._end_worker()
        try:
            lock = family.hold_lock(Path(self._journal.folder), END_S)
        except family.Busy:
            return  # another host's folder, or a runner that won't die: the next start settles
        commit.settle(self._journal)
        if lock is not None:
            os.close(lock)

    def _ask(self, command: dict) -> dict | None:
        """Send a command and wait for the worker's answer; None when it died or had to be given up."""
        try:
            with self._sending:
                self._line.send({"kind": "run", "command": command})
            while not self._line.has_message(1.0):
                if time.monotonic() > self._give_up_at:
                    return None
            return self._line.receive()
        except ChannelLost:
            return None

    def _conclude(self, command: dict, answer: dict | None) -> dict:
        if answer is None:
            with suppress(Unusable):  # the next command is told
                self._replace_worker()
            return commit.settle_one(self._journal, command["id"], "its worker died or had to be killed")
        if answer["kind"] == "stale":
            message = "The file kept being changed on disk by another program. Nothing was run."
            return self._refused(command, message)
        result = answer["result"]
        self._document = result["document"]
        if answer["retires"]:
            self._end_worker()
            self._spawn()  # it opens the file while the server thinks about the result
            if result["outcome"] == "refused":
                with suppress(Unusable):  # the next command is told
                    self._await_ready()
                result["document"] = self._document
        elif answer["pid"] != self._pid:
            self._has_ended(END_S)  # the old one, which made way
            self._pid = answer["pid"]
        return result

    def _refused(self, command: dict, message: str) -> dict:
        return results.end(results.new(command, self._document), "refused", "Unusable", message)

    def _replace_worker(self) -> None:
        """Have a new worker when this returns, with the old one and its runner gone. Raises Unusable."""
        self._end_worker()
        self._await_ready()

    def _spawn(self) -> None:
        """Start a worker, which opens the document in its own time."""
        ours, theirs = channel.pair()
        arguments = [str(os.getpid()), self._strategy, str(self._path), self._journal.folder]
        family.adopt_orphans()  # a runner that takes its worker's place becomes our child
        self._process = spawn.start("hosts.ifc.worker", theirs, [], arguments, _without_secrets(dict(os.environ)))
        theirs.close()
        self._line, self._pid, self._ready = ours, self._process.pid, False

    def _await_ready(self) -> None:
        """Wait until there is a worker with an open document, and start one if need be. Raises Unusable."""
        if self._line is not None and self._ready and self._line.has_message(0):
            self._end_worker()  # it never speaks unasked: this is its death
        if self._line is None:
            self._spawn()
        if self._ready:
            return
        try:
            message = self._line.receive()
        except ChannelLost:
            message = {"kind": "unusable", "message": f"{self._path.name} made IfcOpenShell crash while it was read."}
        if message["kind"] == "unusable":
            self._end_worker()
            raise Unusable(message["message"])
        self._document, self._application, self._ready = message["document"], message["application"], True

    def _end_worker(self) -> None:
        """Let the worker end, which takes its runner along, and kill it if it doesn't."""
        if self._line is None:
            return
        self._line.close()
        self._line = None
        if not self._has_ended(END_S):
            with suppress(ProcessLookupError):
                os.kill(self._pid, signal.SIGKILL if os.name == "posix" else signal.SIGTERM)
            self._has_ended(END_S)

    def _has_ended(self, seconds: float) -> bool:
        """Wait so long for the worker's process to end, and reap it: our child by birth or, later, by adoption."""
        if self._process.pid == self._pid:
            with suppress(subprocess.TimeoutExpired):
                self._process.wait(seconds)
            return self._process.returncode is not None
        give_up_at = time.monotonic() + seconds
        with suppress(ChildProcessError):  # where there is no adoption, init reaps it
            while os.waitpid(self._pid, os.WNOHANG) == (0, 0):
                if time.monotonic() > give_up_at:
                    return False
                time.sleep(0.005)
        return True


def _without_secrets(environment: dict) -> dict:
    kept = {name: value for name, value in environment.items() if not SECRET.search(name)}
    return kept | ONE_THREAD


def default_strategy() -> str:
    """Fork where the system has it."""
    return "fork" if hasattr(os, "fork") and sys.platform != "win32" else "snapshot"
