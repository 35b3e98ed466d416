"""A language model as the loop sees it: what it can take, what a request is made with, how its turn streams."""

from __future__ import annotations

from collections.abc import AsyncIterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Literal, NamedTuple, Protocol

from pydantic import BaseModel, ConfigDict, Field, model_validator

from drafthand.chunks import StreamChunk, Usage
from drafthand.tools import ToolSpec
from drafthand.transcript import Compaction, Message, Opaque, Turn

DUE_SHARE = 0.8
"""Of the window without the answer's own budget; the rest covers what is only estimated."""
COMPACTING = ("anthropic_messages", "openai_responses")
"""The dialects in which a vendor can be asked to shorten a conversation."""


class ImageCeiling(NamedTuple):
    """What a picture may be at most; the fields of `ModelSpec` that begin with image_."""

    edge_px: int
    patches: int | None
    patch_px: int
    max_bytes: int


class ModelSpec(BaseModel):
    """One entry of models.toml. Limits in tokens, prices in US dollars per million tokens.

    `heavy` is the output budget of a turn that may write a script, `light` that of a turn that judges a report.
    """

    model_config = ConfigDict(frozen=True, extra="forbid")

    id: str
    label: str
    vendor: str
    dialect: str
    name: str | None = None
    """What the vendor calls it; the id where left out."""
    context: int = 128_000
    max_output: int = 16_000
    heavy: int = 16_000
    light: int = 4_000
    image_edge_px: int = Field(default=1568, ge=1)
    """The longest side of a picture that the model sees unscaled; a longer one is scaled down before it is sent."""
    image_patches: int | None = Field(default=None, ge=1)
    """How many squares of `image_patch_px` may cover a picture; None where the vendor sets no such limit."""
    image_patch_px: int = Field(default=28, ge=1)
    image_max_bytes: int = Field(default=3_750_000, ge=10_000)
    """The size of a picture's file; in base64 it is a third more."""
    compaction: Literal["local", "vendor"] = "local"
    """Who shortens a conversation that nears the window; vendor: its own compaction, where the dialect has one."""
    rehearsal: bool = False
    default: bool = False
    thinking: Literal["adaptive", "off"] = "adaptive"
    """off: nothing about thinking is asked, as models that can't think (or not adaptively) refuse to be asked."""
    effort: str | None = None
    """How hard the model thinks, in its vendor's own word; None leaves it to the vendor."""
    pictures_in_results: bool = True
    """False: pictures of a tool result follow in the next user message. Chat completions never take them elsewhere."""
    first_event_s: float | None = Field(default=None, gt=0, le=600)
    """How long the first event of an answer may take, in seconds; None leaves it to the dialect. A local server that
    loads a model first needs more. The SDKs wait no longer than 600."""
    reasoning_field: Literal["reasoning_content", "reasoning", "reasoning_details"] | None = None
    """Dialect chat_completions: the field in which this model wants its reasoning back."""
    one_call: bool = False
    """Dialect chat_completions: whether the server documents `parallel_tool_calls`, so that it can be asked for one
    call a turn. OpenAI's o-series refuses the option."""
    asks_usage: bool = True
    """Dialect chat_completions: whether to ask for token counts by `stream_options`. Mistral counts unasked, and
    refuses the option."""
    limit_field: Literal["max_tokens", "max_completion_tokens"] = "max_tokens"
    """Dialect chat_completions: the name of the output limit."""
    call_ids: Literal["any", "alnum9"] = "any"
    """alnum9: call ids must be exactly nine letters and digits (Mistral)."""
    base_url: str | None = None
    """Where the model is served, when not at its vendor's own address."""
    price_input: float | None = None
    price_cache_read: float | None = None
    price_cache_write: float | None = None
    price_output: float | None = None

    @model_validator(mode="after")
    def _can_be_asked_to_compact(self) -> ModelSpec:
        if self.compaction == "vendor" and self.dialect not in COMPACTING:
            raise ValueError(f"compaction: vendor is for the dialects {' and '.join(COMPACTING)}")
        return self

    @property
    def wire_name(self) -> str:
        return self.name or self.id

    @property
    def image_ceiling(self) -> ImageCeiling:
        return ImageCeiling(self.image_edge_px, self.image_patches, self.image_patch_px, self.image_max_bytes)

    @property
    def room(self) -> int:
        """Tokens that a request may have before the conversation is shortened, so that the answer has its budget."""
        return int((self.context - self.heavy) * DUE_SHARE)

    def made(self, opaque: Opaque | None) -> bool:
        """Whether this model made it; what another made must not go back to this one."""
        return opaque is not None and (opaque.vendor, opaque.model) == (self.vendor, self.id)

    def reads(self, compaction: Compaction) -> bool:
        """Whether this model goes on from that compaction."""
        return self.compaction == "vendor" and self.made(compaction.opaque)

    def cost_usd(self, usage: Usage) -> float | None:
        """What the tokens cost; None where prices are not known. Cached input without its own price costs as input."""
        if self.price_input is None or self.price_output is None:
            return None
        read = self.price_input if self.price_cache_read is None else self.price_cache_read
        written = self.price_input if self.price_cache_write is None else self.price_cache_write
        dollars = (
            usage.input_uncached * self.price_input
            + usage.cache_read * read
            + usage.cache_write * written
            + (usage.output + usage.reasoning) * self.price_output
        )
        return round(dollars / 1_000_000, 6)


@dataclass(frozen=True)
class Picture:
    """Bytes of a picture as this model may see it."""

    media_type: str
    data: bytes


@dataclass(frozen=True)
class TurnSettings:
    """What one request is made with. `pictures` holds every picture the transcript refers to, by sha256; without
    `calls` the tools are declared as ever, and the model may call none."""

    model: ModelSpec
    system: str
    max_output: int
    pictures: Mapping[str, Picture] = field(default_factory=dict)
    calls: bool = True


class ModelClient(Protocol):
    def stream(
        self, transcript: Sequence[Message], tools: Sequence[ToolSpec], settings: TurnSettings, turn: Turn
    ) -> AsyncIterator[StreamChunk]:
        """One turn: chunks as they come, and `turn` filled when the stream has ended.

        Raises:
            VendorError: the vendor refused, failed, or broke off; `turn` must then not be used.
        """
        ...
