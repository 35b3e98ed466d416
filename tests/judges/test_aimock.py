"""A judge from outside plays one conversation in all four dialects (@copilotkit/aimock, by other people and from other
sources than our own rehearsal server): our clients read the same turns from it, and from the rehearsal server too."""

import json
import os
import re
import shutil
import subprocess
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any

import httpx2
import pytest
from drafthand.chunks import StreamChunk
from drafthand.model import ModelSpec, Picture, TurnSettings
from drafthand.tools import COLLECT, TOOLS
from drafthand.transcript import Message, Text, Thinking, ToolResult, Turn
from drafthand.vendors import client_of
from drafthand.vendors.access import Access
from drafthand.vendors.models import models

from local.rehearsal.script import Call, Script
from local.rehearsal.script import Turn as Played
from local.rehearsal.server import create_app
from local.rehearsal.walk import LABEL
from tests.conversation import png, ref

AIMOCK = Path(__file__).with_name("node_modules") / "@copilotkit" / "aimock" / "dist" / "cli.js"
NODE = shutil.which("node", path=os.pathsep.join([str(Path(sys.executable).parent), os.environ["PATH"]]))
"""That of the environment, which has one where the machine's is missing or too old."""
ENDS = {"openai_responses": "/v1", "chat_completions": "/v1", "gemini": "/v1beta"}
"""What stands at the end of a dialect's address there."""
INPUT = {"code": 'for door in model.by_type("IfcDoor"):\n    print(door.Tag)  # „Tür“ 😀\n', "purpose": "List them."}
LOOK = Played(name="look", think="Where are the doors?", say="I look „first“ 😀.", call=Call(tool=COLLECT, input=INPUT))
END = Played(name="end", say="There are two doors: 2.01 and 2.02.")
SCRIPT = Script(name="doors", title="Count the doors", match="doors", turns=(LOOK, END))
FALLBACK = Script(name="fallback", title="Else", turns=(Played(name="only", say="I know no more."),))
SPECS = {model.dialect: model for model in models().values() if model.rehearsal}
SAID = f"{LABEL} {LOOK.say}"

pytestmark = [
    pytest.mark.skipif(not AIMOCK.exists(), reason="aimock is not installed (make test does it)"),
    pytest.mark.skipif(NODE is None, reason="there is no node on this machine"),
]


def fixtures() -> dict[str, Any]:
    """The script, in the judge's own words."""
    call = {"name": COLLECT, "arguments": INPUT}
    return {
        "fixtures": [
            {"match": {"turnIndex": 0}, "response": {"content": SAID, "reasoning": LOOK.think, "toolCalls": [call]}},
            {"match": {"turnIndex": 1}, "response": {"content": END.say}},
        ]
    }


@pytest.fixture(scope="module")
def aimock(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    """The judge's address."""
    path = tmp_path_factory.mktemp("aimock") / "fixtures.json"
    path.write_text(json.dumps(fixtures()))
    command = [str(NODE), str(AIMOCK), "--port", "0", "--fixtures", str(path), "--chunk-size", "9"]
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True) as process:
        try:
            assert process.stdout is not None
            found = next(filter(None, (re.search(r"listening on (http://\S+)", line) for line in process.stdout)))
            yield found[1]
        finally:
            process.terminate()


@dataclass
class Heard:
    """One turn, and the chunks in which it came."""

    turn: Turn
    chunks: list[StreamChunk]

    @property
    def normalized(self) -> tuple[str, list[tuple[str, Any]], str | None]:
        return self.turn.text, [(call.name, call.input) for call in self.turn.tool_calls], self.turn.stop

    @property
    def thinking(self) -> str:
        return "".join(part.text for part in self.turn.parts if isinstance(part, Thinking))


async def converse(spec: ModelSpec, address: str, transport: httpx2.AsyncBaseTransport | None = None) -> list[Heard]:
    """A question; prose and a call; its result with a picture; the answer."""
    transcript = [Message(role="user", parts=(Text(text="How many doors are there?"),))]
    settings = TurnSettings(spec, "You are Drafthand.", spec.heavy, {ref(1).sha256: Picture("image/png", png(1))})
    heard: list[Heard] = []
    async with httpx2.AsyncClient(transport=transport) as http_client:
        client = client_of(spec.dialect, Access("rehearsal", address), http_client)
        for _ in (LOOK, END):
            turn = Turn(vendor=spec.vendor, model=spec.id)
            chunks = [chunk async for chunk in client.stream(transcript, TOOLS, settings, turn)]
            heard.append(Heard(turn, chunks))
            told = partial(ToolResult, ok=True, text="2.01\n2.02", images=(ref(1),))
            results = tuple(told(call_id=call.id) for call in turn.tool_calls)
            transcript += [turn.message(), Message(role="tool", parts=results)]
    return heard


@pytest.mark.parametrize("dialect", SPECS)
async def test_the_judge_and_our_rehearsal_are_read_as_the_same_turns(dialect: str, aimock: str) -> None:
    spec = SPECS[dialect]
    ours = httpx2.ASGITransport(app=create_app([SCRIPT, FALLBACK]))

    judged = await converse(spec, f"{aimock}{ENDS.get(dialect, '')}")
    rehearsed = await converse(spec, f"http://rehearsal{ENDS.get(dialect, '')}", ours)

    looked, ended = (SAID, [(COLLECT, INPUT)]), (END.say, [], "end")
    assert [heard.normalized for heard in judged] == [(*looked, "tool_calls"), ended]
    assert [heard.normalized for heard in rehearsed] == [(*looked, "tool_calls"), ended]


@pytest.mark.parametrize("dialect", SPECS)
async def test_what_the_judge_streams_in_pieces_is_shown_in_pieces(dialect: str, aimock: str) -> None:
    first, _ = await converse(SPECS[dialect], f"{aimock}{ENDS.get(dialect, '')}")

    shown = [chunk for chunk in first.chunks if chunk.type == "ToolInputDelta" and chunk.content]
    (call,) = first.turn.tool_calls
    assert json.loads("".join(chunk.content for chunk in shown)) == INPUT
    assert {chunk.metadata["call_id"] for chunk in shown} == {call.id}
    assert len(shown) > 5 or dialect == "gemini", "only Gemini sends a call whole"
    assert first.thinking == LOOK.think
