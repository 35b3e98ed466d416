"""A recorded stream in, the normalized turn out: `python -m drafthand.replay DIALECT FILE [--chunks]`.

FILE is raw server-sent-event text, or a JSON document {status, body, model?} whose body is that text.
"""

from __future__ import annotations

import argparse
import asyncio
import io
import json
import sys
from collections.abc import AsyncIterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import httpx2

from drafthand.chunks import ChunkType, StreamChunk
from drafthand.errors import VendorError
from drafthand.model import ModelSpec, TurnSettings
from drafthand.transcript import Message, Text, Thinking, Turn
from drafthand.vendors import DIALECTS, client_of
from drafthand.vendors.access import Access
from drafthand.vendors.hygiene import clean

ASKED = (Message(role="user", parts=(Text(text="replayed"),)),)


@dataclass(frozen=True)
class Replayed:
    """What a recording became. With an error the turn holds nothing that may be used."""

    turn: Turn
    chunks: list[StreamChunk]
    error: VendorError | None = None


async def replay(dialect: str, body: bytes, status: int = 200, model: str = "replayed") -> Replayed:
    """Play a recorded stream through the vendor's SDK and our normalizer.

    The last event may lack its blank line: recordings lose it, and some servers never send it.
    """

    async def content() -> AsyncIterator[bytes]:
        yield body.rstrip(b"\r\n") + b"\n\n"

    headers = {"content-type": "text/event-stream" if status == 200 else "application/json"}
    transport = httpx2.MockTransport(lambda request: httpx2.Response(status, headers=headers, content=content()))
    spec = ModelSpec(id=model, label=model, vendor="replayed", dialect=dialect)
    turn, chunks = Turn(vendor=spec.vendor, model=spec.id), []
    async with httpx2.AsyncClient(transport=transport) as http_client:
        client = client_of(dialect, Access("replayed", "http://replayed.invalid"), http_client)
        try:
            async for chunk in client.stream(ASKED, (), TurnSettings(spec, "replayed", 1000), turn):
                chunks.append(chunk)  # noqa: PERF401 - kept up to an error
        except VendorError as error:
            return Replayed(Turn(vendor=spec.vendor, model=spec.id), chunks, error)
    return Replayed(turn, chunks)


def summary(replayed: Replayed) -> dict[str, Any]:
    """{text, thinking, tool_calls, stop_reason, usage, error}. A call whose input is not complete is left out."""
    turn, error = replayed.turn, replayed.error
    calls = [
        {"id": call.vendor_id, "our_id": call.id, "name": call.name, "input": call.input}
        for call in turn.tool_calls
        if call.input is not None
    ]
    return {
        "text": turn.text,
        "thinking": "".join(part.text for part in turn.parts if isinstance(part, Thinking)),
        "tool_calls": calls,
        "stop_reason": turn.stop,
        "usage": turn.usage.model_dump(),
        "error": None if error is None else {"code": error.code, "message": str(error), "retryable": error.retryable},
    }


def read(path: Path) -> tuple[bytes, int, str]:
    """(body, status, model) of a recording.

    Raises:
        ValueError: it is a JSON document, but not of this shape.
    """
    data = path.read_bytes()
    try:
        record = json.loads(data)
    except (ValueError, RecursionError):
        return data, 200, "replayed"
    if not isinstance(record, dict) or "body" not in record:
        return data, 200, "replayed"
    body, status, model = record["body"], record.get("status") or 200, record.get("model") or "replayed"
    if not isinstance(body, str):
        raise ValueError("its body is not a text")
    if not isinstance(status, int) or not 100 <= status <= 599:
        raise ValueError(f"its status is not an HTTP status: {status!r}")
    if not isinstance(model, str):
        raise ValueError(f"its model is not a text: {model!r}")
    return clean(body).encode(), status, model


def _told(error: VendorError | None) -> list[StreamChunk]:
    """The chunk that a run ends with where the model failed."""
    if error is None:
        return []
    facts = {"code": error.code, "retryable": error.retryable}
    return [StreamChunk(type=ChunkType.ERROR, content=str(error), metadata=facts)]


def main() -> int:
    parser = argparse.ArgumentParser(prog="drafthand replay", description="Replay a recorded stream of a model vendor.")
    parser.add_argument("dialect", choices=sorted(DIALECTS))
    parser.add_argument("file", type=Path)
    parser.add_argument("--chunks", action="store_true", help="print the chunks as JSON lines instead of the turn")
    arguments = parser.parse_args()
    try:
        body, status, model = read(arguments.file)
    except OSError as error:
        parser.error(f"{arguments.file} can't be read: {error.strerror}")
    except ValueError as error:
        parser.error(f"{arguments.file} can't be replayed: {error}")
    if isinstance(sys.stdout, io.TextIOWrapper):
        sys.stdout.reconfigure(encoding="utf-8")
    replayed = asyncio.run(replay(arguments.dialect, body, status, model))
    if arguments.chunks:
        for chunk in [*replayed.chunks, *_told(replayed.error)]:
            print(chunk.model_dump_json())
    else:
        print(json.dumps(summary(replayed), ensure_ascii=False, indent=2))
    return 0 if replayed.error is None else 1


if __name__ == "__main__":
    sys.exit(main())
