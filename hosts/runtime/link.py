"""The line to the server: ask for a command, have the host run it, bring the result, ask again.

A host is any object with these four methods:

    document()        -> {id, title, version}, quickly and from any thread
    application()     -> {name, version}
    run(command)      -> result, as in `results`; may take as long as the command may
    cancel(command_id)   called from another thread while `run` is busy
"""

import sys
import threading
import time
import traceback

from hosts.runtime import results
from hosts.runtime.outbox import Outbox, Stopped, Unauthorized, backoff
from hosts.runtime.transport import TransportError

POLL_TIMEOUT_S = 35.0  # the server holds an idle poll for up to 20 s
HEARTBEAT_TIMEOUT_S = 15.0  # the server holds a heartbeat for up to 5 s
FIRST_BEAT_AFTER_S = 0.5  # most commands are done by then
AFTER_CANCEL_S = 1.0  # a host that is being stopped goes on saying that it is there
PAUSE_AFTER_NONSENSE_S = 1.0


class Link(object):
    """Serves one host until it is stopped.

    Args:
        log: called with one line of text for what a person should know.
        on_connected: called once, when the server has answered this host's first poll.
    """

    def __init__(self, host, journal, transport, log, on_connected):
        self._host = host
        self._journal = journal
        self._transport = transport
        self._log = log
        self._on_connected = on_connected
        self._stopping = threading.Event()
        self._outbox = Outbox(journal, transport, self._stopping.wait, log)

    def run(self):
        """Poll and work until `stop` is called.

        Raises:
            Unauthorized: the server doesn't know the host's token (any more).
        """
        try:
            self._catch_up()
            failures = 0
            while not self._stopping.is_set():
                answer = self._poll()
                failures = 0 if answer is not None else failures + 1
                if answer is None:
                    self._stopping.wait(backoff(failures))
                elif answer.get("command"):
                    self._serve(answer["command"])
                else:
                    self._stopping.wait(answer.get("next_poll_s") or 0)
        except Stopped:
            return

    def stop(self):
        """End `run` at its next breath; callable from any thread."""
        self._stopping.set()

    def flush(self):
        """Try once to bring what is still undelivered, on the way out."""
        for command_id in self._journal.undelivered():
            self._outbox.attempt(command_id)

    def _catch_up(self):
        """What an earlier process of this host left behind is answered before anything new is asked for."""
        for command_id in self._journal.unsettled():
            result = results.new({"id": command_id}, self._journal.started(command_id)["open"])
            message = "The host ended while this command ran. It can't tell whether the document was changed."
            self._journal.finish(command_id, results.end(result, "unknown", "HostEnded", message))
        for command_id in self._journal.undelivered():
            self._outbox.deliver(command_id)

    def _poll(self):
        """One idle poll. Returns the answer, or None when there was none worth having."""
        try:
            status, answer = self._transport.post("/api/hosts/poll", self._presence(), POLL_TIMEOUT_S)
        except TransportError as error:
            self._log("No answer from %s (%s); trying again." % (self._transport.base_url, error))
            return None
        if status in (401, 403):
            raise Unauthorized("The server refused this host's token (%d). Pair the host again." % status)
        if status != 200 or answer is None:
            self._log("%s answered %d to a poll; trying again." % (self._transport.base_url, status))
            return None
        self._connected()
        return answer

    def _connected(self):
        announce, self._on_connected = self._on_connected, None
        if announce is not None:
            announce()

    def _serve(self, command):
        """Run a command, or answer one that came before, and bring the result."""
        try:
            known = self._journal.started(command["id"]) is not None
            if not known:
                self._journal.begin(command, self._host.document())
        except ValueError as error:
            self._log("A command was ignored: %s" % error)
            self._stopping.wait(PAUSE_AFTER_NONSENSE_S)
            return
        with _Heartbeat(self._transport, self._presence, self._host.cancel, command["id"]):
            if not known:
                self._journal.finish(command["id"], self._execute(command))
            self._outbox.deliver(command["id"])

    def _execute(self, command):
        try:
            return results.pack(self._host.run(command), self._journal)
        except Exception as error:  # noqa: BLE001 - whatever it is, the server is waiting for an answer
            self._log(traceback.format_exc())
            result = results.new(command, self._host.document())
            message = "The host failed: %s. It can't tell whether the document was changed." % error
            return results.end(result, "unknown", sys.exc_info()[0].__name__, message)

    def _presence(self, busy_since=None, command_id=None):
        return {
            "document": self._host.document(),
            "application": self._host.application(),
            "busy_since": busy_since,
            "command_id": command_id,
        }


class _Heartbeat(object):
    """Tells the server that the host is alive and working, and the host when the server cancels."""

    def __init__(self, transport, presence, cancel, command_id):
        self._transport = transport
        self._presence = presence
        self._cancel = cancel
        self._command_id = command_id
        self._busy_since = time.time()
        self._done = threading.Event()
        self._thread = threading.Thread(target=self._beat)
        self._thread.daemon = True

    def __enter__(self):
        self._thread.start()

    def __exit__(self, *_):
        # Not joined: a beat that hangs on a dead connection must not hold up the result.
        self._done.set()

    def _beat(self):
        pause, failures = FIRST_BEAT_AFTER_S, 0
        while not self._done.wait(pause):
            answer = self._tell()
            if answer is None:
                failures += 1
                pause = backoff(failures)
                continue
            failures, pause = 0, answer.get("next_poll_s") or 0
            if answer.get("cancelled") and not self._done.is_set():
                self._cancel(self._command_id)
                pause = AFTER_CANCEL_S

    def _tell(self):
        """One beat; None where the server is not there: the main line reports that."""
        try:
            presence = self._presence(self._busy_since, self._command_id)
            return self._transport.post("/api/hosts/poll", presence, HEARTBEAT_TIMEOUT_S)[1]
        except TransportError:
            return None
