import asyncio
import json
from collections.abc import AsyncIterator

from drafthand.chunks import ChunkType, StreamChunk
from drafthand.runlog import Numbered
from drafthand.sse import KEEPALIVE, encode, frames


def message(text: str) -> StreamChunk:
    return StreamChunk(type=ChunkType.MESSAGE, content=text)


def test_a_frame_has_number_type_and_one_line_of_json() -> None:
    frame = encode((17, message("zwei\nZeilen é 😀")))

    head, data = frame.decode().split("data: ")
    assert head == "id: 17\nevent: Message\n"
    assert json.loads(data)["content"] == "zwei\nZeilen é 😀"
    assert frame.count(b"\n") == 4


async def test_only_the_first_frame_tells_how_soon_to_come_back() -> None:
    async def chunks() -> AsyncIterator[Numbered]:
        yield 1, message("a")
        yield 2, message("b")

    first, second = [frame async for frame in frames(chunks())]

    assert first.startswith(b"retry: 1000\nid: 1\n")
    assert second.startswith(b"id: 2\n")


async def test_silence_is_covered_by_keepalives_and_no_chunk_is_lost() -> None:
    release = asyncio.Event()

    async def chunks() -> AsyncIterator[Numbered]:
        yield 1, message("before")
        await release.wait()
        yield 2, message("after")

    seen = []
    async for frame in frames(chunks(), keepalive_s=0.01):
        seen.append(frame)
        if seen.count(KEEPALIVE) == 3:
            release.set()

    texts = [frame for frame in seen if frame != KEEPALIVE]
    assert [b"before" in texts[0], b"after" in texts[1], len(texts)] == [True, True, 2]
    assert seen.count(KEEPALIVE) >= 3


async def test_closing_a_stream_closes_its_source() -> None:
    closed = asyncio.Event()

    async def chunks() -> AsyncIterator[Numbered]:
        try:
            yield 1, message("a")
            await asyncio.Event().wait()
        finally:
            closed.set()

    stream = frames(chunks(), keepalive_s=0.01)
    await anext(stream)
    assert await anext(stream) == KEEPALIVE
    await stream.aclose()

    await asyncio.wait_for(closed.wait(), 1)
