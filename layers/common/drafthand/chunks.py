"""The only thing a client ever reads: eight types of chunk, and the account of tokens they carry."""

from __future__ import annotations

from enum import StrEnum
from typing import Any

from pydantic import BaseModel, ConfigDict, Field


class ChunkType(StrEnum):
    METADATA = "Metadata"
    THINKING = "Thinking"
    MESSAGE = "Message"
    TOOL_INPUT_DELTA = "ToolInputDelta"
    TOOL_CALL = "ToolCall"
    COMPLETE = "Complete"
    ERROR = "Error"
    AGENTIC_USAGE = "AgenticUsage"


class StreamChunk(BaseModel):
    """One piece of a run, as streamed and as stored."""

    model_config = ConfigDict(frozen=True)

    type: ChunkType
    content: str = ""
    metadata: dict[str, Any] = Field(default_factory=dict)

    @property
    def ends_run(self) -> bool:
        return self.type in (ChunkType.COMPLETE, ChunkType.ERROR)

    @property
    def is_delta(self) -> bool:
        """Produced many times a second while the model writes; may wait a moment before it is stored."""
        return self.type in (ChunkType.THINKING, ChunkType.MESSAGE, ChunkType.TOOL_INPUT_DELTA)


def metadata(kind: str, content: str, **facts: Any) -> StreamChunk:
    """A Metadata chunk: a sentence for a person, a kind and its facts for a program."""
    return StreamChunk(type=ChunkType.METADATA, content=content, metadata={"kind": kind, **facts})


class Usage(BaseModel):
    """Tokens in one meaning for every vendor; the five counts never overlap.

    `reasoning` is what the model thought, `output` what it wrote besides.
    """

    model_config = ConfigDict(frozen=True)

    input_uncached: int = 0
    cache_read: int = 0
    cache_write: int = 0
    output: int = 0
    reasoning: int = 0

    @property
    def total(self) -> int:
        return self.input_uncached + self.cache_read + self.cache_write + self.output + self.reasoning

    def __add__(self, other: Usage) -> Usage:
        return Usage(**{name: getattr(self, name) + getattr(other, name) for name in Usage.model_fields})
