"""One model, bound to a session: makes room in its window, prepares each request, streams its turn."""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncIterator, Callable
from dataclasses import replace

from drafthand import compaction
from drafthand.asking import Sleep, ask, waiting
from drafthand.chunks import StreamChunk, Usage, metadata
from drafthand.conversation import Conversation
from drafthand.errors import VendorError
from drafthand.images import fit
from drafthand.model import ImageCeiling, ModelClient, ModelSpec, Picture, TurnSettings
from drafthand.session import Phase
from drafthand.store import Store
from drafthand.tools import TOOLS
from drafthand.transcript import Compaction, ImageRef, Message, Turn

TOOLS_CHARS = len(json.dumps([[tool.name, tool.description, tool.schema] for tool in TOOLS]))


class ModelTurns:
    """`client` is called when the first turn begins: a vendor's SDK takes a second or two to import."""

    def __init__(
        self,
        conversation: Conversation,
        client: Callable[[], ModelClient],
        spec: ModelSpec,
        system: str,
        sleep: Sleep = asyncio.sleep,
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

    async def stream_turn(self, turn: Turn) -> AsyncIterator[StreamChunk]:
        """The chunks of a turn. A conversation that the model's window can't hold is shortened first, by us or by the
        vendor, or when the vendor says so; that it was, is shown."""
        apart, _ = compaction.since_summary(self.conversation.messages)
        due = apart >= compaction.APART and self._next_tokens() > self.spec.room
        if due and self.spec.compaction == "local":
            async for chunk in self._compact(lean=False):
                yield chunk
        if compaction.lacks_kept(self.conversation.messages, self.spec):
            await self.conversation.append(await self._kept())
        while True:
            before = self._next_tokens()
            try:
                async for chunk in self._stream(turn):
                    yield chunk
                break
            except VendorError as error:
                apart, last = compaction.since_summary(self.conversation.messages)
                just_made = last is not None and apart < compaction.APART
                if error.code != "context_full" or (last is not None and last.lean and just_made):
                    raise
            async for chunk in self._compact(lean=just_made):
                yield chunk
            turn.clear()
        if any(isinstance(part, Compaction) for part in turn.parts):
            yield compacted(before, self._estimate([*self.conversation.messages, turn.message()]))

    async def _stream(self, turn: Turn) -> AsyncIterator[StreamChunk]:
        """A turn that judges or sums up has the light budget; in the latter nothing may be called any more."""
        phase = self.conversation.session.progress.phase()
        light = phase in (Phase.VERIFY, Phase.SUMMARY)
        messages = compaction.effective(self.conversation.messages, self.spec)
        settings = replace(await self._settings(messages), calls=phase is not Phase.SUMMARY)
        if light:
            async for chunk in self._ask(messages, replace(settings, max_output=self.spec.light), turn):
                yield chunk
            if turn.stop != "max_tokens":
                return
            # A light budget must never cost a script or a correction: what it cut off is asked for again, once.
            yield waiting("The answer was cut off; asking again with more room.", 0.0, "max_tokens", repeats=True)
            turn.clear()
        async for chunk in self._ask(messages, settings, turn):
            yield chunk

    async def _compact(self, *, lean: bool) -> AsyncIterator[StreamChunk]:
        """Have the model sum the conversation up, and go on from there; see `compaction`."""
        conversation, before = self.conversation, self._next_tokens()
        facts = {"call_id": None, "since": None, "timeout_s": None}
        yield metadata("waiting", "The conversation is long; the model sums it up.", reason="compaction", **facts)
        words = self.new_turn()
        for short in (False, True):
            messages = compaction.to_be_summarized(conversation.messages, self.spec, short=short)
            # At first as every other request, so that its prefix is read from the cache; a call is not executed.
            settings = replace(await self._settings(messages), calls=not short)
            try:
                async for chunk in self._ask(messages, settings, words):
                    if chunk.metadata.get("kind") == "waiting":
                        yield chunk
            except VendorError as error:
                if error.code != "context_full":
                    raise
            if words.text.strip():
                break
            words.clear()
        message = await self._summarized(words.text, lean=lean)
        after, progress = self._estimate([message]), conversation.session.progress
        progress = progress.model_copy(update={"usage": progress.usage + words.usage})
        await conversation.append(message, progress=progress, context_tokens=0)
        yield compacted(before, after)

    async def _summarized(self, words: str, *, lean: bool) -> Message:
        """The summary with as much as the window has room for."""
        session, script = self.conversation.session, await self._script()
        message = compaction.summarized(session, self.conversation.messages, words, script, lean=lean)
        if not lean and compaction.tokens_of([message]) > self.spec.room // 2:
            return compaction.summarized(session, self.conversation.messages, words, script, lean=True)
        return message

    async def _kept(self) -> Message:
        return compaction.kept(self.conversation.session, self.conversation.messages, await self._script())

    async def _script(self) -> str | None:
        """The script that the session holds."""
        store, session = self.conversation.store, self.conversation.session
        if session.script_sha256 is None:
            return None
        return await asyncio.to_thread(store.scripts.get, session.owner, session.script_sha256)

    def _ask(self, messages: list[Message], settings: TurnSettings, turn: Turn) -> AsyncIterator[StreamChunk]:
        return ask(self.client, messages, settings, turn, self.conversation.session.progress, self.sleep)

    @property
    def _fixed(self) -> int:
        return len(self.system) + TOOLS_CHARS

    def _next_tokens(self) -> int:
        messages = compaction.effective(self.conversation.messages, self.spec)
        return compaction.next_request_tokens(self.conversation.session, messages, self._fixed)

    def _estimate(self, messages: list[Message]) -> int:
        """What a request with these messages costs, when no vendor has counted them."""
        uncounted = self.conversation.session.model_copy(update={"context_tokens": 0})
        return compaction.next_request_tokens(uncounted, compaction.effective(messages, self.spec), self._fixed)

    async def _settings(self, messages: list[Message]) -> TurnSettings:
        """With the pictures of these messages, as this model may see them. Each is loaded once; every turn sends it."""
        store, owner = self.conversation.store, self.conversation.session.owner
        images = compaction.images_of(messages)
        for image in images:
            if image.sha256 not in self.pictures:
                ceiling = self.spec.image_ceiling
                self.pictures[image.sha256] = await asyncio.to_thread(load_picture, store, owner, image, ceiling)
        pictures = {image.sha256: self.pictures[image.sha256] for image in images}
        return TurnSettings(self.spec, self.system, self.spec.heavy, pictures)


def compacted(before: int, after: int) -> StreamChunk:
    """Tells that requests have become shorter: tokens before and after."""
    text = f"The conversation was shortened from about {before:,} to about {after:,} tokens. You still have all of it."
    return metadata("context_compacted", text, tokens_before=before, tokens_after=after)


def load_picture(store: Store, owner: str, image: ImageRef, ceiling: ImageCeiling) -> Picture:
    data = store.blobs.get(owner, image.sha256)
    if data is None:
        raise LookupError(f"the picture {image.sha256} is not in the bucket")
    return fit(data, ceiling)
