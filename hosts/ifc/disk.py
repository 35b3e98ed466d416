"""Which bytes lie on the disk."""

import hashlib
from pathlib import Path


def file_version(path: Path) -> str | None:
    """sha256 of a file's bytes; None when there is no such file."""
    try:
        return hashlib.sha256(path.read_bytes()).hexdigest()
    except FileNotFoundError:
        return None


def file_status(path: Path) -> tuple[int, int, int] | None:
    """What changes whenever a file is written or replaced, without reading it; None when there is no such file."""
    try:
        status = path.stat()
    except FileNotFoundError:
        return None
    return status.st_ino, status.st_size, status.st_mtime_ns
