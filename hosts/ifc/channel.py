"""JSON messages between two of the host's processes. Never pickles: one end may have run a script."""

import json
import multiprocessing.connection as connection
import os


class ChannelLost(Exception):
    """The other end has gone, or a script has closed this one."""


class Channel:
    """One end of a two-way line."""

    def __init__(self, end: connection.Connection):
        self.connection = end
        self._node = _node(end)

    def send(self, message: dict) -> None:
        """Send a message. Raises ChannelLost."""
        self.send_bytes(json.dumps(message).encode("ascii"))

    def send_bytes(self, data: bytes) -> None:
        """Send a message that isn't JSON. Raises ChannelLost."""
        try:
            # A script can close our descriptor and open a file of its own that gets the same number.
            if _node(self.connection) != self._node:
                raise ChannelLost("this end was closed")
            self.connection.send_bytes(data)
        except (OSError, ValueError) as error:
            raise ChannelLost(str(error)) from error

    def receive(self) -> dict:
        """Wait for a message. Raises ChannelLost."""
        return json.loads(self.receive_bytes())

    def receive_bytes(self) -> bytes:
        """Wait for a message that isn't JSON. Raises ChannelLost."""
        try:
            return self.connection.recv_bytes()
        except (EOFError, OSError) as error:
            raise ChannelLost("the other end has gone") from error

    def has_message(self, seconds: float) -> bool:
        """Whether a message, or the other end's going, comes within so many seconds."""
        return self.connection.poll(seconds)

    def close(self) -> None:
        self.connection.close()


def pair() -> tuple[Channel, Channel]:
    """Both ends of a new line."""
    one, other = connection.Pipe()
    return Channel(one), Channel(other)


def inherited(handle: int) -> Channel:
    """The end whose descriptor (on Windows: handle) a parent process passed on."""
    kind = connection.PipeConnection if os.name == "nt" else connection.Connection
    return Channel(kind(handle))


def ready(channels: list[Channel], seconds: float | None) -> list[Channel]:
    """Those channels that have a message or lost their other end, waiting so long for the first."""
    by_connection = {channel.connection: channel for channel in channels}
    return [by_connection[found] for found in connection.wait(list(by_connection), seconds)]


def _node(end: connection.Connection) -> tuple[int, int] | None:
    if os.name == "nt":  # a handle there, which a script can't take for a descriptor
        return None
    status = os.fstat(end.fileno())
    return status.st_dev, status.st_ino
