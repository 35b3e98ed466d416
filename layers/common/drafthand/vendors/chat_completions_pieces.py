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
from collections.abc import Iterator, Sequence
from typing import Any

from drafthand.chunks import ChunkType, StreamChunk
from drafthand.ids import new_id
from drafthand.transcript import Opaque, Text, Thinking, ToolCall, Turn, parse_input
from drafthand.vendors.hygiene import Written, clean_all, text_of

REASONING = "reasoning"
"""Kind of the opaque mark of thinking that goes back as its text."""
DETAILS = "reasoning_details"
"""Kind of the opaque data that is what OpenRouter calls so: signed or encrypted reasoning, all of a message's."""
TEXT_OF = {"reasoning.text": "text", "reasoning.summary": "summary"}
"""The types of such blocks that come in pieces, and the field that does."""


class Prose:
    """Text or thinking while it streams."""

    def __init__(self, kind: ChunkType) -> None:
        self.kind = kind
        self.written = Written()

    def absorb(self, piece: Any) -> Iterator[StreamChunk]:
        if added := self.written.add(piece):
            yield StreamChunk(type=self.kind, content=added)

    def finish(self) -> Iterator[StreamChunk]:
        if added := self.written.end():
            yield StreamChunk(type=self.kind, content=added)

    def part(self, turn: Turn, details: str = "") -> Text | Thinking:
        """`details`: what the message has of them, on its first thinking; else the text is all there is of it."""
        if self.kind is ChunkType.MESSAGE:
            return Text(text=self.written.text)
        kind = DETAILS if details else REASONING
        opaque = Opaque(vendor=turn.vendor, model=turn.model, kind=kind, data=details)
        return Thinking(text=self.written.text, opaque=opaque)


class Details:
    """The `reasoning_details` of a message while they stream. A block of text comes in pieces, its signature last, and
    is valid only put together."""

    def __init__(self) -> None:
        self.blocks: list[dict[str, Any]] = []

    def add(self, pieces: Sequence[dict[str, Any]]) -> None:
        for piece in pieces if isinstance(pieces, list | tuple) else [pieces]:
            if not isinstance(piece, dict):
                continue
            if self.blocks and _goes_on(self.blocks[-1], piece):
                last, field = self.blocks[-1], TEXT_OF[piece["type"]]
                text = (last.get(field) or "") + (piece.get(field) or "")
                self.blocks[-1] = last | {name: value for name, value in piece.items() if value} | {field: text}
            else:
                self.blocks.append(dict(piece))

    def json(self) -> str:
        """What goes back, as JSON; empty where there is nothing."""
        return json.dumps(clean_all(self.blocks), ensure_ascii=False) if self.blocks else ""


def _goes_on(block: dict[str, Any], piece: dict[str, Any]) -> bool:
    """Whether a piece belongs to the block before it. The same `index` proves nothing: it may be 0 in all of them."""
    if block.get("signature") or piece.get("type") not in TEXT_OF:
        return False
    told = [(block.get(name), piece.get(name)) for name in ("type", "index", "id")]
    return all(before == now or None in (before, now) for before, now in told)


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
        return ToolCall(id=self.id, name=self.name, input=clean_all(value), raw=raw, vendor_id=self.vendor_id)

    def _is_whole(self) -> bool:
        text = self.written.text
        return text.endswith("}") and parse_input(text) is not None

    def _chunk(self, piece: str) -> StreamChunk:
        facts = {"call_id": self.id, "tool": self.name}
        return StreamChunk(type=ChunkType.TOOL_INPUT_DELTA, content=piece, metadata=facts)


# -- what a delta says ------------------------------------------------------------------------------------------------


def prose_of(delta: Any) -> Iterator[tuple[ChunkType, str]]:
    """Thinking and text of a delta, in the order in which it has them."""
    yield ChunkType.THINKING, _reasoning(delta)
    content = getattr(delta, "content", None)
    if isinstance(content, list):
        for block in content:
            yield from _block(block if isinstance(block, dict) else {"type": "text", "text": block})
    elif content:
        yield ChunkType.MESSAGE, content
    yield ChunkType.MESSAGE, getattr(delta, "refusal", None) or ""


def _reasoning(delta: Any) -> str:
    """Some send the same twice, as text and as details."""
    for field in ("reasoning_content", "reasoning"):
        if isinstance(text := getattr(delta, field, None), str) and text:
            return text
    details = getattr(delta, "reasoning_details", None) or ()
    blocks = [block for block in ([details] if isinstance(details, dict) else details) if isinstance(block, dict)]
    return "".join(block.get("text") or block.get("summary") or "" for block in blocks)


def _block(block: dict[str, Any]) -> Iterator[tuple[ChunkType, str]]:
    match block.get("type"):
        case "text" | "output_text":
            yield ChunkType.MESSAGE, block.get("text") or ""
        case "thinking":
            thought = block.get("thinking") or ()
            pieces = [thought] if isinstance(thought, str) else [piece.get("text") or "" for piece in thought]
            yield ChunkType.THINKING, "".join(pieces)


def call_piece_of(piece: Any) -> tuple[str | None, str | None, str]:
    """(id, name, arguments) of a piece of a call."""
    function = _field(piece, "function")
    return _field(piece, "id"), _field(function, "name"), text_of(_field(function, "arguments"))


def _field(sent: Any, name: str) -> Any:
    return sent.get(name) if isinstance(sent, dict) else getattr(sent, name, None)
