"""Whatever a transcript has become, the strict Responses dialect takes what we make of it."""

from __future__ import annotations

import base64
import json
from collections.abc import Sequence
from typing import Any

from drafthand.model import ModelSpec, Picture, TurnSettings
from drafthand.tools import TOOLS
from drafthand.transcript import Image, ImageRef, Message, Opaque, Part, Text, Thinking, ToolCall, ToolResult
from drafthand.vendors.openai_responses_request import PHASE, REASONING, build_request
from hypothesis import given, settings
from hypothesis import strategies as st

from local.rehearsal.responses_reasoning import encrypt
from local.rehearsal.responses_request import parse
from local.rehearsal.responses_rules import problem_of
from tests.contract.test_rehearsal_accepted import picture

SPEC = ModelSpec(id="rehearsal", label="Rehearsal", vendor="rehearsal", dialect="openai_responses")
IMAGE = ImageRef(sha256="a" * 64, media_type="image/png", width=4, height=4)
PICTURES = {IMAGE.sha256: Picture("image/png", base64.b64decode(picture()))}

texts = st.sampled_from(["", " \n", "I look.", "Türe 2“"]).map(lambda words: Text(text=words))
images = st.just(Image(image=IMAGE))
owners = st.sampled_from([("rehearsal", "rehearsal")] * 2 + [("openai", "gpt-6"), ("anthropic", "rehearsal")])
names = st.sampled_from(["execute_data_collection", "functions.run it", "", "x" * 80])
inputs = st.sampled_from([(None, '{"code": "pr'), ({}, ""), ({"code": "1"}, '{"code":"1"}'), ({"code": "1"}, "")])


@st.composite
def thoughts(draw: st.DrawFn, number: int) -> Thinking:
    """Plain, a reasoning item or the phase of a message; what another model wrote can't be read by this one."""
    kind = draw(st.sampled_from([REASONING, REASONING, PHASE, None]))
    if kind is None:
        return Thinking(text="hm")
    vendor, model = draw(owners)
    item = {"type": "reasoning", "id": f"rs_{number}", "summary": []}
    item["encrypted_content"] = encrypt(f"rs_{number}", model if vendor == "rehearsal" else "another")
    data = json.dumps(item if kind == REASONING else {"phase": "commentary"})
    return Thinking(text="", opaque=Opaque(vendor=vendor, model=model, kind=kind, data=data))


@st.composite
def calls(draw: st.DrawFn, number: int) -> ToolCall:
    value, raw = draw(inputs)
    return ToolCall(id=f"call_{number}", name=draw(names), input=value, raw=raw)


@st.composite
def written(draw: st.DrawFn, turn: int) -> tuple[Part, ...]:
    """An assistant's turn of any parts in any order."""
    numbers = range(turn * 10, turn * 10 + draw(st.integers(min_value=0, max_value=5)))
    return tuple(draw(st.one_of(texts, thoughts(number), calls(number))) for number in numbers)


@st.composite
def transcripts(draw: st.DrawFn) -> Sequence[Message]:
    """A person begins; then turns, each with results for some of its calls, and words of the person in between."""
    messages = [Message(role="user", parts=(Text(text="Renumber the doors."),))]
    for turn in range(draw(st.integers(min_value=0, max_value=4))):
        parts = draw(written(turn))
        messages.append(Message(role="assistant", parts=parts, model="rehearsal"))
        called = [part.id for part in parts if isinstance(part, ToolCall)]
        seen = draw(st.sampled_from([(), (IMAGE,)]))
        results = [ToolResult(call_id=each, ok=True, text="", images=seen) for each in called if draw(st.booleans())]
        if results:
            messages.append(Message(role="tool", parts=tuple(results)))
        if draw(st.booleans()):
            said: list[Any] = draw(st.lists(st.one_of(texts, images), max_size=2))
            messages.append(Message(role="user", parts=tuple(said)))
    return messages


@settings(max_examples=80)
@given(transcripts(), st.booleans())
def test_every_transcript_is_taken(transcript: Sequence[Message], pictures_in_results: bool) -> None:
    spec = SPEC.model_copy(update={"pictures_in_results": pictures_in_results})
    body = build_request(transcript, TOOLS, TurnSettings(spec, "You are Drafthand.", 4000, PICTURES))

    problem = problem_of(parse(json.dumps(body).encode()))

    assert problem is None, problem.message
