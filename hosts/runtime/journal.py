"""What a host was told to do and how it ended, on disk, so that no command is ever executed twice.

Each command has a folder. Its life is a row of files that are only ever added, never rewritten:

    started.json    written before anything runs
    prepared.json   written before the document's file is replaced: what the result will be if that succeeds
    final.json      the result
    delivered       the server has it

A command that was redelivered is answered from `final.json`. One that has no `final.json` after a crash is
"unsettled": whoever knows the document says what became of it.
"""

import hashlib
import io
import json
import os
import re
import shutil
import time

from hosts.runtime import durable

KEEP_DELIVERED = 100  # a server redelivers within minutes; a hundred commands are hours of work
COMMAND_ID = re.compile(r"^[a-z0-9_]{1,40}$")


class Journal(object):
    """The commands of one host, in one folder that nobody else writes to."""

    def __init__(self, folder, keep=KEEP_DELIVERED):
        self.folder = os.path.abspath(folder)
        self._keep = keep
        self._commands = os.path.join(self.folder, "commands")
        if not os.path.isdir(self._commands):
            os.makedirs(self._commands)

    def begin(self, command, document):
        """Record that a command is about to run on a document {id, title, version}.

        Raises:
            ValueError: its id isn't 1 to 40 of a-z, 0-9 and _, or it was begun before.
        """
        command_id = command["id"]
        if not COMMAND_ID.match(command_id):
            raise ValueError("not a command id: %r" % (command_id,))
        if self.started(command_id) is not None:
            raise ValueError("command %s was begun before" % command_id)
        record = {key: value for key, value in command.items() if key not in ("script", "epilogue")}
        record.update(started_at=time.time(), open=document)
        if not os.path.isdir(self._folder(command_id)):
            os.mkdir(self._folder(command_id))
            durable.sync_folder(self._commands)
        self._write(command_id, "started.json", record)

    def prepare(self, command_id, record):
        """Record what becomes true with the next rename: a dict, of the caller's own shape."""
        self._write(command_id, "prepared.json", record)

    def finish(self, command_id, result):
        """Record the result and return the one that counts: the first that was recorded."""
        stored = self.result(command_id)
        if stored is not None:
            return stored
        self._write(command_id, "final.json", result)
        return result

    def deliver(self, command_id):
        """Record that the server has the result; the oldest delivered commands are forgotten."""
        self._write(command_id, "delivered", {"at": time.time()})
        self._prune()

    def started(self, command_id):
        """The command without its script, `open`: its document, `started_at`: Unix seconds. None if it's unknown."""
        return self._read(command_id, "started.json")

    def prepared(self, command_id):
        """What `prepare` recorded, or None."""
        return self._read(command_id, "prepared.json")

    def result(self, command_id):
        """The final result, or None while there is none."""
        return self._read(command_id, "final.json")

    def unsettled(self):
        """Ids of commands that were begun and have no result, oldest first."""
        return [name for name in self._ids() if not self._has(name, "final.json")]

    def undelivered(self):
        """Ids of commands with a result that the server doesn't have yet, oldest first."""
        return [name for name in self._ids() if self._has(name, "final.json") and not self._has(name, "delivered")]

    def store(self, command_id, data, media_type):
        """Keep bytes that belong to a result, and return their Blob {sha256, bytes, media_type}."""
        digest = hashlib.sha256(data).hexdigest()
        path = self._path(command_id, digest)
        if not os.path.exists(path):
            durable.write(path, data)
        return {"sha256": digest, "bytes": len(data), "media_type": media_type}

    def stored(self, command_id, digest):
        """The bytes that were stored under a sha256."""
        with open(self._path(command_id, digest), "rb") as file:
            return file.read()

    def output_path(self, command_id):
        """Where what the script prints is kept while it runs: readable even after its process was killed."""
        return self._path(command_id, "output")

    def _ids(self):
        begun = [(self.started(name), name) for name in os.listdir(self._commands)]
        return [name for record, name in sorted(begun, key=_age) if record is not None]

    def _prune(self):
        delivered = [name for name in self._ids() if self._has(name, "delivered")]
        for name in delivered[: max(0, len(delivered) - self._keep)]:
            shutil.rmtree(self._folder(name))

    def _folder(self, command_id):
        return os.path.join(self._commands, command_id)

    def _path(self, command_id, name):
        return os.path.join(self._folder(command_id), name)

    def _has(self, command_id, name):
        return os.path.exists(self._path(command_id, name))

    def _write(self, command_id, name, record):
        durable.write(self._path(command_id, name), json.dumps(record, sort_keys=True).encode("ascii"))

    def _read(self, command_id, name):
        path = self._path(command_id, name)
        if not os.path.exists(path):
            return None
        with io.open(path, encoding="ascii") as file:
            return json.load(file)


def _age(entry):
    record, name = entry
    return (record["started_at"] if record else 0, name)
