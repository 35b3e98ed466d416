"""The answer to a command, as it goes over the wire."""

import json

INLINE_STDOUT_BYTES = 64 * 1024  # of the wire contract: what is larger travels beside the result, as a Blob
INLINE_REPORT_BYTES = 128 * 1024
BLOB_KEYS = frozenset(("sha256", "bytes", "media_type"))


def new(command, document):
    """A result that says nothing yet: every key of the wire contract, `outcome` None."""
    return {
        "id": command["id"],
        "outcome": None,
        "stdout": "",
        "error": None,
        "changed": {"added": [], "modified": [], "deleted": []},
        "geometry_changed": False,
        "report": None,
        "images": [],
        "notes": [],
        "document": document,
        "script_sha256": None,
        "seconds": 0.0,
    }


def end(result, outcome, kind=None, message=None, line=None):
    """Set the outcome and, where a `kind` of error is given, the error. Returns the result."""
    result["outcome"] = outcome
    if kind is not None:
        result["error"] = {"type": kind, "message": message, "line": line}
    return result


def pack(result, journal):
    """Move what is too large for a result, and pictures given as `png` bytes, into the journal. Safe to repeat."""
    stdout, report = result["stdout"], result["report"]
    if not is_blob(stdout):
        data = stdout.encode("utf-8", "replace")
        if len(data) > INLINE_STDOUT_BYTES:
            result["stdout"] = journal.store(result["id"], data, "text/plain; charset=utf-8")
    if report is not None and not is_blob(report):
        data = json.dumps(report).encode("ascii")
        if len(data) > INLINE_REPORT_BYTES:
            result["report"] = journal.store(result["id"], data, "application/json")
    for image in result["images"]:
        if "png" in image:
            image.update(journal.store(result["id"], image.pop("png"), "image/png"))
    return result


def is_blob(value):
    """Whether a value is a Blob {sha256, bytes, media_type} and nothing else."""
    return isinstance(value, dict) and frozenset(value) == BLOB_KEYS


def blobs(result):
    """Every Blob a result refers to: whole output, report, pictures."""
    found = [value for value in (result["stdout"], result["report"]) if is_blob(value)]
    return found + [{key: image[key] for key in BLOB_KEYS} for image in result["images"]]
