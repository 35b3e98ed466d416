"""A conversation of 40 turns, rehearsed: four requests of a person, scripts that look, fail and commit, pictures in
results, a call that nobody answered, and a person's own picture."""

from __future__ import annotations

import io
from dataclasses import dataclass

import httpx2
from drafthand.model import ModelSpec, Picture, TurnSettings
from drafthand.tools import AUTOMATE, CAPTURE, COLLECT, TOOLS
from drafthand.transcript import Image, ImageRef, Message, Text, ToolCall, ToolResult, Turn
from drafthand.vendors import client_of
from drafthand.vendors.access import Access
from PIL import Image as Pillow

from local.rehearsal.script import Call, Script
from local.rehearsal.script import Turn as Played
from local.rehearsal.server import create_app

TURNS = (10, 10, 7, 13)
"""Of each of the person's requests. The last ends its run, but for the third: there the person stops the last call."""
STOPPED = 2
LISTING = "\n".join(f"door {number}: tag 2.{number:02d} „Tür“, Level 2" for number in range(40))
VERSIONED = ("openai_responses", "chat_completions")
"""Dialects whose SDK wants the API version in the address."""


def png(number: int) -> bytes:
    """A picture like no other; noise, so that its base64 is long."""
    out = io.BytesIO()
    Pillow.effect_noise((48, 48), 40 + number).save(out, "PNG")
    return out.getvalue()


PNGS = {f"{number:064x}": png(number) for number in range(len(TURNS) + 1)}


def ref(number: int) -> ImageRef:
    return ImageRef(sha256=f"{number:064x}", media_type="image/png", width=48, height=48)


def script(run: int) -> Script:
    """Look, change, look at it, in turns; the last turn only speaks."""
    turns = []
    for number in range(TURNS[run] - (run != STOPPED)):
        tool, given = _call(number)
        call = Call(tool=tool, input=given)
        think = f"Step {number}: what do I know about the doors?"
        turns.append(Played(name=f"t{number}", think=think, say=f"Step {number}.", call=call))
    turns.append(Played(name="end", say=f"Request {run} is done."))
    return Script(name=f"run-{run}", title=f"Request {run}", match=rf"\bRequest {run}\b", turns=tuple(turns))


def _call(number: int) -> tuple[str, dict[str, object]]:
    code = f'for door in model.by_type("IfcDoor"):\n    print({number}, door.Tag)  # „Tür“ 😀\n'
    match number % 3:
        case 0:
            return COLLECT, {"code": code, "purpose": "List the doors."}
        case 1:
            return AUTOMATE, {"code": code, "summary": "Renumber the doors.", "view": {"kind": "plan", "storey": "L2"}}
        case _:
            return CAPTURE, {"view": {"kind": "3d"}}


def result(run: int, number: int, call: ToolCall) -> ToolResult:
    """A listing, a failure every other time, a commit with its picture, a picture."""
    if call.name == COLLECT:
        return ToolResult(call_id=call.id, ok=True, text=f"outcome: rolled_back\nstdout:\n{LISTING}")
    if call.name == AUTOMATE and number == 1:
        return ToolResult(call_id=call.id, ok=False, text="outcome: failed\nValueError: no tag (line 2)")
    text = "outcome: committed\nmodified: 12" if call.name == AUTOMATE else ""
    return ToolResult(call_id=call.id, ok=True, text=text, images=(ref(run),))


class Tapped(httpx2.AsyncBaseTransport):
    """The strict rehearsal server, in process; keeps the body of each request."""

    def __init__(self) -> None:
        fallback = Script(name="fallback", title="Else", turns=(Played(name="only", say="I know no more."),))
        self.server = httpx2.ASGITransport(app=create_app([*map(script, range(len(TURNS))), fallback]))
        self.bodies: list[bytes] = []

    async def handle_async_request(self, request: httpx2.Request) -> httpx2.Response:
        self.bodies.append(await request.aread())
        return await self.server.handle_async_request(request)


@dataclass
class Rehearsed:
    """A conversation that was had: its transcript, and the body of the request for each of its turns."""

    transcript: list[Message]
    bodies: list[bytes]


async def rehearse(spec: ModelSpec) -> Rehearsed:
    """The whole conversation with the strict server of a dialect. Raises VendorError where it refuses a request."""
    transcript: list[Message] = []
    tapped = Tapped()
    async with httpx2.AsyncClient(transport=tapped) as http_client:
        address = f"http://rehearsal{'/v1' if spec.dialect in VERSIONED else ''}"
        client = client_of(spec.dialect, Access("rehearsal", address), http_client)
        pictures = {sha256: Picture("image/png", data) for sha256, data in PNGS.items()}
        settings = TurnSettings(spec, "You are Drafthand.", spec.heavy, pictures)
        for run, turns in enumerate(TURNS):
            transcript.append(asked(run))
            for number in range(turns):
                turn = Turn(vendor=spec.vendor, model=spec.id)
                async for _ in client.stream(transcript, TOOLS, settings, turn):
                    pass
                transcript.append(turn.message())
                last = number == turns - 1
                assert len(turn.tool_calls) == (not last or run == STOPPED), turn.text
                if not last:
                    told = result(run, number, turn.tool_calls[0])
                    transcript.append(Message(role="tool", parts=(told,)))
    return Rehearsed(transcript, tapped.bodies)


def asked(run: int) -> Message:
    own = (Image(image=ref(len(TURNS))),) if run == 1 else ()
    return Message(role="user", parts=(*own, Text(text=f"Request {run}, please: renumber „Tür 2“.")))
