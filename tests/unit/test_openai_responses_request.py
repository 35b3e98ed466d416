"""What goes on the wire of the Responses API, for transcripts as they really become."""

import base64
import json
from typing import Any

from drafthand.model import ModelSpec, Picture, TurnSettings
from drafthand.tools import TOOLS
from drafthand.transcript import Image, ImageRef, Message, Opaque, Text, Thinking, ToolCall, ToolResult
from drafthand.vendors.openai_responses_request import PHASE, REASONING, build_request
from drafthand.vendors.pairing import NO_RESULT

SPEC = ModelSpec(id="gpt-6-sol", label="GPT-6", vendor="openai", dialect="openai_responses")
IMAGE = ImageRef(sha256="a" * 64, media_type="image/png", width=10, height=10)
PICTURES = {IMAGE.sha256: Picture("image/png", b"PNG")}
ITEM = {
    "type": "reasoning",
    "id": "rs_1",
    "summary": [{"type": "summary_text", "text": "look"}],
    "encrypted_content": "gAAA",
}
PNG = {
    "type": "input_image",
    "image_url": f"data:image/png;base64,{base64.b64encode(b'PNG').decode()}",
    "detail": "auto",
}


def user(text: str) -> Message:
    return Message(role="user", parts=(Text(text=text),))


def thought(model: str = SPEC.id, vendor: str = "openai") -> Thinking:
    return Thinking(text="look", opaque=Opaque(vendor=vendor, model=model, kind=REASONING, data=json.dumps(ITEM)))


def said(text: str, *before: Any) -> Message:
    return Message(role="assistant", parts=(*before, Text(text=text)), model=SPEC.id)


def called(call_id: str = "call_1", *before: Any, **changes: Any) -> Message:
    facts = {"name": "execute_data_collection", "input": {"code": "1"}, "raw": '{"code":"1"}'} | changes
    return Message(role="assistant", parts=(*before, ToolCall(id=call_id, **facts)), model=SPEC.id)


def answered(call_id: str = "call_1", text: str = "42", images: tuple[ImageRef, ...] = ()) -> Message:
    return Message(role="tool", parts=(ToolResult(call_id=call_id, ok=True, text=text, images=images),))


def request(*transcript: Message, **changes: Any) -> dict[str, Any]:
    spec = SPEC.model_copy(update=changes)
    return build_request(transcript, TOOLS, TurnSettings(spec, "You are Drafthand.", 4000, PICTURES))


def sent(*transcript: Message, **changes: Any) -> list[dict[str, Any]]:
    items: list[dict[str, Any]] = request(*transcript, **changes)["input"]
    return items


def kinds(items: list[dict[str, Any]]) -> list[str]:
    return [item.get("type") or item["role"] for item in items]


def test_nothing_is_stored_and_reasoning_comes_back_encrypted() -> None:
    body = request(user("hi"))

    assert body["store"] is False
    assert body["include"] == ["reasoning.encrypted_content"]
    assert body["stream_options"] == {"include_obfuscation": False}
    assert body["instructions"] == "You are Drafthand."
    assert body["max_output_tokens"] == 4000


def test_one_call_at_a_time_and_no_strict_schemas() -> None:
    body = request(user("hi"))

    assert body["parallel_tool_calls"] is False
    assert [(tool["type"], tool["strict"]) for tool in body["tools"]] == [("function", False)] * 3
    assert body["tools"][0]["parameters"] == TOOLS[0].schema


def test_effort_is_sent_where_the_model_has_one() -> None:
    assert request(user("hi"))["reasoning"] == {"summary": "auto"}
    assert request(user("hi"), effort="high")["reasoning"] == {"summary": "auto", "effort": "high"}


def test_a_model_that_can_not_reason_is_not_asked_to() -> None:
    body = request(user("hi"), thinking="off", effort="high")

    assert not {"reasoning", "include"} & set(body)


def test_requests_of_one_system_prompt_share_a_cache_key() -> None:
    first, second = request(user("hi")), request(user("ho"))
    other = build_request([user("hi")], TOOLS, TurnSettings(SPEC, "You are somebody else.", 4000))

    assert first["prompt_cache_key"] == second["prompt_cache_key"] != other["prompt_cache_key"]
    assert len(first["prompt_cache_key"]) <= 64


def test_a_reasoning_item_goes_back_whole_directly_before_its_call() -> None:
    _, reasoning, call, output = sent(user("hi"), called("call_1", thought()), answered())

    assert reasoning == ITEM
    assert call == {
        "type": "function_call",
        "call_id": "call_1",
        "name": "execute_data_collection",
        "arguments": '{"code":"1"}',
    }
    assert output == {"type": "function_call_output", "call_id": "call_1", "output": "42"}


def test_each_reasoning_item_stands_before_its_own_item() -> None:
    second = thought().model_copy(
        update={"opaque": thought().opaque.model_copy(update={"data": json.dumps(ITEM | {"id": "rs_2"})})}
    )
    turn = Message(role="assistant", parts=(*said("I look.", thought()).parts, *called("call_1", second).parts))

    items = sent(user("hi"), turn, answered())

    assert kinds(items) == ["user", "reasoning", "assistant", "reasoning", "function_call", "function_call_output"]
    assert [item["id"] for item in items if item.get("type") == "reasoning"] == ["rs_1", "rs_2"]


def test_reasoning_of_another_model_or_vendor_and_plain_thinking_are_not_sent() -> None:
    for foreign in (thought(model="gpt-6-luna"), thought(vendor="anthropic"), Thinking(text="hm")):
        assert kinds(sent(user("hi"), called("call_1", foreign), answered())) == [
            "user",
            "function_call",
            "function_call_output",
        ]


def test_reasoning_that_led_to_nothing_or_to_a_blank_message_is_not_sent() -> None:
    cut = Message(role="assistant", parts=(thought(),), model=SPEC.id)

    assert kinds(sent(user("hi"), cut, user("go on"))) == ["user", "user"]
    assert kinds(sent(user("hi"), said(" \n", thought()), user("go on"))) == ["user", "user"]


def test_a_message_keeps_its_phase_and_the_next_has_none() -> None:
    marked = Text(text="I look.", opaque=Opaque(vendor="openai", model=SPEC.id, kind=PHASE, data="commentary"))
    turn = Message(role="assistant", parts=(thought(), marked, Text(text="Well.")), model=SPEC.id)

    assert sent(user("hi"), turn)[2:-1] == [
        {"role": "assistant", "content": "I look.", "phase": "commentary"},
        {"role": "assistant", "content": "Well."},
    ]


def test_the_phase_that_another_model_gave_stays_with_it() -> None:
    marked = Text(text="I look.", opaque=Opaque(vendor="openai", model="gpt-7", kind=PHASE, data="commentary"))

    assert sent(user("hi"), Message(role="assistant", parts=(marked,), model="gpt-7"))[1:-1] == [
        {"role": "assistant", "content": "I look."}
    ]


def test_a_phase_as_it_was_stored_once_is_no_reasoning_item() -> None:
    mark = Thinking(
        text="", opaque=Opaque(vendor="openai", model=SPEC.id, kind="message", data='{"phase": "commentary"}')
    )

    assert sent(user("hi"), said("I look.", mark))[1:-1] == [{"role": "assistant", "content": "I look."}]


def test_a_picture_lies_inside_its_output_and_never_in_a_text() -> None:
    *_, output = sent(user("hi"), called(), answered(images=(IMAGE,)))
    *_, bare = sent(user("hi"), called(), answered(text=" ", images=(IMAGE,)))

    assert output["output"] == [{"type": "input_text", "text": "42"}, PNG]
    assert bare["output"] == [PNG]


def test_where_outputs_take_no_pictures_they_follow_in_a_user_message() -> None:
    *_, output, message = sent(user("hi"), called(), answered(images=(IMAGE,)), pictures_in_results=False)

    assert output["output"] == "42"
    assert message == {"role": "user", "content": [PNG]}


def test_a_users_picture_stands_beside_the_text() -> None:
    message = Message(role="user", parts=(Text(text="this one"), Image(image=IMAGE)))

    assert sent(message) == [{"role": "user", "content": [{"type": "input_text", "text": "this one"}, PNG]}]


def test_a_call_without_a_result_gets_one_that_promises_nothing() -> None:
    both = Message(role="assistant", parts=(*called("call_1").parts, *called("call_2").parts), model=SPEC.id)

    items = sent(user("hi"), both, answered("call_1"), user("go on"))

    assert kinds(items)[3:] == ["function_call_output", "function_call_output", "user"]
    assert [(item["call_id"], item["output"]) for item in items[3:5]] == [("call_1", "42"), ("call_2", NO_RESULT)]


def test_what_was_no_json_goes_back_as_no_arguments() -> None:
    for changes in ({"input": None, "raw": '{"code": "print('}, {"input": {}, "raw": ""}):
        _, call, _ = sent(user("hi"), called("call_1", **changes), answered())
        assert call["arguments"] == "{}"


def test_a_tools_impossible_name_is_made_possible() -> None:
    _, call, _ = sent(user("hi"), called("call_1", name="functions.run it"), answered())

    assert call["name"] == "functions_run_it"


def test_blank_text_is_left_out_and_an_empty_message_with_it() -> None:
    assert kinds(sent(user(" "), user("hi"), said(" \n"), user("still there?"))) == ["user", "user"]


def test_what_was_sent_once_is_sent_again_unchanged() -> None:
    transcript = [
        user("hi"),
        called("call_1", thought()),
        answered(images=(IMAGE,)),
        said("Done.", thought()),
        user("more"),
        called("call_2"),
        answered("call_2"),
    ]

    whole = sent(*transcript)

    for length in range(1, len(transcript)):
        if transcript[length - 1].role != "assistant":
            shorter = sent(*transcript[:length])
            assert whole[: len(shorter)] == shorter
