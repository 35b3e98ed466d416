"""What a host is told and what it answers, as JSON on the wire."""

from __future__ import annotations

from typing import Annotated, Any, Literal

from pydantic import BaseModel, ConfigDict, Field

Sha256 = Annotated[str, Field(pattern=r"^[0-9a-f]{64}$")]
Outcome = Literal["committed", "rolled_back", "previewed", "failed", "refused", "crashed", "timed_out", "unknown"]


class _Wire(BaseModel):
    model_config = ConfigDict(frozen=True)


class Blob(_Wire):
    """Bytes that lie in the bucket under their content hash."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    sha256: Sha256
    bytes: int = Field(ge=0)
    media_type: str


class Epilogue(_Wire):
    """The read-only script that reports what a command changed, stamped with what composed it.

    `prepare`: the host can't show the document as it was, so the same code also runs before the script, with `changed`
    None; what it leaves in `prepared` is there when it runs again.
    """

    host: str
    version: str
    code: str
    sha256: Sha256
    prepare: bool = False


class ViewRequest(_Wire):
    """A picture to take: size in pixels; `geometry` takes it only where geometry changed."""

    kind: Literal["3d", "plan"]
    storey: str | None = None
    highlight: Literal["changed"] | list[int] = "changed"
    width: int
    height: int
    when: Literal["always", "geometry"] = "always"


class DocumentPin(_Wire):
    id: str
    version: str | None = None


class Limits(_Wire):
    """`output_chars` is a ceiling against runaway output, not a way to shorten it: beyond it the script is stopped."""

    seconds: float = 120.0
    output_chars: int = 50_000_000


class Command(_Wire):
    """What a host is to do for one call. The bytes of `script` are exactly those whose hash is `script_sha256`."""

    id: str
    run: str
    session: str
    mode: Literal["read", "preview", "commit", "undo", "view"]
    script: str | None = None
    script_sha256: Sha256 | None = None
    epilogue: Epilogue | None = None
    view: ViewRequest | None = None
    document: DocumentPin | None = None
    limits: Limits = Limits()


class ScriptError(_Wire):
    """`line` is the line of the script, 1-based; None when the error lies outside it."""

    type: str
    message: str
    line: int | None = None


class Changed(_Wire):
    """Ids of elements, in the host's own numbering, ascending."""

    added: list[int] = Field(default_factory=list)
    modified: list[int] = Field(default_factory=list)
    deleted: list[int] = Field(default_factory=list)

    def counts(self) -> dict[str, int]:
        return {"added": len(self.added), "modified": len(self.modified), "deleted": len(self.deleted)}


class TakenView(_Wire):
    kind: str
    storey: str | None = None


class TakenImage(Blob):
    """A picture the host took and uploaded; width and height in pixels."""

    width: int = Field(gt=0)
    height: int = Field(gt=0)
    view: TakenView


class DocumentState(_Wire):
    """`id` is stable for one document, `version` changes with its content."""

    id: str
    title: str
    version: str


class HostResult(_Wire):
    """What a host answers. `stdout` and `report` are inline when small, in the bucket when large."""

    id: str
    outcome: Outcome
    stdout: str | Blob = ""
    error: ScriptError | None = None
    changed: Changed = Changed()
    geometry_changed: bool = False
    report: Annotated[Blob | dict[str, Any] | None, Field(union_mode="left_to_right")] = None
    images: list[TakenImage] = Field(default_factory=list)
    notes: list[str] = Field(default_factory=list)
    document: DocumentState | None = None
    script_sha256: Sha256 | None = None
    seconds: float = Field(0.0, ge=0)


class ReportRow(_Wire):
    """One element that changed; `changes` holds {property, before, after}."""

    id: int
    change: Literal["added", "modified", "deleted"]
    category: str
    name: str | None
    tag: str | None
    level: str | None
    type: str | None
    changes: list[dict[str, Any]]


class ReportGroup(_Wire):
    """Elements of one category that changed in the same properties; `example` is {id, name} of one of them.

    `changes` holds {property, before, after}: the values that all have in common, "(various)" for others.
    """

    category: str
    change: Literal["added", "modified", "deleted"]
    count: int
    example: dict[str, Any]
    changes: list[dict[str, Any]] = Field(default_factory=list)


class Report(_Wire):
    """What an epilogue leaves, in one shape for all hosts."""

    counts: dict[str, int]
    elements: list[ReportRow]
    groups: list[ReportGroup]
    unresolved: int
    entities: dict[str, int]
