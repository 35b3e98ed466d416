"""What goes on the wire of chat completions, for transcripts as they really become."""

import base64
import json
import re
from typing import Any

import httpx2
from drafthand.model import ModelSpec, Picture, TurnSettings
from drafthand.tools import TOOLS
from drafthand.transcript import Image, ImageRef, Message, Opaque, Text, Thinking, ToolCall, ToolResult, Turn
from drafthand.vendors.access import Access
from drafthand.vendors.chat_completions import ChatCompletionsClient
from drafthand.vendors.chat_completions_pieces import DETAILS
from drafthand.vendors.chat_completions_request import BRIDGE, NO_OUTPUT, build_request, nine
from drafthand.vendors.pairing import GO_ON, NO_RESULT
from hypothesis import given
from hypothesis import strategies as st

SPEC = ModelSpec(id="grok-6", label="Grok", vendor="xai", dialect="chat_completions", one_call=True)
MISTRAL: dict[str, Any] = {"vendor": "mistral", "call_ids": "alnum9", "asks_usage": False}
DEEPSEEK: dict[str, Any] = {"reasoning_field": "reasoning_content"}
IMAGE = ImageRef(sha256="a" * 64, media_type="image/png", width=10, height=10)
PICTURES = {IMAGE.sha256: Picture("image/png", b"PNG")}
PNG = {"type": "image_url", "image_url": {"url": f"data:image/png;base64,{base64.b64encode(b'PNG').decode()}"}}


def user(*parts: Any) -> Message:
    return Message(role="user", parts=tuple(Text(text=part) if isinstance(part, str) else part for part in parts))


def thought(text: str = "look", model: str = SPEC.id, vendor: str = "xai") -> Thinking:
    return Thinking(text=text, opaque=Opaque(vendor=vendor, model=model, kind="reasoning", data=""))


def said(text: str, *before: Any) -> Message:
    return Message(role="assistant", parts=(*before, Text(text=text)), model=SPEC.id)


def called(call_id: str = "call_1", *before: Any, **changes: Any) -> Message:
    facts = {"name": "execute_data_collection", "input": {"code": "1"}, "raw": '{"code":"1"}'} | changes
    return Message(role="assistant", parts=(*before, ToolCall(id=call_id, **facts)), model=SPEC.id)


def answered(call_id: str = "call_1", text: str = "42", images: tuple[ImageRef, ...] = ()) -> Message:
    return Message(role="tool", parts=(ToolResult(call_id=call_id, ok=True, text=text, images=images),))


def request(*transcript: Message, tools: Any = TOOLS, **changes: Any) -> dict[str, Any]:
    spec = SPEC.model_copy(update=changes)
    return build_request(transcript, tools, TurnSettings(spec, "You are Drafthand.", 4000, PICTURES))


def sent(*transcript: Message, **changes: Any) -> list[dict[str, Any]]:
    """The messages behind the system's."""
    messages: list[dict[str, Any]] = request(*transcript, **changes)["messages"]
    assert messages[0] == {"role": "system", "content": "You are Drafthand."}
    return messages[1:]


def roles(messages: list[dict[str, Any]]) -> list[str]:
    return [message["role"] for message in messages]


def test_the_limit_has_the_name_this_model_knows_and_usage_is_asked_for() -> None:
    body = request(user("hi"))
    newer = request(user("hi"), limit_field="max_completion_tokens")

    assert (body["max_tokens"], body["stream"], body["stream_options"]) == (4000, True, {"include_usage": True})
    assert newer["max_completion_tokens"] == 4000
    assert "max_tokens" not in newer


def test_one_call_at_a_time_is_asked_for_only_where_that_is_understood_and_there_are_tools() -> None:
    assert request(user("hi"))["parallel_tool_calls"] is False
    assert "parallel_tool_calls" not in request(user("hi"), one_call=False)
    assert "parallel_tool_calls" not in request(user("hi"), tools=[])
    assert "tools" not in request(user("hi"), tools=[])


def test_mistral_sends_its_usage_unasked() -> None:
    assert "stream_options" not in request(user("hi"), **MISTRAL)
    assert request(user("hi"))["stream_options"] == {"include_usage": True}


def test_effort_is_sent_where_the_model_has_one() -> None:
    assert "reasoning_effort" not in request(user("hi"))
    assert request(user("hi"), effort="high")["reasoning_effort"] == "high"


def test_tools_are_functions() -> None:
    tool = request(user("hi"))["tools"][0]

    assert (tool["type"], tool["function"]["name"]) == ("function", TOOLS[0].name)
    assert tool["function"]["parameters"] == TOOLS[0].schema


def test_a_call_and_its_result_carry_the_same_id() -> None:
    _, call, result, _ = sent(user("hi"), said("I look."), called(), answered(), user("more"))

    assert call == {
        "role": "assistant",
        "content": "I look.",
        "tool_calls": [
            {
                "id": "call_1",
                "type": "function",
                "function": {"name": "execute_data_collection", "arguments": '{"code":"1"}'},
            }
        ],
    }
    assert result == {"role": "tool", "tool_call_id": "call_1", "content": "42"}


def test_pictures_follow_in_one_user_message_behind_all_results() -> None:
    both = Message(role="assistant", parts=(*called("call_1").parts, *called("call_2").parts), model=SPEC.id)

    messages = sent(user("hi"), both, answered("call_1", images=(IMAGE,)), answered("call_2", images=(IMAGE,)))

    assert roles(messages) == ["user", "assistant", "tool", "tool", "user"]
    assert messages[2]["content"] == "42"
    assert messages[4]["content"] == [PNG, PNG]


def test_a_picture_of_a_result_waits_for_the_result_that_nobody_gave() -> None:
    both = Message(role="assistant", parts=(*called("call_1").parts, *called("call_2").parts), model=SPEC.id)

    messages = sent(user("hi"), both, answered("call_1", images=(IMAGE,)), user("go on"))

    assert roles(messages) == ["user", "assistant", "tool", "tool", "user"]
    assert messages[3] == {"role": "tool", "tool_call_id": "call_2", "content": NO_RESULT}
    assert messages[4]["content"] == [PNG, {"type": "text", "text": "go on"}]


def test_a_users_picture_stands_beside_the_text() -> None:
    assert sent(user("this one", Image(image=IMAGE)))[0]["content"] == [{"type": "text", "text": "this one"}, PNG]


def test_neighbours_of_one_role_are_one_message() -> None:
    messages = sent(user("hi"), user("there"), said("One."), user(" "), said("Two."), user("go on"))

    assert messages == [
        {"role": "user", "content": "hi\n\nthere"},
        {"role": "assistant", "content": "One.\n\nTwo."},
        {"role": "user", "content": "go on"},
    ]


def test_neighbours_without_reasoning_of_their_own_have_one_placeholder_for_it() -> None:
    _, answer, _ = sent(user("hi"), said("One."), said("Two."), user("go on"), **DEEPSEEK)

    assert answer == {"role": "assistant", "content": "One.\n\nTwo.", "reasoning_content": " "}


def test_the_assistant_never_stands_last() -> None:
    assert sent(user("hi"), said("One."))[-1] == {"role": "user", "content": GO_ON}


def test_mistral_has_the_assistant_between_a_tool_and_a_user() -> None:
    messages = sent(user("hi"), called(), answered(images=(IMAGE,)), user("more"), **MISTRAL)

    assert roles(messages) == ["user", "assistant", "tool", "assistant", "user"]
    assert messages[3] == {"role": "assistant", "content": BRIDGE}
    assert roles(sent(user("hi"), called(), answered(), said("Done."), user("more"), **MISTRAL)) == [
        *("user", "assistant", "tool", "assistant", "user"),
    ]


def test_mistrals_ids_are_nine_letters_and_digits_for_the_call_and_its_result() -> None:
    messages = sent(user("hi"), called("call_1"), answered("call_1"), called("call_2"), answered("call_2"), **MISTRAL)

    ids = [message["tool_calls"][0]["id"] for message in messages if "tool_calls" in message]
    assert ids == [message["tool_call_id"] for message in messages if message["role"] == "tool"]
    assert len(set(ids)) == 2
    assert all(re.fullmatch(r"[a-zA-Z0-9]{9}", call_id) for call_id in ids)


def test_ids_that_would_collide_are_told_apart_and_stay_as_the_transcript_grows(monkeypatch: Any) -> None:
    one_letter = lambda call_id, salt=0: f"{salt:09d}"  # noqa: E731 - every id collides
    monkeypatch.setattr("drafthand.vendors.chat_completions_request.nine", one_letter)
    transcript = [user("hi"), called("call_1"), answered("call_1"), called("call_2"), answered("call_2")]

    shorter, longer = sent(*transcript[:3], **MISTRAL), sent(*transcript, **MISTRAL)

    assert longer[: len(shorter)] == shorter
    assert [message["tool_call_id"] for message in longer if message["role"] == "tool"] == ["000000000", "000000001"]


@given(st.text(max_size=40), st.integers(min_value=0, max_value=5))
def test_any_id_becomes_nine_letters_and_digits_and_always_the_same(call_id: str, salt: int) -> None:
    assert re.fullmatch(r"[a-zA-Z0-9]{9}", nine(call_id, salt))
    assert nine(call_id, salt) == nine(call_id, salt)


def test_reasoning_goes_back_to_its_own_model_in_the_field_it_wants() -> None:
    _, call, _ = sent(user("hi"), called("call_1", thought("lo"), thought("ok")), answered(), **DEEPSEEK)
    _, answer, _ = sent(user("hi"), said("Done.", thought("\nlook ")), user("more"), reasoning_field="reasoning")

    assert call["reasoning_content"] == "look"
    assert answer["reasoning"] == "\nlook "


def test_blocks_go_back_unchanged_to_the_model_that_signed_them_where_it_wants_them() -> None:
    blocks = [{"type": "reasoning.text", "text": "So", "signature": "c2ln", "index": 0}]
    opaque = Opaque(vendor="xai", model=SPEC.id, kind=DETAILS, data=json.dumps(blocks))
    wants: dict[str, Any] = {"reasoning_field": DETAILS}
    signed = Thinking(text="So", opaque=opaque)
    foreign = Thinking(text="So", opaque=opaque.model_copy(update={"model": "grok-5"}))

    assert sent(user("hi"), said("One", signed), user("more"), **wants)[1][DETAILS] == blocks
    for other in (foreign, thought(), Thinking(text="So")):
        assert sent(user("hi"), said("One", other), user("more"), **wants)[1] == {"role": "assistant", "content": "One"}
    assert set(sent(user("hi"), said("One", signed), user("more"))[1]) == {"role", "content"}


def test_a_block_that_signs_a_call_names_it_by_the_id_it_is_sent_under() -> None:
    data = json.dumps([{"type": "reasoning.encrypted", "id": "tool_0", "data": "c2ln"}, {"id": "other"}])
    signed = Thinking(text="", opaque=Opaque(vendor="xai", model=SPEC.id, kind=DETAILS, data=data))

    _, answer, _ = sent(user("hi"), called("call_1", signed, vendor_id="tool_0"), answered(), reasoning_field=DETAILS)

    assert [block["id"] for block in answer[DETAILS]] == ["call_1", "other"] == [answer["tool_calls"][0]["id"], "other"]


def test_reasoning_of_others_is_not_sent_but_reasoning_content_is_never_left_out() -> None:
    for foreign in (thought(model="grok-5"), thought(vendor="deepseek"), Thinking(text="hm")):
        _, wanted, _ = sent(user("hi"), called("call_1", foreign), answered(), **DEEPSEEK)
        _, optional, _ = sent(user("hi"), called("call_1", foreign), answered(), reasoning_field="reasoning")
        _, refused, _ = sent(user("hi"), called("call_1", foreign), answered())
        assert wanted["reasoning_content"] == " "
        assert set(optional) == set(refused) == {"role", "content", "tool_calls"}


def test_an_answer_that_was_only_thought_is_left_out() -> None:
    cut = Message(role="assistant", parts=(thought(),), model=SPEC.id)

    assert roles(sent(user("hi"), cut, user("go on"), **DEEPSEEK)) == ["user"]


def test_a_call_alone_has_no_content_and_a_silent_result_says_so() -> None:
    _, call, result = sent(user("hi"), called(), answered(text=" \n"))

    assert call["content"] is None
    assert result["content"] == NO_OUTPUT


def test_what_was_no_json_or_was_changed_goes_back_as_what_was_run() -> None:
    for changes, arguments in (
        ({"input": None, "raw": '{"code": "print('}, "{}"),
        ({"input": {}, "raw": ""}, "{}"),
        ({"input": {"code": "\ufffd"}, "raw": r'{"code": "\ud800"}'}, '{"code": "\ufffd"}'),
        ({"input": {"code": "1"}, "raw": '{ "code": "1" }'}, '{ "code": "1" }'),
    ):
        _, call, _ = sent(user("hi"), called("call_1", **changes), answered())
        assert call["tool_calls"][0]["function"]["arguments"] == arguments


def test_a_tools_impossible_name_is_made_possible() -> None:
    _, call, _ = sent(user("hi"), called("call_1", name="functions.run it"), answered())

    assert call["tool_calls"][0]["function"]["name"] == "functions_run_it"


def test_what_was_sent_once_is_sent_again_unchanged() -> None:
    transcript = [
        user("hi"),
        called("call_1", thought()),
        answered(images=(IMAGE,)),
        called("call_2"),
        answered("call_2"),
        said("Done.", thought()),
        user("more"),
        called("call_3"),
        answered("call_3"),
    ]

    for changes in ({}, MISTRAL, DEEPSEEK):
        whole = sent(*transcript, **changes)
        for length in (1, 3, 5, 7):
            shorter = sent(*transcript[:length], **changes)
            assert whole[: len(shorter)] == shorter


async def sent_by_the_client(transcript: list[Message], settings: TurnSettings) -> httpx2.Request:
    requests: list[httpx2.Request] = []

    def answer(arrived: httpx2.Request) -> httpx2.Response:
        requests.append(arrived)
        return httpx2.Response(200, headers={"content-type": "text/event-stream"}, content=b"data: [DONE]\n\n")

    async with httpx2.AsyncClient(transport=httpx2.MockTransport(answer)) as http_client:
        client = ChatCompletionsClient(Access("key", "http://server.invalid/v1"), http_client)
        async for _ in client.stream(transcript, TOOLS, settings, Turn(vendor="xai", model="grok-6")):
            pass
    (only,) = requests
    return only


async def test_the_sdk_sends_it_as_it_was_built() -> None:
    spec = SPEC.model_copy(update=DEEPSEEK | {"effort": "high"})
    settings = TurnSettings(spec, "You are Drafthand.", 4000, PICTURES)
    transcript = [user("hi"), called("call_1", thought()), answered(images=(IMAGE,))]

    arrived = await sent_by_the_client(transcript, settings)

    assert str(arrived.url) == "http://server.invalid/v1/chat/completions"
    assert json.loads(arrived.content) == json.loads(json.dumps(build_request(transcript, TOOLS, settings)))


async def test_no_other_server_is_told_of_the_environments_openai_account(monkeypatch: Any) -> None:
    for name in ("OPENAI_API_KEY", "OPENAI_ORG_ID", "OPENAI_PROJECT_ID"):
        monkeypatch.setenv(name, "secret")

    arrived = await sent_by_the_client([user("hi")], TurnSettings(SPEC, "You are Drafthand.", 4000))

    assert arrived.headers["authorization"] == "Bearer key"
    assert "secret" not in arrived.headers.values()
