import asyncio
from collections.abc import AsyncIterator

import pytest
from drafthand.errors import VendorError
from drafthand.vendors.deadlines import deadlines, in_time


async def stalling(after: int) -> AsyncIterator[int]:
    for number in range(after):
        yield number
    await asyncio.Event().wait()


@pytest.mark.parametrize("after", [0, 1, 3])
async def test_a_stream_that_stalls_is_broken(after: int) -> None:
    events = deadlines(stalling(after), "v", first_s=0.01, idle_s=0.01)
    seen = [await anext(events) for _ in range(after)]

    with pytest.raises(VendorError, match="stalled") as broken:
        await anext(events)

    assert seen == list(range(after))
    assert (broken.value.code, broken.value.retryable) == ("broken_stream", True)


async def test_a_slow_reader_does_not_break_a_healthy_stream() -> None:
    async def ready() -> AsyncIterator[int]:
        for number in range(3):
            yield number

    seen = []
    async for event in deadlines(ready(), "v", first_s=0.02, idle_s=0.02):
        await asyncio.sleep(0.05)
        seen.append(event)

    assert seen == [0, 1, 2]


async def test_a_vendor_that_never_answers_is_unavailable() -> None:
    with pytest.raises(VendorError, match="did not answer") as gone:
        await in_time(asyncio.Event().wait(), "v", within_s=0.01)

    assert (gone.value.code, gone.value.retryable) == ("unavailable", True)
