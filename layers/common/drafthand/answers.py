"""What a host answered, fetched and checked: a host may answer with anything."""

from __future__ import annotations

import json
import logging
from dataclasses import dataclass, replace
from typing import Any

from drafthand.commands import Blob, HostResult, Report
from drafthand.images import readable
from drafthand.store import Store

logger = logging.getLogger(__name__)

TEXT = "text/plain; charset=utf-8"


@dataclass(frozen=True)
class Answer:
    """A host's result with its output and report at hand, and the URLs under which the user gets their exact bytes."""

    result: HostResult
    stdout: str
    output_url: str | None
    report: dict[str, Any] | None
    report_url: str | None

    def noted(self, notes: list[str]) -> Answer:
        """The same with more notes."""
        return replace(self, result=self.result.model_copy(update={"notes": [*self.result.notes, *notes]}))


def fetch(store: Store, owner: str, result: HostResult) -> Answer:
    """The answer, without what was named as uploaded but never came; notes say so."""
    result = _without_missing(store, owner, result)
    stdout, output_url = _stdout(store, owner, result)
    report, report_url = _report(store, owner, result)
    return Answer(result, stdout, output_url, report, report_url)


def _without_missing(store: Store, owner: str, result: HostResult) -> HostResult:
    notes = list(result.notes)
    changes: dict[str, Any] = {}
    for name in ("stdout", "report"):
        blob = getattr(result, name)
        if isinstance(blob, Blob) and store.blobs.head(owner, blob.sha256) is None:
            changes[name] = "" if name == "stdout" else None
            notes.append(f"The {name} was never uploaded.")
    images = []
    for image in result.images:
        data = store.blobs.get(owner, image.sha256)
        if data is None:
            notes.append("A picture was never uploaded.")
        elif reason := readable(data):  # in a request it would be refused, with every later one
            notes.append(f"A picture can't be shown: {reason}.")
        else:
            images.append(image)
    return result.model_copy(update=changes | {"images": images, "notes": notes})


def _stdout(store: Store, owner: str, result: HostResult) -> tuple[str, str | None]:
    if isinstance(result.stdout, Blob):
        return _bytes(store, owner, result.stdout).decode(errors="replace"), _url(result.stdout.sha256)
    if not result.stdout:
        return "", None
    return result.stdout, _url(store.blobs.put(owner, result.stdout.encode(), TEXT))


def _report(store: Store, owner: str, result: HostResult) -> tuple[dict[str, Any] | None, str | None]:
    """The report, where it is one."""
    if result.report is None:
        return None, None
    try:
        told = json.loads(_bytes(store, owner, result.report)) if isinstance(result.report, Blob) else result.report
        found = Report.model_validate(told)
    except ValueError as error:
        logger.warning("call %s: the report is not one: %s", result.id, error)
        return None, None
    return found.model_dump(), _url(store.blobs.put(owner, found.model_dump_json().encode(), "application/json"))


def _bytes(store: Store, owner: str, blob: Blob) -> bytes:
    data = store.blobs.get(owner, blob.sha256)
    if data is None:
        raise LookupError(f"{blob.sha256} is not in the bucket")
    return data


def _url(sha256: str) -> str:
    return f"/api/results/{sha256}"
