"""What the recordings don't hold: calls told apart in every way there is, cuts by a limit, servers that hang."""

import asyncio
import itertools
import json
from collections.abc import AsyncIterator
from typing import Any

import httpx2
import pytest
from drafthand.model import ModelSpec, TurnSettings
from drafthand.replay import Replayed, replay
from drafthand.transcript import Message, Opaque, Text, Thinking, Turn
from drafthand.vendors import chat_completions
from drafthand.vendors.access import Access
from drafthand.vendors.chat_completions import ChatCompletionsClient
from hypothesis import given
from hypothesis import strategies as st

Event = dict[str, Any]


def chunk(delta: Any = None, finish: str | None = None, **facts: Any) -> Event:
    return {
        "object": "chat.completion.chunk",
        "choices": [{"index": 0, "delta": delta, "finish_reason": finish}],
    } | facts


def call(arguments: Any = None, name: str | None = None, **facts: Any) -> Event:
    """A piece of a call; `facts`: its index and id."""
    return {"type": "function", "function": {"name": name, "arguments": arguments}} | facts


def calls(*pieces: Event) -> Event:
    return chunk({"tool_calls": list(pieces)})


STOP, TOOLS, LENGTH = (chunk({}, finish) for finish in ("stop", "tool_calls", "length"))


async def play(*events: Event, done: bool = True) -> Replayed:
    body = "".join(f"data: {json.dumps(event)}\n\n" for event in events) + ("data: [DONE]\n\n" if done else "")
    return await replay("chat_completions", body.encode())


async def played_calls(*events: Event) -> list[tuple[str | None, str, Any]]:
    replayed = await play(*events)
    assert replayed.error is None
    for each in replayed.turn.tool_calls:
        shown = (piece.content for piece in replayed.chunks if piece.metadata.get("call_id") == each.id)
        assert "".join(shown) == each.raw
    return [(each.vendor_id, each.name, each.input) for each in replayed.turn.tool_calls]


# -- calls ------------------------------------------------------------------------------------------------------------


async def test_pieces_are_told_apart_by_index_though_they_alternate() -> None:
    found = await played_calls(
        calls(call("", "one", index=0, id="a"), call("", "two", index=1, id="b")),
        calls(call('{"x"', index=1), call('{"y"', index=0)),
        calls(call(":1}", index=0), call(":2}", index=1)),
        TOOLS,
    )

    assert found == [("a", "one", {"y": 1}), ("b", "two", {"x": 2})]


async def test_without_an_index_the_id_tells_and_a_piece_without_either_belongs_to_the_last() -> None:
    found = await played_calls(
        calls(call('{"x":', "one", id="a")),
        calls(call('{"y":', "two", id="b")),
        calls(call("1}", id="a")),
        calls(call("2}", id="b")),
        calls(call('{"z":', "three", id="c")),
        calls(call("3}", name="", id="")),
        TOOLS,
    )

    assert found == [("a", "one", {"x": 1}), ("b", "two", {"y": 2}), ("c", "three", {"z": 3})]


async def test_with_neither_the_place_tells() -> None:
    found = await played_calls(calls(call('{"x":', "one"), call('{"y":', "two")), calls(call("1}"), call("2}")), TOOLS)

    assert found == [(None, "one", {"x": 1}), (None, "two", {"y": 2})]


async def test_whole_calls_one_after_another_without_index_and_id_are_several() -> None:
    assert await played_calls(calls(call('{"x":1}', "one")), calls(call('{"x":2}', "one")), TOOLS) == [
        (None, "one", {"x": 1}),
        (None, "one", {"x": 2}),
    ]


async def test_one_index_for_all_calls_is_told_by_another_id_and_name_behind_a_whole_call() -> None:
    found = await played_calls(
        calls(call('{"x":1}', "look", index=0, id="a")), calls(call('{"x":1}', "look", index=0, id="b")), STOP
    )

    assert found == [("a", "look", {"x": 1}), ("b", "look", {"x": 1})]


async def test_another_id_on_every_piece_is_still_one_call() -> None:
    found = await played_calls(
        calls(call("", "look", index=0, id="a")),
        calls(call('{"x"', index=0, id="b")),
        calls(call(":1}", index=0, id="c")),
        TOOLS,
    )

    assert found == [("a", "look", {"x": 1})]


async def test_name_and_id_with_every_piece_count_once_and_a_repeated_call_once() -> None:
    piece = {"index": 0, "id": "llm:0", "name": "look"}
    in_pieces = await played_calls(
        calls(call('{"x"', **piece)), calls(call(":1}", **piece)), calls(call("", **piece)), TOOLS
    )
    repeated = await played_calls(calls(call('{"x":1}', **piece)), calls(call('{"x":1}', **piece)), TOOLS)

    assert in_pieces == repeated == [("llm:0", "look", {"x": 1})]


async def test_two_calls_of_one_id_get_two_of_ours() -> None:
    replayed = await play(calls(call("{}", "one", index=0, id="same"), call("{}", "two", index=1, id="same")), TOOLS)

    assert [each.vendor_id for each in replayed.turn.tool_calls] == ["same", "same"]
    assert len({each.id for each in replayed.turn.tool_calls}) == 2


@pytest.mark.parametrize("arguments", [{"x": 1}, '{"x": 1}'])
async def test_arguments_may_be_an_object(arguments: Any) -> None:
    assert await played_calls(calls(call(arguments, "look", index=0, id="a")), TOOLS) == [("a", "look", {"x": 1})]


@pytest.mark.parametrize("arguments", [None, "", " "])
async def test_no_arguments_are_an_empty_input(arguments: Any) -> None:
    assert await played_calls(calls(call(arguments, "look", index=0)), TOOLS) == [(None, "look", {})]


async def test_a_call_is_announced_before_its_first_piece() -> None:
    replayed = await play(calls(call('{"x":1}', "look", index=0, id="a")), TOOLS)

    first, second = replayed.chunks
    assert (first.content, second.content) == ("", '{"x":1}')
    assert first.metadata == second.metadata == {"call_id": replayed.turn.tool_calls[0].id, "tool": "look"}
    assert replayed.turn.tool_calls[0].id.startswith("call_")


async def test_an_empty_list_of_calls_is_no_call_whatever_the_stop_word_says() -> None:
    replayed = await play(chunk({"content": "Hi", "tool_calls": []}), TOOLS)

    assert (replayed.turn.tool_calls, replayed.turn.stop) == ([], "end")


# -- cuts -------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(("finish", "stop"), [("length", "max_tokens"), ("content_filter", "refusal")])
async def test_no_call_of_an_answer_that_was_cut_has_an_input_though_it_is_json_by_chance(
    finish: str, stop: str
) -> None:
    replayed = await play(
        calls(call('{"x":1}', "one", index=0)), calls(call('{"y":1}', "two", index=1)), chunk({}, finish)
    )

    assert replayed.turn.stop == stop
    assert [each.input for each in replayed.turn.tool_calls] == [None, None]


async def test_of_two_calls_open_at_a_cut_neither_has_input() -> None:
    replayed = await play(calls(call("", "one", index=0), call('{"y', "two", index=1)), LENGTH)

    assert [each.input for each in replayed.turn.tool_calls] == [None, None]


async def test_a_call_without_text_is_none_where_only_done_ends_the_stream() -> None:
    replayed = await play(calls(call("{}", "one", index=0), call("", "two", index=1)))

    assert replayed.turn.stop == "tool_calls"
    assert [each.input for each in replayed.turn.tool_calls] == [{}, None]


async def test_without_finish_reason_and_done_the_stream_is_broken() -> None:
    replayed = await play(chunk({"content": "Hi"}, ""), done=False)

    assert replayed.error is not None
    assert (replayed.error.code, replayed.error.retryable) == ("broken_stream", True)


async def test_a_done_that_is_text_of_the_answer_ends_nothing() -> None:
    replayed = await play(chunk({"content": "[DONE]"}), done=False)

    assert replayed.error is not None


@pytest.mark.parametrize(
    ("finish", "stop"), [("model_length", "context_full"), ("sensitive", "refusal"), ("function_call", "end")]
)
async def test_stop_words_become_ours(finish: str, stop: str) -> None:
    assert (await play(chunk({"content": "Hi"}, finish))).turn.stop == stop


# -- prose ------------------------------------------------------------------------------------------------------------


async def test_thinking_is_marked_as_this_models_own_and_parts_keep_their_order() -> None:
    replayed = await play(
        chunk({"reasoning_content": "Hm", "reasoning": "Hm"}),
        chunk({"content": "One"}),
        chunk({"content": [{"type": "thinking", "thinking": "So"}]}),
        chunk({"content": [{"type": "thinking", "thinking": "ho"}, {"type": "text", "text": "Two"}]}),
        STOP,
    )

    own = Opaque(vendor="replayed", model="replayed", kind="reasoning", data="")
    assert replayed.turn.parts == [
        Thinking(text="Hm", opaque=own),
        Text(text="One"),
        Thinking(text="Soho", opaque=own),
        Text(text="Two"),
    ]


async def test_a_refusal_is_prose_and_the_stop_says_so() -> None:
    replayed = await play(chunk({"content": None, "refusal": "I can't."}), STOP)

    assert (replayed.turn.text, replayed.turn.stop) == ("I can't.", "refusal")


async def test_preludes_and_pieces_that_say_nothing_are_passed_over() -> None:
    replayed = await play(
        {"object": "", "choices": []},
        {"choices": None},
        chunk(None),
        chunk({"content": ""}),
        chunk({"content": "Hi"}),
        STOP,
    )

    assert [piece.content for piece in replayed.chunks] == ["Hi"]
    assert replayed.turn.stop == "end"


async def test_the_halves_of_a_pair_are_joined_and_a_lone_one_replaced() -> None:
    replayed = await play(
        chunk({"content": "a\ud83d"}),
        chunk({"content": "\ude00b\ud83d"}),
        calls(call(r'{"code": "\ud800"}', "run", index=0)),
        TOOLS,
    )

    assert replayed.turn.text == "a\U0001f600b\ufffd"
    assert replayed.turn.tool_calls[0].input == {"code": "\ufffd"}


@given(st.lists(st.text(st.characters(codec=None), max_size=4), max_size=6))
async def test_whatever_text_comes_can_be_encoded_and_what_is_shown_is_what_is_kept(pieces: list[str]) -> None:
    replayed = await play(*(chunk({"content": piece}) for piece in pieces), STOP)

    shown = "".join(piece.content for piece in replayed.chunks)
    assert shown == replayed.turn.text
    shown.encode()


@given(st.text(max_size=30), st.lists(st.integers(min_value=0, max_value=60), max_size=5), st.booleans())
async def test_a_call_cut_into_any_pieces_is_the_same_call(code: str, cuts: list[int], repeats: bool) -> None:
    whole = json.dumps({"code": code}, ensure_ascii=False)
    edges = [0, *sorted(min(cut, len(whole)) for cut in cuts), len(whole)]
    told = {"name": "run", "id": "a"} if repeats else {}
    pieces = [calls(call(whole[start:end], index=0, **told)) for start, end in itertools.pairwise(edges)]

    found = await played_calls(calls(call("", "run", index=0, id="a")), *pieces, TOOLS)

    assert found == [("a", "run", {"code": code})]


# -- usage ------------------------------------------------------------------------------------------------------------


async def test_the_last_usage_counts_and_a_missing_count_is_none() -> None:
    first, last = {"prompt_tokens": 9, "completion_tokens": None}, {"prompt_tokens": 9, "completion_tokens": 4}

    usage = (await play(chunk({"content": "a"}, usage=first), STOP, {"choices": [], "usage": last})).turn.usage

    assert (usage.input_uncached, usage.output, usage.reasoning) == (9, 4, 0)


@pytest.mark.parametrize(("total", "output"), [(130, 20), (0, 10), (120, 10)])
async def test_reasoning_beside_the_output_is_told_by_the_total(total: int, output: int) -> None:
    counts = {
        "prompt_tokens": 100,
        "completion_tokens": 20,
        "total_tokens": total,
        "prompt_tokens_details": {"cached_tokens": 60, "cache_write_tokens": 30},
        "completion_tokens_details": {"reasoning_tokens": 10},
    }

    usage = (await play(chunk({"content": "a"}, "stop"), {"choices": [], "usage": counts})).turn.usage

    assert (usage.input_uncached, usage.cache_read, usage.cache_write) == (10, 60, 30)
    assert (usage.output, usage.reasoning) == (output, 10)


# -- a stream that does not end ---------------------------------------------------------------------------------------


class Hangs(httpx2.AsyncByteStream):
    def __init__(self, *events: Event) -> None:
        self.body = "".join(f"data: {json.dumps(event)}\n\n" for event in events).encode()

    async def __aiter__(self) -> AsyncIterator[bytes]:
        yield self.body
        await asyncio.Event().wait()


async def test_a_server_that_says_nothing_more_behind_its_stop_word_is_not_waited_for(monkeypatch: Any) -> None:
    monkeypatch.setattr(chat_completions, "TAIL_S", 0.01)
    headers = {"content-type": "text/event-stream"}
    stream = Hangs(chunk({"content": "Hi"}), STOP)
    transport = httpx2.MockTransport(lambda request: httpx2.Response(200, headers=headers, stream=stream))
    turn = Turn(vendor="xai", model="m")
    settings = TurnSettings(ModelSpec(id="m", label="m", vendor="xai", dialect="chat_completions"), "system", 1000)
    asked = [Message(role="user", parts=(Text(text="hi"),))]
    async with httpx2.AsyncClient(transport=transport) as http_client:
        client = ChatCompletionsClient(Access("key"), http_client)
        async for _ in client.stream(asked, [], settings, turn):
            pass

    assert (turn.text, turn.stop) == ("Hi", "end")
