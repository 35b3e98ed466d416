"""Run a script and say, if it failed, what happened and on which of its lines."""

from __future__ import unicode_literals

import sys
import traceback

SCRIPT = "<script>"
_text = type("")


def run(source, namespace, filename=SCRIPT):
    """Compile and run `source` (text) in `namespace`.

    Everything a script may raise ends here, `sys.exit`, KeyboardInterrupt and MemoryError included: for the host
    they are all the same, a script that didn't get to its end.

    Returns:
        None, or {type, message, line}; `line` is 1-based in `source`, None where the script has no part in it.
    """
    try:
        exec(_compile(source, filename), namespace)
    except:  # noqa: E722 - a script may raise anything, in 2.7 even what is no exception class
        return describe(sys.exc_info(), filename)
    return None


def describe(exc_info, filename=SCRIPT):
    """{type, message, line} of an exception as `sys.exc_info()` gives it."""
    kind, value, trace = exc_info
    return {
        "type": getattr(kind, "__name__", _text(kind)),
        "message": _message(value),
        "line": _line(value, trace, filename),
    }


def _compile(source, filename):
    if sys.version_info[0] == 2:
        # Bytes with a mark, since 2.7 refuses text that carries an encoding comment.
        source = b"\xef\xbb\xbf" + source.encode("utf-8")
    return compile(source, filename, "exec", 0, True)


def _message(value):
    try:
        return _text(value)
    except Exception as error:  # noqa: BLE001 - the script's own __str__ runs here
        return "(no message: its __str__ raised %s)" % type(error).__name__


def _line(value, trace, filename):
    """The deepest place that belongs to the script: a fault inside a library is shown where the script called it."""
    lines = [frame[1] for frame in traceback.extract_tb(trace) if frame[0] == filename]
    if isinstance(value, SyntaxError) and value.filename == filename:
        lines.append(value.lineno)
    return lines[-1] if lines else None
