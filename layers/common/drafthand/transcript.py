"""The vendor-neutral transcript: append-only messages of typed parts.

Rule 1: nothing that was appended is ever rewritten, so a request's prefix stays byte-identical.
Rule 2: what only one vendor understands travels as `Opaque`, byte for byte, and returns only to the model that made it.
Rule 3: call ids are ours; the vendor's own id is kept beside them and never leaves its vendor.
"""

from __future__ import annotations

import json
from dataclasses import dataclass, field
from typing import Annotated, Any, Literal

from pydantic import BaseModel, ConfigDict, Field

from drafthand.chunks import Usage

NOTHING = Usage()
WHOLE = ("end", "tool_calls")
"""How a turn stops that the model itself has ended."""


class _Word(BaseModel):
    model_config = ConfigDict(frozen=True)


class Opaque(_Word):
    """What must return untouched to the vendor and model that made it."""

    vendor: str
    model: str
    kind: str
    data: str


class ImageRef(_Word):
    """A picture in the bucket, by content hash; width and height in pixels."""

    sha256: str
    media_type: str
    width: int
    height: int


class Text(_Word):
    type: Literal["text"] = "text"
    text: str
    opaque: Opaque | None = None


class Thinking(_Word):
    type: Literal["thinking"] = "thinking"
    text: str
    opaque: Opaque | None = None


class ToolCall(_Word):
    """A call the model asked for. `input` is the parsed JSON; None when it was not valid JSON (then `raw` tells)."""

    type: Literal["tool_call"] = "tool_call"
    id: str
    name: str
    input: dict[str, Any] | None
    raw: str
    vendor_id: str | None = None
    opaque: Opaque | None = None


class ToolResult(_Word):
    """What the model is told of one call."""

    type: Literal["tool_result"] = "tool_result"
    call_id: str
    ok: bool
    text: str
    images: tuple[ImageRef, ...] = ()


class Image(_Word):
    type: Literal["image"] = "image"
    image: ImageRef


class Summary(_Word):
    """Stands for everything before it in the requests that follow; what it stands for stays in the transcript.

    `text` is the whole text that the model reads; `request` and `report` are the open request and the last
    automation's result in it, for a later summary. `lean`: it was made for a window too small for more.
    """

    type: Literal["summary"] = "summary"
    text: str
    request: str
    report: str | None
    lean: bool


class Compaction(_Word):
    """Stands for everything before it, too, but is its vendor's own: only the model that made it can read it, and every
    other goes on from the whole transcript. `opaque` holds the vendor's block or item as JSON."""

    type: Literal["compaction"] = "compaction"
    opaque: Opaque


class Kept(_Word):
    """What must survive a vendor's compaction word for word; for the model that reads that compaction and no other."""

    type: Literal["kept"] = "kept"
    text: str


Part = Annotated[
    Text | Thinking | ToolCall | ToolResult | Image | Summary | Compaction | Kept, Field(discriminator="type")
]


class Message(_Word):
    """One entry of the transcript. `model` is set on what a model wrote."""

    role: Literal["user", "assistant", "tool"]
    parts: tuple[Part, ...]
    model: str | None = None
    stop: str | None = None
    """Why the model ended, as `Turn.stop`."""

    @property
    def text(self) -> str:
        return "".join(part.text for part in self.parts if isinstance(part, Text))

    @property
    def calls(self) -> list[ToolCall]:
        return [part for part in self.parts if isinstance(part, ToolCall)]


@dataclass
class Turn:
    """One answer of a model, filled while it streams."""

    vendor: str
    model: str
    parts: list[Text | Thinking | ToolCall | Compaction] = field(default_factory=list)
    stop: str | None = None
    """end, tool_calls, max_tokens, refusal, context_full or paused; else the vendor's own word."""
    usage: Usage = field(default_factory=Usage)
    context_tokens: int = 0
    """What request and answer were together, as the vendor counted them."""
    empty: bool = True
    """Nothing has come, not even what is not kept."""

    @property
    def text(self) -> str:
        return "".join(part.text for part in self.parts if isinstance(part, Text))

    @property
    def tool_calls(self) -> list[ToolCall]:
        return [part for part in self.parts if isinstance(part, ToolCall)]

    def clear(self) -> None:
        """Forget what has come: the whole answer comes again. Tokens that were used stay counted."""
        self.parts.clear()
        self.stop, self.empty = None, True

    def close(self, stop: str | None, usage: Usage, besides: Usage = NOTHING) -> None:
        """The stream has ended as its vendor ends streams. Where the model did not end its turn itself, no call has an
        input: what came of one may be valid JSON by chance, or the beginning of more, and must never run. `besides`:
        paid, but no part of the context."""
        self.stop, self.usage, self.context_tokens = stop, self.usage + usage + besides, usage.total
        if stop not in WHOLE:
            self.parts = [p.model_copy(update={"input": None}) if isinstance(p, ToolCall) else p for p in self.parts]

    def message(self) -> Message:
        return Message(role="assistant", parts=tuple(self.parts), model=self.model, stop=self.stop)


def parse_input(raw: str) -> dict[str, Any] | None:
    """A tool call's JSON text as an object; empty text means no arguments; None for anything that is not an object."""
    try:
        value = json.loads(raw) if raw.strip() else {}
    except (ValueError, RecursionError):
        return None
    return value if isinstance(value, dict) and is_json(value) else None


def is_json(value: Any) -> bool:
    """Whether JSON can say it: Python reads and writes NaN and infinities, nobody else does."""
    try:
        json.dumps(value, allow_nan=False)
    except (TypeError, ValueError, RecursionError):
        return False
    return True
