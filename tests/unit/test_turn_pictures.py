"""The pictures of a conversation, on their way to a model: each at its ceiling, each fetched once."""

import io
from collections.abc import AsyncIterator
from typing import Any

import pytest
from drafthand.chunks import StreamChunk, Usage
from drafthand.conversation import Conversation
from drafthand.model import Picture, TurnSettings
from drafthand.store import Store
from drafthand.transcript import Image, ImageRef, Message, Turn
from drafthand.turns import ModelTurns
from drafthand.vendors.models import models
from PIL import Image as Pillow

from tests.contract.test_store import make_session


class SeeingClient:
    """Keeps the pictures of each request."""

    def __init__(self) -> None:
        self.seen: list[dict[str, Picture]] = []

    async def stream(
        self, transcript: Any, tools: Any, settings: TurnSettings, turn: Turn
    ) -> AsyncIterator[StreamChunk]:
        self.seen.append(dict(settings.pictures))
        turn.close("end", Usage())
        return
        yield


def stored(store: Store, owner: str, width: int, height: int) -> ImageRef:
    out = io.BytesIO()
    Pillow.new("RGB", (width, height), "white").save(out, "PNG")
    sha256 = store.blobs.put(owner, out.getvalue(), "image/png")
    return ImageRef(sha256=sha256, media_type="image/png", width=width, height=height)


async def test_each_picture_comes_at_the_models_ceiling_and_is_fetched_once(
    store: Store, monkeypatch: pytest.MonkeyPatch
) -> None:
    session, client, fetched = make_session(store), SeeingClient(), []
    big, small = stored(store, session.owner, 3000, 1500), stored(store, session.owner, 30, 15)
    shown = Message(role="user", parts=(Image(image=big), Image(image=small), Image(image=big)))
    conversation = Conversation(store, session, [shown])
    turns = ModelTurns(conversation, lambda: client, models()["claude-haiku-4-5"], "system")
    get = store.blobs.get
    monkeypatch.setattr(store.blobs, "get", lambda owner, sha256: fetched.append(sha256) or get(owner, sha256))

    for _ in (1, 2):
        async for _ in turns.stream_turn(turns.new_turn()):
            pass

    first, second = client.seen
    assert first == second
    assert {sha256: Pillow.open(io.BytesIO(picture.data)).size for sha256, picture in first.items()} == {
        big.sha256: (1568, 784),
        small.sha256: (30, 15),
    }
    assert sorted(fetched) == sorted([big.sha256, small.sha256])
