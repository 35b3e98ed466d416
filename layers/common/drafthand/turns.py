"""One model, bound to a session: prepares each request and streams its turn."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Callable
from importlib.resources import files

from drafthand.capabilities import CAPABILITIES
from drafthand.chunks import StreamChunk, metadata
from drafthand.conversation import Conversation
from drafthand.images import fit
from drafthand.model import ModelClient, ModelSpec, Picture, TurnSettings
from drafthand.store import Store
from drafthand.tools import TOOLS
from drafthand.transcript import ImageRef, Turn


def system_prompt(host_app: str | None) -> str:
    """The system prompt, with the section on the session's application where it is known."""
    text = files("drafthand.prompts").joinpath("system.md").read_text()
    capability = CAPABILITIES.get(host_app or "")
    return text if capability is None else f"{text}\n{capability.prompt}"


class ModelTurns:
    """`client` is called when the first turn begins: a vendor's SDK takes a second or two to import."""

    def __init__(
        self, conversation: Conversation, client: Callable[[], ModelClient], spec: ModelSpec, system: str
    ) -> None:
        self.conversation = conversation
        self.client = client
        self.spec = spec
        self.system = system

    def new_turn(self) -> Turn:
        return Turn(vendor=self.spec.vendor, model=self.spec.id)

    async def stream_turn(self, turn: Turn, number: int) -> AsyncIterator[StreamChunk]:
        conversation = self.conversation
        yield metadata(
            "model",
            self.spec.label,
            vendor=self.spec.vendor,
            model=self.spec.id,
            label=self.spec.label,
            dialect=self.spec.dialect,
            rehearsal=self.spec.rehearsal,
            turn=number,
            phase=conversation.session.phase(),
        )
        pictures = {
            image.sha256: await asyncio.to_thread(
                load_picture, conversation.store, conversation.session.owner, image, self.spec.image_edge_px
            )
            for image in conversation.images()
        }
        client = await asyncio.to_thread(self.client)
        settings = TurnSettings(self.spec, self.system, self.spec.heavy, pictures)
        async for chunk in client.stream(conversation.messages, TOOLS, settings, turn):
            yield chunk


def load_picture(store: Store, owner: str, image: ImageRef, edge_px: int) -> Picture:
    data = store.blobs.get(owner, image.sha256)
    if data is None:
        raise LookupError(f"the picture {image.sha256} is not in the bucket")
    return fit(data, image.media_type, edge_px)
