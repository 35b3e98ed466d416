"""What survives when a conversation is shortened."""

from typing import Any

from drafthand.chunks import Usage
from drafthand.compaction import (
    INSTRUCTION,
    effective,
    next_request_tokens,
    since_summary,
    summarized,
    to_be_summarized,
    tokens_of,
)
from drafthand.session import Progress, Session
from drafthand.tools import AUTOMATE, COLLECT
from drafthand.transcript import Image, ImageRef, Message, Summary, Text, ToolCall, ToolResult
from hypothesis import given
from hypothesis import strategies as st

REF = ImageRef(sha256="a" * 64, media_type="image/png", width=8, height=8)
SCRIPT = "first()\nsecond()\n"


def session(**facts: Any) -> Session:
    rest = {"title": "t", "model": "m", "host_id": None, "created_at": 0, "updated_at": 0}
    return Session(id="s", owner="o", **(rest | facts))


def asked(text: str) -> Message:
    return Message(role="user", parts=(Text(text=text),))


def called(call_id: str, tool: str, told: str, *images: ImageRef) -> list[Message]:
    call = ToolCall(id=call_id, name=tool, input={}, raw="{}")
    result = ToolResult(call_id=call_id, ok=True, text=told, images=images)
    return [Message(role="assistant", parts=(call,), model="m"), Message(role="tool", parts=(result,))]


TALK = [
    asked("Renumber the doors."),
    *called("call_1", AUTOMATE, "outcome: committed\nchanged: 8 modified"),
    *called("call_2", COLLECT, "eight doors", REF),
]


def shortened(messages: list[Message], **how: Any) -> list[Message]:
    now = session(progress=Progress(turns=2, scripts=2, fix=1))
    return [*messages, summarized(now, messages, "I renumbered.", SCRIPT, **({"lean": False} | how))]


def text_of(messages: list[Message]) -> str:
    return "\n".join(part.text for message in messages for part in message.parts if isinstance(part, Text))


def test_a_request_begins_at_the_newest_summary_and_keeps_what_must_survive() -> None:
    messages = [*shortened(TALK), *called("call_3", COLLECT, "more")]

    sent = effective(messages)

    assert len(sent) == 3
    told = text_of(sent)
    assert told.startswith("[Summary of the conversation so far]\nI renumbered.")
    for kept in ("Renumber the doors.", "1 | first()\n2 | second()", "changed: 8 modified", "eight doors", "1 fix"):
        assert kept in told
    assert [part.image for part in sent[0].parts if isinstance(part, Image)] == [REF]
    assert len(messages) == len(TALK) + 3, "the transcript keeps everything"


def test_a_lean_summary_leaves_the_newest_result_and_its_picture_out() -> None:
    sent = effective(shortened(TALK, lean=True))

    assert "eight doors" not in text_of(sent)
    assert "changed: 8 modified" in text_of(sent)
    assert not [part for part in sent[0].parts if isinstance(part, Image)]


def test_a_second_summary_still_knows_the_request_and_the_report() -> None:
    once = shortened(TALK)
    twice = shortened([*once, *called("call_3", COLLECT, "more")])

    told = text_of(effective(twice))

    assert "The request being worked on:\nRenumber the doors." in told
    assert "changed: 8 modified" in told
    assert told.count("[Summary of the conversation so far]") == 1


def test_a_new_message_after_a_summary_is_the_open_request() -> None:
    done = Message(role="assistant", parts=(Text(text="Done."),), model="m", stop="end")
    twice = shortened([*shortened(TALK), done, asked("Now the windows."), *called("call_3", COLLECT, "more")])

    assert "The request being worked on:\nNow the windows." in text_of(effective(twice))


def test_what_was_said_meanwhile_stands_beside_the_request_and_never_in_its_place() -> None:
    talk = [asked("Renumber level 2; never touch level 1."), *called("call_1", COLLECT, "a"), asked("the windows too")]

    once = shortened([*talk, *called("call_2", COLLECT, "b")])
    twice = shortened([*once, *called("call_3", COLLECT, "c"), asked("thanks"), *called("call_4", COLLECT, "d")])

    for messages, said in ((once, "the windows too"), (twice, "the windows too\n\nthanks")):
        wanted = f"The request being worked on:\nRenumber level 2; never touch level 1.\n\n{said}"
        assert wanted in text_of(effective(messages))


def test_the_request_for_a_summary_ends_with_the_instruction_and_may_be_cut_short() -> None:
    long = [asked("Look."), *called("call_1", COLLECT, "\n".join(map(str, range(5000))), REF)]

    whole, short = (to_be_summarized(long, short=short) for short in (False, True))

    assert text_of(whole).endswith(INSTRUCTION)
    assert tokens_of(short) < tokens_of(whole) / 5
    (result,) = [part for message in short for part in message.parts if isinstance(part, ToolResult)]
    assert result.images == ()
    assert "5,000 lines" in result.text


def test_tokens_are_the_vendors_count_and_an_estimate_of_what_came_since() -> None:
    counted = session(context_tokens=Usage(input_uncached=900, output=100).total)

    assert next_request_tokens(counted, TALK, 3000) == 1000 + tokens_of(TALK[-1:])
    assert next_request_tokens(session(), TALK, 3000) == 1000 + tokens_of(TALK)


@given(st.lists(st.booleans(), max_size=12))
def test_no_message_is_lost_and_none_comes_twice(cuts: list[bool]) -> None:
    messages: list[Message] = []
    for number, cut in enumerate(cuts):
        messages += [asked(f"request {number}"), *called(f"call_{number}", COLLECT, f"result {number}")]
        if cut:
            messages = shortened(messages)

    back, last = since_summary(messages)

    assert (last is not None) == any(cuts)
    assert effective(messages)[-back:] == messages[-back:] if back else True
    assert len(effective(messages)) == back + (last is not None)
    assert sum(isinstance(part, Summary) for message in messages for part in message.parts) == sum(cuts)
