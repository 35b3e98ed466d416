"""One model, bound to a session: prepares each request, streams its turn, asks again where that may help."""

from __future__ import annotations

import asyncio
import random
from collections.abc import AsyncIterator, Awaitable, Callable
from dataclasses import replace
from importlib.resources import files

from drafthand.capabilities import CAPABILITIES
from drafthand.chunks import ChunkType, StreamChunk, Usage, metadata
from drafthand.conversation import Conversation
from drafthand.errors import VendorError
from drafthand.ids import now
from drafthand.images import fit
from drafthand.model import ImageCeiling, ModelClient, ModelSpec, Picture, TurnSettings
from drafthand.session import Phase
from drafthand.store import Store
from drafthand.tools import TOOLS
from drafthand.transcript import ImageRef, Turn

ATTEMPTS = 5
BACKOFF_FIRST_S = 1.0
BACKOFF_MOST_S = 60.0
LONGEST_WAIT_S = 120.0
"""A vendor that asks for more (a daily quota, say) is not waited for; the person is told."""


def system_prompt(host_app: str | None) -> str:
    """The system prompt, with the section on the session's application where it is known."""
    text = files("drafthand.prompts").joinpath("system.md").read_text()
    capability = CAPABILITIES.get(host_app or "")
    return text if capability is None else f"{text}\n{capability.prompt}"


def backoff_s(attempt: int, asked_s: float | None) -> float:
    """Seconds to wait after attempt number `attempt`: what the vendor asked for, else doubling, no two in step."""
    doubled = min(BACKOFF_MOST_S, BACKOFF_FIRST_S * float(2 ** (attempt - 1)))
    return max(asked_s or 0.0, doubled * random.uniform(0.5, 1.0))


class ModelTurns:
    """`client` is called when the first turn begins: a vendor's SDK takes a second or two to import."""

    def __init__(
        self,
        conversation: Conversation,
        client: Callable[[], ModelClient],
        spec: ModelSpec,
        system: str,
        sleep: Callable[[float], Awaitable[None]] = asyncio.sleep,
    ) -> None:
        self.conversation = conversation
        self.client = client
        self.spec = spec
        self.system = system
        self.sleep = sleep
        self.pictures: dict[str, Picture] = {}

    def cost_usd(self, usage: Usage) -> float | None:
        return self.spec.cost_usd(usage)

    def new_turn(self) -> Turn:
        return Turn(vendor=self.spec.vendor, model=self.spec.id)

    async def stream_turn(self, turn: Turn, number: int) -> AsyncIterator[StreamChunk]:
        light = self.conversation.session.phase() is Phase.VERIFY
        settings = TurnSettings(self.spec, self.system, self.spec.heavy, await self._pictures())
        if light:
            async for chunk in self._attempts(replace(settings, max_output=self.spec.light), turn, number):
                yield chunk
            if turn.stop != "max_tokens" or not turn.tool_calls:
                return
            # A light budget must never cost a script: what it cut off is asked for again, once.
            yield _waiting("The script was cut off; asking again with more room.", 0.0, "max_tokens", repeats=True)
            turn.clear()
        async for chunk in self._attempts(settings, turn, number):
            yield chunk

    async def _attempts(self, settings: TurnSettings, turn: Turn, number: int) -> AsyncIterator[StreamChunk]:
        """One request, made again after a shown wait where the vendor failed for a moment. Each attempt is announced:
        a turn that begins a second time replaces what was shown of it."""
        for attempt in range(1, ATTEMPTS + 1):
            yield self._announcement(number)
            client = await asyncio.to_thread(self.client)
            shown: set[ChunkType] = set()
            try:
                async for chunk in client.stream(self.conversation.messages, TOOLS, settings, turn):
                    shown.add(chunk.type)
                    yield chunk
            except VendorError as error:
                # Once a call is being written, a person has seen a script that would silently become another.
                if not error.retryable or attempt == ATTEMPTS or ChunkType.TOOL_INPUT_DELTA in shown:
                    raise
                pause = backoff_s(attempt, error.retry_after_s)
                if pause > LONGEST_WAIT_S:
                    raise
                text = f"{error} Asking again in {pause:.0f} s ({attempt + 1} of {ATTEMPTS})."
                yield _waiting(text, pause, error.code, repeats=bool(shown), attempt=attempt)
                await self.sleep(pause)
                turn.clear()
            else:
                return

    def _announcement(self, number: int) -> StreamChunk:
        return metadata(
            "model",
            self.spec.label,
            vendor=self.spec.vendor,
            model=self.spec.id,
            label=self.spec.label,
            dialect=self.spec.dialect,
            rehearsal=self.spec.rehearsal,
            turn=number,
            phase=self.conversation.session.phase(),
        )

    async def _pictures(self) -> dict[str, Picture]:
        """Every picture of the transcript, as this model may see it. Each is loaded once: every turn sends all."""
        store, owner = self.conversation.store, self.conversation.session.owner
        for image in self.conversation.images():
            if image.sha256 not in self.pictures:
                ceiling = self.spec.image_ceiling
                self.pictures[image.sha256] = await asyncio.to_thread(load_picture, store, owner, image, ceiling)
        return dict(self.pictures)


def load_picture(store: Store, owner: str, image: ImageRef, ceiling: ImageCeiling) -> Picture:
    data = store.blobs.get(owner, image.sha256)
    if data is None:
        raise LookupError(f"the picture {image.sha256} is not in the bucket")
    return fit(data, ceiling)


def _waiting(text: str, pause: float, code: str, *, repeats: bool, attempt: int = 1) -> StreamChunk:
    """`repeats`: part of the answer was shown, and the whole answer comes again."""
    if repeats:
        text += " What was written so far is void."
    facts = {"reason": "model", "call_id": None, "since": now(), "timeout_s": pause}
    return metadata("waiting", text, code=code, attempt=attempt, repeats=repeats, **facts)
