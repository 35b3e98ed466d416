"""A language model as the loop sees it: what it can take, what a request is made with, how its turn streams."""

from __future__ import annotations

from collections.abc import AsyncIterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Protocol

from pydantic import BaseModel, ConfigDict

from drafthand.chunks import StreamChunk
from drafthand.tools import ToolSpec
from drafthand.transcript import Message, Turn


class ModelSpec(BaseModel):
    """One entry of models.toml; the units stand there."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    id: str
    label: str
    vendor: str
    dialect: str
    context: int
    max_output: int
    heavy: int
    light: int
    image_edge_px: int
    rehearsal: bool = False
    default: bool = False


@dataclass(frozen=True)
class Picture:
    """Bytes of a picture as this model may see it."""

    media_type: str
    data: bytes


@dataclass(frozen=True)
class TurnSettings:
    """What one request is made with. `pictures` holds every picture the transcript refers to, by sha256."""

    model: ModelSpec
    system: str
    max_output: int
    pictures: Mapping[str, Picture] = field(default_factory=dict)


class ModelClient(Protocol):
    def stream(
        self, transcript: Sequence[Message], tools: Sequence[ToolSpec], settings: TurnSettings, turn: Turn
    ) -> AsyncIterator[StreamChunk]:
        """One turn: chunks as they come, and `turn` filled when the stream has ended.

        Raises:
            VendorError: the vendor refused, failed, or broke off; `turn` must then not be used.
        """
        ...
