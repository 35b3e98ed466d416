"""Dialect `chat_completions`: the parts of an answer while they stream, and what a delta says.

Rules of these servers that shape the code:
1. A call's pieces are told apart by `index`, else by `id`, else by their place in the delta: any may be left out.
2. Name and id come once or with every piece; the first that is not empty counts, they are never put together.
3. Arguments come in pieces, all at once, or as an object; no text means no arguments.
4. Some give all calls of an answer the same index: then another id and name behind a whole call begin the next one.
5. Thinking comes as `reasoning_content`, `reasoning`, `reasoning_details`, or as a block of the content.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any

from drafthand.chunks import ChunkType, StreamChunk
from drafthand.ids import new_id
from drafthand.transcript import Opaque, Text, Thinking, ToolCall, Turn, parse_input

REASONING = "reasoning"
"""Kind of the opaque mark of thinking that goes back as its text."""


class Written:
    """Text that arrives in pieces. Half of a surrogate pair waits for the other half; without it it is U+FFFD."""

    def __init__(self) -> None:
        self.text = ""
        self._half = ""

    def add(self, piece: str) -> str:
        """What the piece adds, fit for every encoder."""
        piece = self._half + piece
        self._half = piece[-1] if "\ud800" <= piece[-1:] <= "\udbff" else ""
        added = clean(piece.removesuffix(self._half))
        self.text += added
        return added

    def end(self) -> str:
        """What is left when no piece follows."""
        added, self._half = clean(self._half), ""
        self.text += added
        return added


def clean(text: str) -> str:
    """The text without lone surrogates, which no encoder takes; halves of a pair that lie side by side are joined."""
    return text.encode("utf-16-le", "surrogatepass").decode("utf-16-le", "replace")


class Prose:
    """Text or thinking while it streams."""

    def __init__(self, kind: ChunkType) -> None:
        self.kind = kind
        self.written = Written()

    def absorb(self, piece: str) -> Iterator[StreamChunk]:
        if added := self.written.add(piece):
            yield StreamChunk(type=self.kind, content=added)

    def finish(self) -> Iterator[StreamChunk]:
        if added := self.written.end():
            yield StreamChunk(type=self.kind, content=added)

    def part(self, turn: Turn) -> Text | Thinking:
        if self.kind is ChunkType.MESSAGE:
            return Text(text=self.written.text)
        opaque = Opaque(vendor=turn.vendor, model=turn.model, kind=REASONING, data="")  # its text is all there is of it
        return Thinking(text=self.written.text, opaque=opaque)


class Call:
    """One tool call while it streams."""

    def __init__(self) -> None:
        self.id = new_id("call")
        self.name = ""
        self.vendor_id: str | None = None
        self.written = Written()

    def is_over(self, vendor_id: str | None, name: str | None, arguments: str) -> bool:
        """Whether a piece that came in this call's place begins another one."""
        if not name or not self._is_whole():
            return False
        other_id = bool(vendor_id and self.vendor_id and vendor_id != self.vendor_id)
        return other_id or (bool(arguments.strip()) and arguments != self.written.text)

    def absorb(self, vendor_id: str | None, name: str | None, arguments: str) -> Iterator[StreamChunk]:
        self.name = self.name or name or ""
        self.vendor_id = self.vendor_id or vendor_id or None
        if arguments == self.written.text and self._is_whole():
            return  # the whole call once more
        if added := self.written.add(arguments):
            yield self._chunk(added)

    def opening(self) -> StreamChunk:
        return self._chunk("")

    def finish(self) -> Iterator[StreamChunk]:
        if added := self.written.end():
            yield self._chunk(added)

    def part(self, *, whole: bool, may_be_empty: bool) -> ToolCall:
        """The call. Without `whole` it was cut off and has no input; `may_be_empty`: no text means no arguments."""
        raw = self.written.text
        value = parse_input(raw) if whole and (raw.strip() or may_be_empty) else None
        return ToolCall(id=self.id, name=self.name, input=_clean_all(value), raw=raw, vendor_id=self.vendor_id)

    def _is_whole(self) -> bool:
        text = self.written.text
        return text.endswith("}") and parse_input(text) is not None

    def _chunk(self, piece: str) -> StreamChunk:
        facts = {"call_id": self.id, "tool": self.name}
        return StreamChunk(type=ChunkType.TOOL_INPUT_DELTA, content=piece, metadata=facts)


def _clean_all(value: dict[str, Any] | None) -> dict[str, Any] | None:
    r"""An input without lone surrogates: JSON may spell one as \ud800."""
    cleaned: dict[str, Any] | None = json.loads(clean(json.dumps(value, ensure_ascii=False)))
    return cleaned


# -- what a delta says ------------------------------------------------------------------------------------------------


def prose_of(delta: Any) -> Iterator[tuple[ChunkType, str]]:
    """Thinking and text of a delta, in the order in which it has them."""
    yield ChunkType.THINKING, _reasoning(delta)
    content = getattr(delta, "content", None)
    if isinstance(content, list):
        for block in content:
            yield from _block(block)
    elif content:
        yield ChunkType.MESSAGE, content
    yield ChunkType.MESSAGE, getattr(delta, "refusal", None) or ""


def _reasoning(delta: Any) -> str:
    """Some send the same twice, as text and as details."""
    for field in ("reasoning_content", "reasoning"):
        if isinstance(text := getattr(delta, field, None), str) and text:
            return text
    details = getattr(delta, "reasoning_details", None) or ()
    return "".join(detail.get("text") or detail.get("summary") or "" for detail in details)


def _block(block: dict[str, Any]) -> Iterator[tuple[ChunkType, str]]:
    match block.get("type"):
        case "text":
            yield ChunkType.MESSAGE, block["text"]
        case "thinking":
            thought = block["thinking"]
            pieces = [thought] if isinstance(thought, str) else [piece.get("text", "") for piece in thought]
            yield ChunkType.THINKING, "".join(pieces)


def call_piece_of(piece: Any) -> tuple[str | None, str | None, str]:
    """(id, name, arguments) of a piece of a call."""
    function = getattr(piece, "function", None)
    arguments = getattr(function, "arguments", None)
    if arguments is not None and not isinstance(arguments, str):
        arguments = json.dumps(arguments, ensure_ascii=False)
    return getattr(piece, "id", None), getattr(function, "name", None), arguments or ""
