"""A stream that stalls is a broken stream: no SDK notices before minutes have passed.

Only time spent waiting for the vendor counts: a slow reader on our side never breaks a healthy stream.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Awaitable
from typing import TypeVar

from drafthand.errors import VendorError
from drafthand.vendors.refusals import broken

Event = TypeVar("Event")
Answer = TypeVar("Answer")

FIRST_EVENT_S = 120.0
"""A long transcript that isn't cached may take a minute to read. A model's `first_event_s` stands above it."""
IDLE_S = 90.0
"""Events come several times a second while a model writes; a dialect whose vendor is silent longer passes its own."""


async def in_time(answer: Awaitable[Answer], vendor: str, within_s: float = FIRST_EVENT_S) -> Answer:
    """The answer's head; raises VendorError unavailable when it takes too long to come."""
    try:
        async with asyncio.timeout(within_s):
            return await answer
    except TimeoutError as error:
        message = f"The model did not answer within {within_s:.0f} s."
        raise VendorError(vendor, "unavailable", message, retryable=True) from error


async def deadlines(
    events: AsyncIterator[Event], vendor: str, first_s: float = FIRST_EVENT_S, idle_s: float = IDLE_S
) -> AsyncIterator[Event]:
    """The events; raises VendorError broken_stream when the next one takes too long to come."""
    allowed = first_s
    while True:
        try:
            async with asyncio.timeout(allowed):
                event = await anext(events)
        except StopAsyncIteration:
            return
        except TimeoutError as error:
            raise broken(vendor, f"The model's answer stalled: nothing came for {allowed:.0f} s.") from error
        yield event
        allowed = idle_s
