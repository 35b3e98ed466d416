import asyncio
from collections.abc import AsyncIterator

import httpx2
import pytest
from drafthand.errors import VendorError
from drafthand.model import ModelSpec, TurnSettings
from drafthand.transcript import Message, Text, Turn
from drafthand.vendors import DIALECTS, client_of
from drafthand.vendors.access import Access
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


@pytest.mark.parametrize("dialect", DIALECTS)
async def test_a_model_says_itself_how_long_its_first_event_may_take(dialect: str) -> None:
    async def never(request: httpx2.Request) -> httpx2.Response:
        await asyncio.Event().wait()
        raise AssertionError

    spec = ModelSpec(id="m", label="m", vendor="v", dialect=dialect, first_event_s=0.01)
    asked = [Message(role="user", parts=(Text(text="hi"),))]
    async with httpx2.AsyncClient(transport=httpx2.MockTransport(never)) as http_client:
        client = client_of(dialect, Access("key", "http://v.invalid"), http_client)
        with pytest.raises(VendorError) as gone:
            async for _ in client.stream(asked, [], TurnSettings(spec, "system", 100), Turn(vendor="v", model="m")):
                pass

    assert gone.value.code in ("unavailable", "broken_stream")
    assert gone.value.retryable
