"""What goes on Gemini's wire, for transcripts as they really become."""

import base64
from dataclasses import replace
from typing import Any

import pytest
from drafthand.model import ModelSpec, Picture, TurnSettings
from drafthand.tools import TOOLS
from drafthand.transcript import Image, ImageRef, Message, Opaque, Text, Thinking, ToolCall, ToolResult
from drafthand.vendors.gemini_request import ON_CALL, ON_NOTHING, ON_TEXT, ON_THOUGHT, SENTINEL, build_request
from drafthand.vendors.pairing import NO_RESULT

SPEC = ModelSpec(id="flash", name="gemini-3.8-flash", label="Flash", vendor="gemini", dialect="gemini")
OLD = SPEC.model_copy(update={"name": "gemini-2.5-flash", "pictures_in_results": False})
IMAGE = ImageRef(sha256="a" * 64, media_type="image/png", width=10, height=10)
SETTINGS = TurnSettings(SPEC, "You are Drafthand.", 4000, {IMAGE.sha256: Picture("image/png", b"PNG")})
OLD_SETTINGS = replace(SETTINGS, model=OLD)
PICTURE = {"inline_data": {"mime_type": "image/png", "data": b"PNG"}}


def user(text: str) -> Message:
    return Message(role="user", parts=(Text(text=text),))


def signature(kind: str, data: bytes = b"sig\xff", model: str = SPEC.id, vendor: str = SPEC.vendor) -> Opaque:
    return Opaque(vendor=vendor, model=model, kind=kind, data=base64.b64encode(data).decode())


def call(call_id: str = "call_1", opaque: Opaque | None = None) -> ToolCall:
    name, raw = "execute_data_collection", '{"code": "1"}'
    return ToolCall(id=call_id, name=name, input={"code": "1"}, raw=raw, vendor_id="v", opaque=opaque)


def said(*parts: Any, model: str = SPEC.id) -> Message:
    return Message(role="assistant", parts=parts, model=model)


def answered(call_id: str = "call_1", text: str = "42", ok: bool = True, images: tuple[ImageRef, ...] = ()) -> Message:
    return Message(role="tool", parts=(ToolResult(call_id=call_id, ok=ok, text=text, images=images),))


def sent(*transcript: Message, settings: TurnSettings = SETTINGS) -> list[dict[str, Any]]:
    contents: list[dict[str, Any]] = build_request(transcript, TOOLS, settings)["contents"]
    return contents


def test_the_vendors_own_loop_is_off_and_thoughts_are_shown() -> None:
    request = build_request([user("hi")], TOOLS, SETTINGS)

    assert request["model"] == "gemini-3.8-flash"
    assert request["config"]["automatic_function_calling"] == {"disable": True}
    assert request["config"]["thinking_config"] == {"include_thoughts": True}
    assert request["config"]["system_instruction"] == "You are Drafthand."
    assert request["config"]["max_output_tokens"] == 4000


def test_tools_are_declared_by_their_json_schema() -> None:
    (tool,) = build_request([user("hi")], TOOLS, SETTINGS)["config"]["tools"]

    assert [each["name"] for each in tool["function_declarations"]] == [each.name for each in TOOLS]
    assert [each["parameters_json_schema"] for each in tool["function_declarations"]] == [each.schema for each in TOOLS]
    assert "tools" not in build_request([user("hi")], (), SETTINGS)["config"]


@pytest.mark.parametrize(
    ("effort", "wanted"), [("HIGH", {"thinking_level": "HIGH"}), ("-1", {"thinking_budget": -1}), (None, {})]
)
def test_effort_is_a_level_or_a_budget(effort: str | None, wanted: dict[str, Any]) -> None:
    settings = replace(SETTINGS, model=SPEC.model_copy(update={"effort": effort}))

    assert build_request([user("hi")], (), settings)["config"]["thinking_config"] == {"include_thoughts": True} | wanted


def test_a_signature_goes_back_on_the_very_part_it_came_with() -> None:
    turn = said(
        Thinking(text="let me look", opaque=signature(ON_THOUGHT, b"1")),
        Text(text="I look.", opaque=signature(ON_TEXT, b"2")),
        call("call_1", signature(ON_CALL, b"3")),
        Thinking(text="", opaque=signature(ON_NOTHING, b"4")),
    )

    _, model, _ = sent(user("hi"), turn, answered())

    assert model["role"] == "model"
    thought, text, function_call, nothing = model["parts"]
    assert thought == {"text": "let me look", "thought": True, "thought_signature": b"1"}
    assert text == {"text": "I look.", "thought_signature": b"2"}
    assert (function_call["function_call"]["id"], function_call["thought_signature"]) == ("call_1", b"3")
    assert nothing == {"text": "", "thought_signature": b"4"}


def test_signatures_and_thoughts_of_another_model_or_vendor_are_not_sent() -> None:
    for foreign in (signature(ON_CALL, model="pro"), signature(ON_CALL, vendor="google")):
        turn = said(Thinking(text="hm", opaque=foreign), Thinking(text="unsigned"), call("call_1", foreign))

        _, model, _ = sent(user("hi"), turn, answered())

        (part,) = model["parts"]
        assert part["thought_signature"] == SENTINEL


def test_only_the_first_of_a_foreign_turns_calls_gets_the_sentinel() -> None:
    turn = said(call("call_1"), call("call_2"), model="claude-sonnet-5-5")

    _, model, _ = sent(user("hi"), turn, answered("call_1"), answered("call_2"))

    assert [part.get("thought_signature") for part in model["parts"]] == [SENTINEL, None]


def test_its_own_unsigned_parallel_calls_stay_unsigned() -> None:
    turn = said(call("call_1", signature(ON_CALL, b"real")), call("call_2"))

    _, model, _ = sent(user("hi"), turn, answered("call_1"), answered("call_2"))

    assert [part.get("thought_signature") for part in model["parts"]] == [b"real", None]


@pytest.mark.parametrize("name", ["gemini-2.5-flash", "models/gemini-2.0-flash", "gemini-1.5-pro"])
def test_models_before_gemini_3_get_no_sentinel(name: str) -> None:
    settings = replace(SETTINGS, model=SPEC.model_copy(update={"name": name}))

    _, model, _ = sent(user("hi"), said(call(), model="gpt"), answered(), settings=settings)

    assert "thought_signature" not in model["parts"][0]


@pytest.mark.parametrize("name", ["gemini-3.5-flash", "gemini-4-argon", "gemini-20-x", "rehearsal"])
def test_later_and_unknown_models_get_the_sentinel(name: str) -> None:
    settings = replace(SETTINGS, model=SPEC.model_copy(update={"name": name}))

    _, model, _ = sent(user("hi"), said(call(), model="gpt"), answered(), settings=settings)

    assert model["parts"][0]["thought_signature"] == SENTINEL


def test_call_and_result_carry_our_id_and_the_tools_name() -> None:
    _, model, result = sent(user("hi"), said(call()), answered())

    assert model["parts"][0]["function_call"] == {
        "id": "call_1",
        "name": "execute_data_collection",
        "args": {"code": "1"},
    }
    assert result["parts"] == [
        {"function_response": {"id": "call_1", "name": "execute_data_collection", "response": {"output": "42"}}}
    ]


def test_a_failed_result_is_an_error() -> None:
    *_, result = sent(user("hi"), said(call()), answered(text="boom", ok=False))

    assert result["parts"][0]["function_response"]["response"] == {"error": "boom"}


def test_a_picture_lies_inside_its_result() -> None:
    *_, result = sent(user("hi"), said(call()), answered(images=(IMAGE,)))

    (part,) = result["parts"]
    assert part["function_response"]["parts"] == [PICTURE]


def test_for_older_models_pictures_follow_all_results() -> None:
    turn = said(call("call_1"), call("call_2"))

    *_, last = sent(user("hi"), turn, answered("call_1", images=(IMAGE,)), answered("call_2"), settings=OLD_SETTINGS)

    first, second, picture = last["parts"]
    assert [part["function_response"]["id"] for part in (first, second)] == ["call_1", "call_2"]
    assert "parts" not in first["function_response"]
    assert picture == PICTURE


def test_a_users_picture_is_sent_as_it_is() -> None:
    (content,) = sent(Message(role="user", parts=(Image(image=IMAGE), Text(text="what is this?"))))

    assert content["parts"] == [PICTURE, {"text": "what is this?"}]


def test_a_call_without_a_result_gets_one_that_promises_nothing() -> None:
    contents = sent(user("hi"), said(call()), user("go on"))

    assert [content["role"] for content in contents] == ["user", "model", "user"]
    first, second = contents[2]["parts"]
    assert first["function_response"]["response"] == {"error": NO_RESULT}
    assert second == {"text": "go on"}


def test_of_two_calls_only_the_open_one_is_closed_and_results_stand_first() -> None:
    *_, last = sent(user("hi"), said(call("call_1"), call("call_2")), answered("call_1"), user("go on"))

    assert [part.get("function_response", {}).get("id") for part in last["parts"]] == ["call_1", "call_2", None]


def test_a_call_that_was_cut_goes_back_without_arguments() -> None:
    cut = call().model_copy(update={"input": None, "raw": '{"code": "pri'})

    _, model, _ = sent(user("hi"), said(cut), answered(ok=False))

    assert model["parts"][0]["function_call"]["args"] == {}


def test_what_is_left_of_a_cut_call_does_not_carry_the_signature_of_the_whole() -> None:
    cut = call(opaque=signature(ON_CALL)).model_copy(update={"input": None})

    _, model, _ = sent(user("hi"), said(cut), user("go on"))

    assert model["parts"][0]["thought_signature"] == SENTINEL


def test_blank_text_is_left_out_and_an_empty_message_with_it() -> None:
    assert [content["role"] for content in sent(user("hi"), said(Text(text=" \n")), user("still there?"))] == ["user"]


def test_a_signature_stays_on_its_text_even_where_that_is_blank_and_foreign_ones_are_left_out() -> None:
    foreign = Text(text="Done.", opaque=signature(ON_TEXT, b"1", model="another"))
    turn = said(foreign, Text(text="\n", opaque=signature(ON_TEXT, b"2")))

    _, model, _ = sent(user("hi"), turn, user("thanks"))

    assert model["parts"] == [{"text": "Done."}, {"text": "\n", "thought_signature": b"2"}]


def test_a_model_that_can_not_think_is_not_asked_to() -> None:
    settings = replace(SETTINGS, model=SPEC.model_copy(update={"thinking": "off", "effort": "HIGH"}))

    assert "thinking_config" not in build_request([user("hi")], TOOLS, settings)["config"]


def test_a_tools_impossible_name_is_made_possible_in_call_and_result() -> None:
    called = call().model_copy(update={"name": "functions.run it"})

    _, model, result = sent(user("hi"), said(called), answered())

    assert model["parts"][0]["function_call"]["name"] == "functions_run_it"
    assert result["parts"][0]["function_response"]["name"] == "functions_run_it"


def test_a_request_never_ends_with_the_model() -> None:
    contents = sent(user("hi"), said(Text(text="I was paused")))

    assert [content["role"] for content in contents] == ["user", "model", "user"]


def test_what_was_sent_once_is_sent_again_unchanged() -> None:
    transcript = [
        user("hi"),
        said(Thinking(text="hm", opaque=signature(ON_THOUGHT)), call("call_1", signature(ON_CALL))),
        answered(images=(IMAGE,)),
        said(call("call_2"), call("call_3"), model="gpt-5.2"),
        Message(role="tool", parts=(*answered("call_2").parts, *answered("call_3").parts)),
        said(Text(text="Done."), Thinking(text="", opaque=signature(ON_NOTHING))),
        user("and now?"),
    ]

    for settings in (SETTINGS, OLD_SETTINGS):
        whole = sent(*transcript, settings=settings)
        for length in range(1, len(transcript)):
            if transcript[length - 1].role != "assistant":
                shorter = sent(*transcript[:length], settings=settings)
                assert whole[: len(shorter)] == shorter
