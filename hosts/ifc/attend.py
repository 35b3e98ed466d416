"""The worker's side of a running command: wait for the runner, and hear the supervisor meanwhile."""

import os
import time
from dataclasses import dataclass
from typing import Protocol

from hosts.ifc import channel
from hosts.ifc.channel import Channel, ChannelLost

START_S = 120.0  # a fresh process imports the library and parses the model; a fork needs none of it
REPORT_S = 300.0  # changes, report and picture, which have limits of their own
SAVE_S = 120.0


class Runner(Protocol):
    """A process that runs a command and speaks over `line`."""

    line: Channel

    def end(self, patience_s: float = 0.0) -> str:
        """Make sure that it and all it started are gone; returns how it ended, for people.

        Args:
            patience_s: how long it may take to end by itself before it is killed.
        """


@dataclass(frozen=True)
class Ending:
    """How an attended command ended.

    `cause`: "result", "cancelled", "timed_out" or "died"; `result` only with the first. `saving`: the runner had been
    allowed to save, so that without a result the journal and the file know what became of it.
    """

    cause: str
    phase: str
    saving: bool
    result: dict | None = None
    saved: bool = False


def attend(supervisor: Channel, runner: Runner, command: dict) -> Ending:
    """Wait until the command ends one way or another. Ends this process when the supervisor or a successor says so."""
    limits = {"script": command["limits"]["seconds"], "report": REPORT_S, "saving": SAVE_S}
    phase, deadline = "start", time.monotonic() + START_S
    while True:
        found = channel.ready([supervisor, runner.line], max(0.0, deadline - time.monotonic()))
        if not found:
            return Ending("timed_out", phase, phase == "saving")
        if supervisor in found and _is_cancelled(supervisor, runner, command) and phase != "saving":
            return Ending("cancelled", phase, False)
        if runner.line not in found:
            continue
        try:
            message = runner.line.receive()
        except ChannelLost:
            return Ending("died", phase, phase == "saving")
        if message["kind"] == "succeed":
            os._exit(0)  # the runner holds the committed model and is the worker now
        if message["kind"] == "result":
            return Ending("result", phase, phase == "saving", message["result"], message["saved"])
        phase = message["phase"]
        deadline = time.monotonic() + limits[phase]
        if phase == "saving":
            _allow(runner)


def _allow(runner: Runner) -> None:
    """Tell the runner that its result is still wanted. If it has died, the next message says so."""
    try:
        runner.line.send({"kind": "save"})
    except ChannelLost:
        return


def _is_cancelled(supervisor: Channel, runner: Runner, command: dict) -> bool:
    try:
        message = supervisor.receive()
    except ChannelLost:
        runner.end()
        os._exit(0)
    return message["kind"] == "cancel" and message["id"] == command["id"]
