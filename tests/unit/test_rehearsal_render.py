"""A turn as the events of the Anthropic dialect: pieces, cuts, ids, usage."""

from __future__ import annotations

import json
import math
from typing import Any

from hypothesis import given
from hypothesis import strategies as st

from local.rehearsal.anthropic import ask, frame, read, render, whole
from local.rehearsal.anthropic_cache import MIN_CACHED_TOKENS, InputTokens, PromptCache
from local.rehearsal.script import Call
from local.rehearsal.walk import Exchange, Play
from local.rehearsal.wire import Event, even_pieces, word_pieces

HEADERS = {"x-api-key": "rehearsal", "anthropic-version": "2026-10-21"}
CODE = 'for door in doors:\n    print(f"{door.Tag} – «{door.Name}»")\n' * 4
PLAY = Play(
    script="doors",
    turn="renumber",
    say="I number the doors from left to right.",
    think="Two rows, north first.",
    call=Call(tool="run", input={"code": CODE, "summary": "Renumber.", "view": {"kind": "plan"}}),
)
NOTHING_SPENT = InputTokens(10, 0, {"5m": 0, "1h": 0})


def body(**changes: Any) -> bytes:
    tool = {"name": "run", "input_schema": {"type": "object"}, "eager_input_streaming": True}
    request = {
        "model": "rehearsal",
        "max_tokens": 4_000,
        "messages": [{"role": "user", "content": "Renumber the doors"}],
        "tools": [tool],
        "thinking": {"type": "adaptive", "display": "summarized"},
    }
    return json.dumps(request | changes).encode()


def events(play: Play = PLAY, **changes: Any) -> list[Event]:
    return list(render(play, ask(HEADERS, body(**changes)), NOTHING_SPENT))


def deltas(found: list[Event], field: str) -> list[str]:
    return [event.data["delta"][field] for event in found if field in event.data.get("delta", {})]


def not_eager() -> list[dict[str, Any]]:
    return [{"name": "run", "input_schema": {"type": "object"}}]


def test_an_eager_tool_streams_its_input_in_small_pieces():
    pieces = deltas(events(), "partial_json")

    assert json.loads("".join(pieces)) == PLAY.call.input
    assert pieces[0] == ""
    assert max(len(piece) for piece in pieces) == 12
    assert len(pieces) > 20


def test_without_eager_streaming_each_value_arrives_whole():
    pieces = deltas(events(tools=not_eager()), "partial_json")

    assert len(pieces) == 4
    assert json.loads(pieces[1] + "}") == {"code": CODE}
    assert json.loads("".join(pieces)) == PLAY.call.input


def test_a_call_without_arguments_is_an_empty_object():
    play = Play("doors", "look", None, None, Call(tool="run", input={}))

    for tools in ({}, {"tools": not_eager()}):
        assert json.loads("".join(deltas(events(play, **tools), "partial_json"))) == {}


def test_text_and_thinking_arrive_in_pieces_of_a_word_or_two():
    found = events()

    assert "".join(deltas(found, "text")) == PLAY.say
    assert "".join(deltas(found, "thinking")) == PLAY.think
    assert max(len(piece.split()) for piece in deltas(found, "text") + deltas(found, "thinking")) == 2


def test_thinking_is_shown_only_where_it_was_asked_for():
    hidden = events(thinking={"type": "adaptive"})

    assert deltas(hidden, "thinking") == []
    assert len(deltas(hidden, "signature")) == 1
    assert deltas(events(thinking={"type": "disabled"}), "signature") == []


def test_the_pace_counts_hidden_thinking_too():
    shown, hidden = (
        sum(event.tokens for event in found) for found in (events(), events(thinking={"type": "adaptive"}))
    )

    assert shown == hidden


@given(st.integers(min_value=0, max_value=400), st.booleans())
def test_a_turn_never_exceeds_max_tokens_and_is_a_true_beginning(limit: int, eager: bool):
    changes = {} if eager else {"tools": not_eager()}
    full, cut = events(**changes), events(max_tokens=limit, **changes)

    stop = cut[-2].data
    spent = sum(event.tokens for event in cut)
    assert spent <= limit
    for field in ("thinking", "text", "partial_json"):
        assert "".join(deltas(full, field)).startswith("".join(deltas(cut, field)))
    if sum(event.tokens for event in full) > limit:
        assert stop["delta"]["stop_reason"] == "max_tokens"
        assert stop["usage"]["output_tokens"] == limit == spent
    else:
        assert stop["delta"]["stop_reason"] == "tool_use"
        assert stop["usage"]["output_tokens"] == math.ceil(spent)


def test_a_call_that_is_cut_is_not_closed():
    cut = events(max_tokens=60)

    last = [event.name for event in cut][-3:]
    assert last == ["content_block_delta", "message_delta", "message_stop"]
    assert cut[-3].data["delta"]["type"] == "input_json_delta"


def test_no_tokens_allowed_means_no_content():
    assert [event.name for event in events(max_tokens=0)] == ["message_start", "message_delta", "message_stop"]


def test_the_same_request_gets_the_same_ids_and_another_gets_others():
    def ids(found: list[Event]) -> list[str]:
        starts = [event.data["content_block"] for event in found if event.name == "content_block_start"]
        return [found[0].data["message"]["id"], starts[-1]["id"]]

    assert ids(events()) == ids(events())
    other = ids(events(messages=[{"role": "user", "content": "Renumber the windows"}]))
    assert not set(other) & set(ids(events()))


def test_the_whole_message_is_what_the_stream_adds_up_to():
    message = whole(events())

    assert [block["type"] for block in message["content"]] == ["thinking", "text", "tool_use"]
    assert message["content"][0]["thinking"] == PLAY.think
    assert message["content"][1]["text"] == PLAY.say
    assert message["content"][2]["input"] == PLAY.call.input
    assert message["stop_reason"] == "tool_use"


def test_a_frame_is_one_event_with_its_data_on_one_line():
    text = frame(Event("content_block_delta", {"delta": {"text": "Türe\n„2“"}})).decode()

    name, data, *end = text.split("\n")
    assert name == "event: content_block_delta"
    assert json.loads(data.removeprefix("data: ")) == {"delta": {"text": "Türe\n„2“"}}
    assert end == ["", ""]


def messages(*turns: tuple[str, Any]) -> list[dict[str, Any]]:
    return [{"role": role, "content": content} for role, content in turns]


def call(number: int) -> list[dict[str, Any]]:
    return [{"type": "tool_use", "id": f"t{number}", "name": "run", "input": {}}]


def result(number: int, text: str) -> dict[str, Any]:
    return {"type": "tool_result", "tool_use_id": f"t{number}", "content": text}


def test_only_what_follows_the_newest_user_message_belongs_to_the_run():
    asked = ask(
        HEADERS,
        body(
            messages=messages(
                ("user", "Renumber doors on level 1"),
                ("assistant", call(1)),
                ("user", [result(1, "first run")]),
                ("assistant", "Done."),
                ("user", "Renumber doors on level 2"),
                ("assistant", call(2)),
                ("user", [result(2, "listed")]),
                ("assistant", call(3)),
                ("user", [result(3, "failed")]),
            )
        ),
    )

    view = read(asked)

    assert view.request == "Renumber doors on level 2"
    assert view.exchanges == (Exchange("listed"), Exchange("failed"))
    assert view.tools == {"run"}


def test_words_beside_a_result_are_a_new_request():
    closing = [result(1, "There is no result of this call."), {"type": "text", "text": "What is in this model?"}]

    view = read(ask(HEADERS, body(messages=messages(("user", "Renumber"), ("assistant", call(1)), ("user", closing)))))

    assert view.request == "What is in this model?"
    assert view.exchanges == ()


def test_a_request_that_forbids_calls_offers_no_tools():
    assert read(ask(HEADERS, body(tool_choice={"type": "none"}))).tools == frozenset()


def marked(text: str, ttl: str = "5m") -> list[dict[str, Any]]:
    return [{"type": "text", "text": text, "cache_control": {"type": "ephemeral", "ttl": ttl}}]


def test_a_marked_prefix_is_written_once_and_read_afterwards():
    cache, system = PromptCache(), marked("s" * 8_000, "1h")
    first = ask(HEADERS, body(system=system, messages=messages(("user", marked("u" * 400)))))
    grown = messages(("user", "u" * 400), ("assistant", "a" * 400), ("user", marked("v" * 400)))
    second = ask(HEADERS, body(system=system, messages=grown))

    before, after = cache.account(first.segments), cache.account(second.segments)

    assert before.read == 0
    assert before.written["1h"] >= 2_000
    assert before.written["5m"] == 100
    assert after.read == sum(before.written.values())
    assert after.written == {"5m": 200, "1h": 0}
    assert after.uncached == 0


def test_a_rewritten_message_is_not_read_from_the_cache():
    cache, system = PromptCache(), marked("s" * 8_000)
    first = ask(HEADERS, body(system=system, messages=messages(("user", marked("u" * 400)))))
    rewritten = ask(HEADERS, body(system=system, messages=messages(("user", marked("w" * 400)))))
    written = cache.account(first.segments).written["5m"]

    after = cache.account(rewritten.segments)

    assert after.read == written - 100
    assert after.written["5m"] == 100


def test_a_short_prefix_is_not_cached():
    asked = ask(HEADERS, body(system=marked("s" * 4 * (MIN_CACHED_TOKENS - 200))))
    cache = PromptCache()

    twice = [cache.account(asked.segments) for _ in range(2)]

    assert [(each.read, sum(each.written.values())) for each in twice] == [(0, 0), (0, 0)]
    assert twice[0].uncached == asked.segments[-1].tokens


def test_the_requests_own_mark_stands_on_its_last_block():
    asked = ask(HEADERS, body(system="s" * 8_000, cache_control={"type": "ephemeral"}))

    assert [segment.mark for segment in asked.segments] == [None, None, "5m"]


@given(st.text())
def test_pieces_add_up_to_the_text(text: str):
    assert "".join(word_pieces(text)) == text
    assert "".join(even_pieces(text, 12)) == text
