"""The border between the dialects and the rest: what holds of every answer, whoever gave it.

1. The key leaves only towards its vendor: no error's text has it, nor the error that caused it.
2. No text that comes in has lone surrogates: names, ids and secrets of a vendor neither. No encoder takes them.
3. An answer of nothing is a broken one, and so is one that ends in no way we know behind a call: nobody can tell
   whether the call is whole, and the model would only be asked for it again and again.
"""

from __future__ import annotations

from collections.abc import AsyncIterator, Sequence
from contextlib import aclosing

from drafthand.chunks import StreamChunk
from drafthand.errors import VendorError
from drafthand.model import ModelClient, TurnSettings
from drafthand.tools import ToolSpec
from drafthand.transcript import WHOLE, Message, Turn
from drafthand.vendors.hygiene import clean_all
from drafthand.vendors.refusals import broken

CUT = ("max_tokens", "context_full", "refusal", "paused")
"""How else a turn may stop."""
NO_SECRETS = ("none", "rehearsal")
"""What stands for a key where there is none."""


class Guarded:
    """A dialect's client behind the border."""

    def __init__(self, client: ModelClient, api_key: str) -> None:
        self.client = client
        self.key = api_key

    async def stream(
        self, transcript: Sequence[Message], tools: Sequence[ToolSpec], settings: TurnSettings, turn: Turn
    ) -> AsyncIterator[StreamChunk]:
        vendor = settings.model.vendor
        if not (self.key.isascii() and self.key.isprintable()):
            message = f"The key {vendor.upper()}_API_KEY has characters that no key has. Check it and start again."
            raise VendorError(vendor, "auth", message)
        try:
            async with aclosing(self.client.stream(transcript, tools, settings, turn)) as chunks:  # type: ignore[type-var]
                async for chunk in chunks:
                    yield _clean(chunk)
        except VendorError as error:
            raise self._masked(error) from self._cause(error)
        turn.parts[:] = [type(part).model_validate(clean_all(part.model_dump())) for part in turn.parts]
        _check(turn)

    def _masked(self, error: VendorError) -> VendorError:
        """Of a refused key only we speak, never the vendor: that text stays."""
        return VendorError(
            error.vendor,
            error.code,
            str(error).replace(self.key, "[key]") if self._is_secret and error.code != "auth" else str(error),
            retryable=error.retryable,
            retry_after_s=error.retry_after_s,
        )

    def _cause(self, error: VendorError) -> BaseException | None:
        """What is logged beside the error; nothing where it holds the key."""
        cause = error.__cause__
        told = f"{error}{cause}{cause!r}"
        return None if self._is_secret and self.key in told else cause

    @property
    def _is_secret(self) -> bool:
        return bool(self.key) and self.key not in NO_SECRETS


def _clean(chunk: StreamChunk) -> StreamChunk:
    """The content of chunks is clean already: pieces of a text can only be cleaned where they are put together."""
    return chunk.model_copy(update={"metadata": clean_all(chunk.metadata)}) if chunk.metadata else chunk


def _check(turn: Turn) -> None:
    known = turn.stop in WHOLE or turn.stop in CUT
    if turn.tool_calls and not known:
        raise broken(turn.vendor, f"The model's answer ended in a way that is not known ({turn.stop}) behind a call.")
    if turn.empty and not turn.parts and turn.stop not in CUT:
        raise broken(turn.vendor, "The model's answer was empty.")
