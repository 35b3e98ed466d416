"""Blocking calls in a thread, that a cancellation can't tear in two."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from typing import Any, TypeVar

Result = TypeVar("Result")


async def settled(call: Callable[..., Result], *arguments: Any) -> Result:
    """The result of a blocking call; when cancelled meanwhile, waits for its end and only then raises.

    A thread can't be stopped: without this a write goes on after its writer believes it never happened.
    """
    task = asyncio.ensure_future(asyncio.to_thread(call, *arguments))
    try:
        return await asyncio.shield(task)
    except asyncio.CancelledError:
        await asyncio.wait({task})
        raise
