"""Server-sent events: frames, and the keepalive that wraps every stream in one place."""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncIterator

from drafthand.runlog import Numbered

KEEPALIVE_EVERY_S = 15.0
"""Proxies close silent streams; the WHATWG standard suggests a comment every 15 seconds or so."""
KEEPALIVE = b": keepalive\n\n"
RETRY_MS = 1000

HEADERS = {
    "Content-Type": "text/event-stream; charset=utf-8",
    "Cache-Control": "no-cache, no-transform",
    "X-Accel-Buffering": "no",
}


def encode(numbered: Numbered, *, first: bool = False) -> bytes:
    """One event. The first of a stream carries `retry:`: some clients take a block of its own for an empty event."""
    seq, chunk = numbered
    data = json.dumps(chunk.model_dump(mode="json"), ensure_ascii=False, separators=(",", ":"))
    retry = f"retry: {RETRY_MS}\n" if first else ""
    return f"{retry}id: {seq}\nevent: {chunk.type}\ndata: {data}\n\n".encode()


async def frames(chunks: AsyncIterator[Numbered], keepalive_s: float = KEEPALIVE_EVERY_S) -> AsyncIterator[bytes]:
    """The chunks as frames, with a comment whenever `keepalive_s` pass in silence. No chunk is lost to a keepalive."""
    first = True
    source = chunks.__aiter__()
    pending: asyncio.Task[Numbered] | None = None
    try:
        while True:
            pending = pending or asyncio.ensure_future(anext(source))
            done, _ = await asyncio.wait({pending}, timeout=keepalive_s)
            if not done:
                yield KEEPALIVE
                continue
            try:
                numbered = pending.result()
            except StopAsyncIteration:
                return
            pending = None
            yield encode(numbered, first=first)
            first = False
    finally:
        if pending is not None:
            pending.cancel()
