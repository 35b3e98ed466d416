"""Brings finished results to the server, and keeps at it until the server has an opinion."""

import random

from hosts.runtime import results
from hosts.runtime.transport import TransportError

TIMEOUT_S = 30.0
LONGEST_PAUSE_S = 30.0
UPLOAD_ATTEMPTS = 3  # an upload address can expire; three that were refused are no accident


class Unauthorized(Exception):
    """The server doesn't accept this host's token any more."""


class Stopped(Exception):
    """The link was stopped in the middle of something that the journal still knows."""


class Refused(Exception):
    """The server won't take one upload."""


class Outbox(object):
    """Posts results out of the journal.

    Args:
        pause: called with seconds; returns True when the link is being stopped.
        log: called with one line of text.
    """

    def __init__(self, journal, transport, pause, log):
        self._journal = journal
        self._transport = transport
        self._pause = pause
        self._log = log

    def deliver(self, command_id):
        """Post one result, with pauses that grow, until it is taken or refused for good.

        Raises:
            Unauthorized: the journal keeps the result for the day the host is paired again.
            Stopped: the link is being stopped; the next start goes on.
        """
        failures = 0
        while not self.attempt(command_id):
            failures += 1
            if self._pause(backoff(failures)):
                raise Stopped(command_id)

    def attempt(self, command_id):
        """Try once. True when the matter is closed, False when it's worth another try."""
        result = self._journal.result(command_id)
        try:
            for blob in results.blobs(result):
                try:
                    self._upload(command_id, blob)
                except Refused as error:
                    _leave_out(result, blob, str(error))
            return self._post(command_id, result)
        except TransportError as error:
            self._log("The result of %s couldn't be delivered yet: %s" % (command_id, error))
            return False

    def _post(self, command_id, result):
        path = "/api/runs/%s/calls/%s/result" % (self._journal.started(command_id)["run"], command_id)
        status = self._call(path, result)[0]
        if status not in (200, 202):
            self._log("The server answered %d to the result of %s; it isn't sent again." % (status, command_id))
        self._journal.deliver(command_id)
        return True

    def _upload(self, command_id, blob):
        for _ in range(UPLOAD_ATTEMPTS):
            status, place = self._call("/api/hosts/uploads", blob)
            if status != 200 or place is None:
                raise Refused("the server answered %d" % status)
            if not place.get("url"):
                return
            data = self._journal.stored(command_id, blob["sha256"])
            status = self._transport.put(place["url"], data, place.get("headers") or {}, TIMEOUT_S)
            if 200 <= status < 300:
                return
            if status >= 500:
                raise TransportError("the store answered %d" % status)
        raise Refused("the store answered %d" % status)

    def _call(self, path, body):
        """Post, with the statuses that mean "later" and "never again" turned into exceptions."""
        status, answer = self._transport.post(path, body, TIMEOUT_S)
        if status in (401, 403):
            raise Unauthorized("The server refused this host's token (%d)." % status)
        if status in (408, 425, 429) or status >= 500:
            raise TransportError("the server answered %d" % status)
        return status, answer


def backoff(failures):
    """Seconds to wait after so many failures in a row: doubling from half a second, never two hosts in step."""
    return min(LONGEST_PAUSE_S, 0.25 * 2 ** min(failures, 10)) * (0.5 + random.random())


def _leave_out(result, blob, why):
    """Take something that can't be uploaded out of a result, and say so there."""
    digest = blob["sha256"]
    result["images"] = [image for image in result["images"] if image["sha256"] != digest]
    for key, nothing in (("stdout", ""), ("report", None)):
        if results.is_blob(result[key]) and result[key]["sha256"] == digest:
            result[key] = nothing
    result["notes"].append("%d bytes of %s couldn't be uploaded: %s." % (blob["bytes"], blob["media_type"], why))
