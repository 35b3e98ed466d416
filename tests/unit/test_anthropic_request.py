"""What goes on Anthropic's wire, for transcripts as they really become."""

import base64
from typing import Any

from drafthand.chunks import Usage
from drafthand.model import Picture, TurnSettings
from drafthand.tools import TOOLS
from drafthand.transcript import ImageRef, Message, Opaque, Text, Thinking, ToolCall, ToolResult, Turn
from drafthand.vendors.anthropic_messages import build_request
from drafthand.vendors.models import models
from drafthand.vendors.pairing import NO_RESULT

SPEC = models()["claude-sonnet-5-5"]
IMAGE = ImageRef(sha256="a" * 64, media_type="image/png", width=10, height=10)
SETTINGS = TurnSettings(SPEC, "You are Drafthand.", 4000, {IMAGE.sha256: Picture("image/png", b"PNG")})


def user(text: str) -> Message:
    return Message(role="user", parts=(Text(text=text),))


def thought(model: str = SPEC.id, vendor: str = "anthropic") -> Thinking:
    return Thinking(text="let me look", opaque=Opaque(vendor=vendor, model=model, kind="thinking", data="c2ln"))


def called(call_id: str = "call_1", *before: Any) -> Message:
    call = ToolCall(id=call_id, name="execute_data_collection", input={"code": "1"}, raw='{"code": "1"}')
    return Message(role="assistant", parts=(*before, call), model=SPEC.id)


def answered(call_id: str = "call_1", text: str = "42", images: tuple[ImageRef, ...] = ()) -> Message:
    return Message(role="tool", parts=(ToolResult(call_id=call_id, ok=True, text=text, images=images),))


def sent(*transcript: Message) -> list[dict[str, Any]]:
    messages: list[dict[str, Any]] = build_request(transcript, TOOLS, SETTINGS)["messages"]
    return messages


def test_a_script_streams_while_it_is_written() -> None:
    request = build_request([user("hi")], TOOLS, SETTINGS)

    assert [tool["eager_input_streaming"] for tool in request["tools"]] == [True, True, True]
    assert request["tool_choice"]["disable_parallel_tool_use"] is True


def test_thinking_goes_back_with_its_signature_before_its_call() -> None:
    _, assistant, _ = sent(user("hi"), called("call_1", thought()), answered())

    assert [block["type"] for block in assistant["content"]] == ["thinking", "tool_use"]
    assert assistant["content"][0] == {"type": "thinking", "thinking": "let me look", "signature": "c2ln"}


def test_thinking_of_another_model_or_vendor_is_not_sent() -> None:
    for foreign in (thought(model="claude-haiku-5-5"), thought(vendor="google")):
        _, assistant, _ = sent(user("hi"), called("call_1", foreign), answered())
        assert [block["type"] for block in assistant["content"]] == ["tool_use"]


def test_redacted_thinking_goes_back_verbatim() -> None:
    opaque = Opaque(vendor="anthropic", model=SPEC.id, kind="redacted_thinking", data="ZW5j")

    _, assistant, _ = sent(user("hi"), called("call_1", Thinking(text="", opaque=opaque)), answered())

    assert assistant["content"][0] == {"type": "redacted_thinking", "data": "ZW5j"}


def test_a_picture_lies_inside_its_tool_result() -> None:
    *_, result = sent(user("hi"), called(), answered(images=(IMAGE,)))

    (block,) = result["content"]
    assert block["type"] == "tool_result"
    assert block["content"][1]["source"]["data"] == base64.b64encode(b"PNG").decode()


def test_a_call_without_a_result_gets_one_that_promises_nothing() -> None:
    messages = sent(user("hi"), called(), user("go on"))

    assert [message["role"] for message in messages] == ["user", "assistant", "user"]
    first, second = messages[2]["content"]
    assert (first["tool_use_id"], first["is_error"], first["content"][0]["text"]) == ("call_1", True, NO_RESULT)
    assert second["text"] == "go on"


def test_of_two_calls_only_the_open_one_is_closed_and_results_stand_first() -> None:
    both = Message(role="assistant", parts=(*called("call_1").parts, *called("call_2").parts), model=SPEC.id)

    *_, last = sent(user("hi"), both, answered("call_1"), user("go on"))

    assert [block.get("tool_use_id") for block in last["content"]] == ["call_1", "call_2", None]


def test_blank_text_is_left_out_and_an_empty_message_with_it() -> None:
    empty = Message(role="assistant", parts=(Text(text=" \n"),), model=SPEC.id)

    assert [message["role"] for message in sent(user("hi"), empty, user("still there?"))] == ["user"]


def test_there_are_two_breakpoints_the_system_prompt_and_the_last_block() -> None:
    request = build_request([user("hi"), called(), answered()], TOOLS, SETTINGS)

    assert request["system"][0]["cache_control"] == {"type": "ephemeral"}
    assert str(request["messages"]).count("cache_control") == 1
    assert "cache_control" in request["messages"][-1]["content"][-1]


def test_what_was_sent_once_is_sent_again_unchanged() -> None:
    transcript = [
        user("hi"),
        called("call_1", thought()),
        answered(images=(IMAGE,)),
        called("call_2"),
        answered("call_2"),
    ]

    whole = _bare(sent(*transcript))

    for length in range(1, len(transcript)):
        if transcript[length - 1].role != "assistant":
            shorter = _bare(sent(*transcript[:length]))
            assert whole[: len(shorter)] == shorter


def _bare(messages: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """Messages without breakpoints: they move, and are no part of the cached prefix."""
    for message in messages:
        for block in message["content"]:
            block.pop("cache_control", None)
    return messages


def test_a_call_that_the_output_limit_cut_loses_its_input() -> None:
    turn = Turn(vendor="anthropic", model=SPEC.id)
    turn.parts.append(ToolCall(id="call_1", name="execute_data_collection", input={"code": "print("}, raw="{}"))

    turn.close("max_tokens", Usage())

    assert turn.tool_calls[0].input is None
