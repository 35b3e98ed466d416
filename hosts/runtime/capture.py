"""What a script prints, kept byte for byte and up to a ceiling."""

import sys
import threading


class OutputLimit(BaseException):
    """The script printed more than it may. No Exception, so that `except Exception` in a script can't swallow it."""


class Capture(object):
    """Stands in for `sys.stdout` inside a `with` block and writes to `sink`, an unbuffered binary file.

    The file belongs to the caller, who can still read it when the process that printed was killed.
    Text is written as UTF-8 with no change to line ends; a lone surrogate becomes its escape.
    """

    encoding = "utf-8"
    errors = "backslashreplace"
    newlines = None
    closed = False

    def __init__(self, sink, limit_chars):
        self._sink = sink
        self._left = limit_chars
        self._lock = threading.RLock()
        self._limit_chars = limit_chars
        self.overflowed = False
        self.buffer = _Bytes(self)

    def __enter__(self):
        self._replaced = sys.stdout
        sys.stdout = self
        return self

    def __exit__(self, *_):
        sys.stdout = self._replaced

    def write(self, data):
        """Keep text (or bytes). Raises OutputLimit once the ceiling is passed; what fitted is kept."""
        with self._lock:
            fitting = data[: self._left]
            self._left -= len(fitting)
            self._sink.write(fitting if isinstance(fitting, bytes) else fitting.encode("utf-8", "backslashreplace"))
            if len(fitting) < len(data):
                self.overflowed = True
                raise OutputLimit("The script printed more than %d characters and was stopped." % self._limit_chars)
        return len(data)

    def writelines(self, lines):
        for line in lines:
            self.write(line)

    def fileno(self):
        return self._sink.fileno()

    def flush(self):
        """Nothing is held back."""

    def close(self):
        """A script may close its output; the capture stays open for the host."""

    def isatty(self):
        return False

    def readable(self):
        return False

    def seekable(self):
        return False

    def writable(self):
        return True


class _Bytes(object):
    """`sys.stdout.buffer`: the same output, for scripts that print bytes."""

    def __init__(self, capture):
        self._capture = capture

    def write(self, data):
        return self._capture.write(bytes(data))

    def flush(self):
        """Nothing is held back."""
