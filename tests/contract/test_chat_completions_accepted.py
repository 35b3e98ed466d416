"""Whatever a transcript has become, the strict chat dialect takes what we make of it, and so would Mistral."""

from __future__ import annotations

import base64
import itertools
import json
import re
from collections.abc import Sequence
from typing import Any

from drafthand.model import ModelSpec, Picture, TurnSettings
from drafthand.tools import TOOLS
from drafthand.transcript import Image, ImageRef, Message, Opaque, Part, Text, Thinking, ToolCall, ToolResult
from drafthand.vendors.chat_completions_request import build_request
from hypothesis import given, settings
from hypothesis import strategies as st

from local.rehearsal.chat_request import parse
from local.rehearsal.chat_rules import problem_of
from tests.contract.test_rehearsal_accepted import picture

SPEC = ModelSpec(id="rehearsal", label="Rehearsal", vendor="rehearsal", dialect="chat_completions")
IMAGE = ImageRef(sha256="a" * 64, media_type="image/png", width=4, height=4)
PICTURES = {IMAGE.sha256: Picture("image/png", base64.b64decode(picture()))}
FOLLOWS = {
    "system": {"user"},
    "user": {"assistant"},
    "assistant": {"user", "tool"},
    "tool": {"assistant", "tool"},
}
"""Which roles Mistral lets follow which; an assistant may not stand last."""

texts = st.sampled_from(["", " \n", "I look.", "Türe 2“"]).map(lambda words: Text(text=words))
images = st.just(Image(image=IMAGE))
owners = st.sampled_from([("rehearsal", "rehearsal")] * 2 + [("openai", "gpt-6"), ("anthropic", "rehearsal")])
names = st.sampled_from(["execute_data_collection", "functions.run it", "", "x" * 80])
inputs = st.sampled_from([(None, '{"code": "pr'), ({}, ""), ({"code": "1"}, '{"code":"1"}'), ({"code": "1"}, "")])


@st.composite
def thoughts(draw: st.DrawFn) -> Thinking:
    vendor, model = draw(owners)
    opaque = Opaque(vendor=vendor, model=model, kind="reasoning", data="")
    return Thinking(text=draw(st.sampled_from(["", "hm"])), opaque=draw(st.sampled_from([opaque, None])))


@st.composite
def calls(draw: st.DrawFn, number: int) -> ToolCall:
    value, raw = draw(inputs)
    return ToolCall(id=f"call_{number}", name=draw(names), input=value, raw=raw)


@st.composite
def written(draw: st.DrawFn, turn: int) -> tuple[Part, ...]:
    """An assistant's turn of any parts in any order."""
    numbers = range(turn * 10, turn * 10 + draw(st.integers(min_value=0, max_value=5)))
    return tuple(draw(st.one_of(texts, thoughts(), calls(number))) for number in numbers)


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


def body(transcript: Sequence[Message], **changes: Any) -> dict[str, Any]:
    spec = SPEC.model_copy(update=changes)
    return build_request(transcript, TOOLS, TurnSettings(spec, "You are Drafthand.", 4000, PICTURES))


@settings(max_examples=80)
@given(transcripts())
def test_every_transcript_is_taken(transcript: Sequence[Message]) -> None:
    problem = problem_of(parse(json.dumps(body(transcript)).encode()))

    assert problem is None, problem.message


@settings(max_examples=40)
@given(transcripts())
def test_mistral_gets_the_order_and_the_ids_it_wants(transcript: Sequence[Message]) -> None:
    messages = body(transcript, call_ids="alnum9")["messages"]

    roles = [message["role"] for message in messages]
    assert all(after in FOLLOWS[before] for before, after in itertools.pairwise(roles))
    assert roles[-1] in ("user", "tool")
    asked = [call["id"] for message in messages for call in message.get("tool_calls", ())]
    told = [message["tool_call_id"] for message in messages if message["role"] == "tool"]
    assert sorted(asked) == sorted(told)
    assert len(set(asked)) == len(asked)
    assert all(re.fullmatch(r"[a-zA-Z0-9]{9}", call_id) for call_id in asked)


@settings(max_examples=40)
@given(transcripts())
def test_a_model_that_wants_its_reasoning_back_gets_some_with_every_message(transcript: Sequence[Message]) -> None:
    messages = body(transcript, reasoning_field="reasoning_content")["messages"]

    written = [message["reasoning_content"] for message in messages if message["role"] == "assistant"]
    assert all(written)
