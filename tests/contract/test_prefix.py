"""A conversation of 40 turns with the strict server of each dialect: whatever was sent once is sent again byte for
byte, so that caches hold and signed thinking stays valid; and no picture is sent as text."""

import base64
import json
import os
import subprocess
import sys
from collections.abc import Iterator
from itertools import pairwise
from typing import Any

import httpx2
import pytest
from drafthand.model import ModelSpec, TurnSettings
from drafthand.tools import TOOLS
from drafthand.transcript import Message, Thinking, ToolResult, Turn
from drafthand.vendors import client_of
from drafthand.vendors.access import Access
from drafthand.vendors.models import models

from tests.conversation import PNGS, TURNS, VERSIONED, Rehearsed, Tapped, asked, rehearse
from tests.paths import ROOT

HEADS = {
    "anthropic_messages": ("tools", "system"),
    "openai_responses": ("tools", "instructions"),
    "gemini": ("tools", "systemInstruction"),
    "chat_completions": ("tools",),
}
"""What a vendor's cache reads first; the conversation follows."""
SPOKEN = {"anthropic_messages": "messages", "openai_responses": "input", "gemini": "contents"}
PICTURE_FIELDS = {"data", "image_url", "url"}
SPECS = {model.dialect: model for model in models().values() if model.rehearsal}
BUILD = """
import base64, hashlib, importlib, json, sys
from drafthand.model import Picture, TurnSettings
from drafthand.tools import TOOLS
from drafthand.transcript import Message
from drafthand.vendors.models import models

given = json.load(sys.stdin)
transcript = [Message.model_validate(message) for message in given["transcript"]]
pictures = {name: Picture("image/png", base64.b64decode(data)) for name, data in given["pictures"].items()}
spec = models()[given["model"]]
request = importlib.import_module(f"drafthand.vendors.{spec.dialect}_request")
body = request.build_request(transcript, TOOLS, TurnSettings(spec, "You are Drafthand.", spec.heavy, pictures))
print(json.dumps(body, default=lambda data: base64.b64encode(data).decode()))
"""

by_dialect = pytest.mark.parametrize("dialect", SPECS)


HAD: dict[str, Rehearsed] = {}


async def had(dialect: str) -> Rehearsed:
    """The conversation, had once."""
    if dialect not in HAD:
        HAD[dialect] = await rehearse(SPECS[dialect])
    return HAD[dialect]


def prefix(dialect: str, body: bytes) -> bytes:
    """System prompt, tools and conversation as the vendor reads them, without Anthropic's marks of what to cache."""
    request = unmarked(json.loads(body))
    head = {name: request[name] for name in HEADS[dialect]}
    spoken = request[SPOKEN.get(dialect, "messages")]
    return "\n".join(json.dumps(part, ensure_ascii=False) for part in (head, *spoken)).encode()


def unmarked(value: Any) -> Any:
    if isinstance(value, list):
        return [unmarked(item) for item in value]
    if isinstance(value, dict):
        return {name: unmarked(item) for name, item in value.items() if name != "cache_control"}
    return value


@by_dialect
async def test_each_request_begins_with_the_bytes_of_the_one_before(dialect: str) -> None:
    prefixes = [prefix(dialect, body) for body in (await had(dialect)).bodies]

    assert len(prefixes) == sum(TURNS) == 40
    for before, after in pairwise(prefixes):
        assert after[: len(before)] == before
        assert len(after) > len(before)


@by_dialect
async def test_all_that_surrounds_the_conversation_stays_the_same(dialect: str) -> None:
    spoken = SPOKEN.get(dialect, "messages")

    around = [
        {name: value for name, value in json.loads(body).items() if name != spoken}
        for body in (await had(dialect)).bodies
    ]

    assert all(each == around[0] for each in around)


async def test_the_conversation_holds_what_it_is_meant_to_hold() -> None:
    parts = [part for message in (await had("anthropic_messages")).transcript for part in message.parts]

    results = [part for part in parts if isinstance(part, ToolResult)]
    assert sum(part.ok for part in results) > 20
    assert sum(not part.ok for part in results) == 4
    assert sum(len(part.images) for part in results) > 15
    assert sum(isinstance(part, Thinking) and part.opaque is not None for part in parts) == 37


@by_dialect
async def test_no_picture_is_sent_inside_a_text(dialect: str) -> None:
    rehearsed = await had(dialect)
    sent = [list(strings(json.loads(body))) for body in rehearsed.bodies]

    for data in PNGS.values():
        encoded = base64.b64encode(data).decode()
        places = [(field, text) for body in sent for field, text in body if encoded[200:260] in text]
        assert places
        assert {field for field, _ in places} <= PICTURE_FIELDS
        assert {text.removeprefix("data:image/png;base64,") for _, text in places} == {encoded}


def strings(value: Any, field: str = "") -> Iterator[tuple[str, str]]:
    """Every string of a body, with the name of the field it stands in. Base64 for addresses becomes the usual one."""
    if isinstance(value, str):
        yield field, value.replace("-", "+").replace("_", "/") if len(value) > 1_000 else value
    elif isinstance(value, list):
        for item in value:
            yield from strings(item, field)
    elif isinstance(value, dict):
        for name, item in value.items():
            yield from strings(item, name)


@by_dialect
async def test_another_process_sends_the_same_bytes(dialect: str) -> None:
    transcript = (await had(dialect)).transcript
    pictures = {name: base64.b64encode(data).decode() for name, data in PNGS.items()}
    messages = [message.model_dump(mode="json") for message in transcript[:60]]
    given = json.dumps({"transcript": messages, "pictures": pictures, "model": SPECS[dialect].id})

    first, second = (built(given, seed) for seed in ("0", "1"))

    assert first == second
    assert len(first) > 50_000


def built(given: str, hash_seed: str) -> str:
    environment = os.environ | {"PYTHONHASHSEED": hash_seed}
    command = [sys.executable, "-c", BUILD]
    done = subprocess.run(
        command, input=given, capture_output=True, text=True, check=True, cwd=ROOT, env=environment, timeout=60
    )
    return done.stdout


@by_dialect
async def test_what_was_cut_off_goes_back_in_a_form_that_the_vendor_takes(dialect: str) -> None:
    """A signature is worth something only on what was signed: half of a call has none of the whole one's."""
    transcript = [asked(0)]
    cut = await turn_after(SPECS[dialect], transcript)
    (call,) = cut.tool_calls
    cut.close("max_tokens", cut.usage)
    told = ToolResult(call_id=call.id, ok=False, text="The input was cut off. Send it again, complete.")
    transcript += [cut.message(), Message(role="tool", parts=(told,))]

    following = await turn_after(SPECS[dialect], transcript)

    assert (following.text, following.stop) == ("Step 1.", "tool_calls")


async def turn_after(spec: ModelSpec, transcript: list[Message]) -> Turn:
    """The strict server's turn. Raises VendorError where it refuses the request."""
    address = f"http://rehearsal{'/v1' if spec.dialect in VERSIONED else ''}"
    turn = Turn(vendor=spec.vendor, model=spec.id)
    async with httpx2.AsyncClient(transport=Tapped()) as http_client:
        client = client_of(spec.dialect, Access("rehearsal", address), http_client)
        settings = TurnSettings(spec, "You are Drafthand.", spec.heavy)
        async for _ in client.stream(transcript, TOOLS, settings, turn):
            pass
    return turn
