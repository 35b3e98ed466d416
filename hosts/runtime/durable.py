"""Files that survive a crash: after any of these calls a file is the old one or the new one, whole."""

import os

# A script language without os.replace (2.7) may not rename over a file on Windows; the journal never needs to.
_replace = getattr(os, "replace", os.rename)


def stage(path, data):
    """Write `data` (bytes) to a new file beside `path`, flushed to the disk, and return its path.

    Raises:
        OSError: the folder is full, read-only or gone; nothing is left behind.
    """
    folder, name = os.path.split(path)
    staged = os.path.join(folder, ".%s.%d.part" % (name, os.getpid()))
    try:
        with open(staged, "wb") as file:
            file.write(data)
            file.flush()
            os.fsync(file.fileno())
    except (OSError, IOError):
        discard(staged)
        raise
    return staged


def publish(staged, path):
    """Give a staged file its name, so that it keeps it after a power cut."""
    _replace(staged, path)
    sync_folder(os.path.dirname(path))


def write(path, data):
    """Write `data` (bytes) so that `path` never holds half of it."""
    publish(stage(path, data), path)


def discard(path):
    """Remove a file that may not be there."""
    if os.path.exists(path):
        os.remove(path)


def sync_folder(folder):
    """Flush a folder's entries; a rename is only lasting after that. Windows has no such call and needs none."""
    if os.name != "posix":
        return
    descriptor = os.open(folder or ".", os.O_RDONLY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)
