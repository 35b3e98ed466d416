"""Every dialect takes every transcript: random ones, of all vendors mixed, by the real SDK to the strict server."""

import io

import httpx2
import pytest
from drafthand.ids import new_id
from drafthand.model import ModelSpec, Picture, TurnSettings
from drafthand.tools import TOOLS
from drafthand.transcript import Image, ImageRef, Message, Opaque, Text, Thinking, ToolCall, ToolResult, Turn
from drafthand.vendors import client_of
from drafthand.vendors.access import Access
from drafthand.vendors.models import models
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from PIL import Image as Pillow

from local.rehearsal.script import load
from local.rehearsal.server import create_app

SCRIPTS = load()
REHEARSED = [model for model in models().values() if model.rehearsal]
MODELS = [("anthropic", "claude-opus-5-5"), ("openai", "gpt-5.2"), ("gemini", "gemini-3.8-flash"), ("xai", "grok")]
KINDS = ["thinking", "redacted_thinking", "reasoning", "thought_signature", "reasoning_content"]
REF = ImageRef(sha256="a" * 64, media_type="image/png", width=8, height=8)

texts = st.sampled_from(["", " \n", "ok", "Türen 😀", "x" * 300])
call_ids = st.builds(new_id, st.just("call"))


def png() -> bytes:
    out = io.BytesIO()
    Pillow.new("RGB", (8, 8), "white").save(out, "PNG")
    return out.getvalue()


@st.composite
def answers(draw: st.DrawFn) -> Message:
    """What some model once wrote: thinking with its vendor's secret, prose, calls in any number."""
    vendor, model = draw(st.sampled_from(MODELS))
    opaque = st.none() | st.builds(
        Opaque, vendor=st.just(vendor), model=st.just(model), kind=st.sampled_from(KINDS), data=st.just("c2VjcmV0")
    )
    inputs = st.sampled_from([{"code": "print(1)", "purpose": "look"}, {}, None])
    calls = st.builds(
        ToolCall,
        id=call_ids,
        name=st.sampled_from([tool.name for tool in TOOLS]),
        input=inputs,
        raw=st.just("{}"),
        vendor_id=st.sampled_from([None, "toolu_1", "fc_1", "llm_version:0"]),
        opaque=opaque,
    )
    parts = st.builds(Thinking, text=texts, opaque=opaque) | st.builds(Text, text=texts) | calls
    return Message(role="assistant", parts=tuple(draw(st.lists(parts, max_size=4))), model=model)


@st.composite
def transcripts(draw: st.DrawFn) -> list[Message]:
    """Runs one after another, some cancelled with calls open, and a new message at the end."""
    transcript: list[Message] = []
    for _ in range(draw(st.integers(0, 3))):
        transcript.append(Message(role="user", parts=(Text(text=draw(texts.filter(str.strip))),)))
        for _ in range(draw(st.integers(0, 3))):
            answer = draw(answers())
            transcript.append(answer)
            calls = [part.id for part in answer.parts if isinstance(part, ToolCall)]
            done = calls[: draw(st.integers(0, len(calls)))]
            if done:
                transcript.append(Message(role="tool", parts=tuple(draw(results(call)) for call in done)))
            if len(done) < len(calls):
                break
    pictures = (Image(image=REF),) if draw(st.booleans()) else ()
    return [*transcript, Message(role="user", parts=(*pictures, Text(text="What is in this model?")))]


def results(call_id: str) -> st.SearchStrategy[ToolResult]:
    images = st.sampled_from([(), (REF,)])
    return st.builds(ToolResult, call_id=st.just(call_id), ok=st.booleans(), text=texts, images=images)


async def ask(spec: ModelSpec, transcript: list[Message]) -> Turn:
    """One turn of the strict server over this transcript. Raises VendorError where it refuses."""
    transport = httpx2.ASGITransport(app=create_app(SCRIPTS))
    path = "/v1" if spec.dialect in ("openai_responses", "chat_completions") else ""
    pictures = {REF.sha256: Picture("image/png", png())}
    turn = Turn(vendor=spec.vendor, model=spec.id)
    async with httpx2.AsyncClient(transport=transport) as http_client:
        client = client_of(spec.dialect, Access("rehearsal", f"http://rehearsal{path}"), http_client)
        settings_ = TurnSettings(spec, "You are Drafthand.", spec.heavy, pictures)
        async for _ in client.stream(transcript, TOOLS, settings_, turn):
            pass
    return turn


@pytest.mark.parametrize("spec", REHEARSED, ids=lambda spec: spec.dialect)
@settings(max_examples=30, deadline=None, suppress_health_check=[HealthCheck.too_slow, HealthCheck.data_too_large])
@given(transcript=transcripts())
async def test_a_strict_vendor_takes_it(spec: ModelSpec, transcript: list[Message]) -> None:
    turn = await ask(spec, transcript)

    assert turn.stop in ("end", "tool_calls")


@pytest.mark.parametrize("spec", REHEARSED, ids=lambda spec: spec.dialect)
async def test_what_a_vendor_signed_goes_back_to_it(spec: ModelSpec) -> None:
    transcript = [Message(role="user", parts=(Text(text="What is in this model?"),))]
    first = await ask(spec, transcript)
    (call,) = first.tool_calls
    result = ToolResult(call_id=call.id, ok=True, text="outcome: rolled_back\nstdout: (empty)", images=(REF,))

    second = await ask(spec, [*transcript, first.message(), Message(role="tool", parts=(result,))])

    assert second.stop in ("end", "tool_calls")
