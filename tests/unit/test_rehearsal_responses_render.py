"""A turn as the events of the Responses dialect, and a request as the walk sees it."""

from __future__ import annotations

import json
import math
from typing import Any

from hypothesis import given
from hypothesis import strategies as st

from local.rehearsal.responses import ask, numbered, read, whole
from local.rehearsal.responses_cache import InputTokens, PromptCache, segments_of
from local.rehearsal.responses_render import render
from local.rehearsal.script import Call
from local.rehearsal.walk import Exchange, Play
from local.rehearsal.wire import Event

HEADERS = {"authorization": "Bearer rehearsal"}
CODE = 'for door in doors:\n    print(f"{door.Tag} – «{door.Name}»")\n' * 4
PLAY = Play(
    script="doors",
    turn="renumber",
    say="I number the doors from left to right.",
    think="Two rows, north first.",
    call=Call(tool="run", input={"code": CODE, "summary": "Renumber.", "view": {"kind": "plan"}}),
)
PNG = (
    "data:image/png;base64,iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAAAAAA6fptVAAAACklEQVR4nGNgAAAAAgABSK+kcQAAAABJRU5ErkJggg=="
)


def body(*items: Any, **changes: Any) -> bytes:
    request = {
        "model": "rehearsal",
        "input": list(items) or "Renumber the doors",
        "tools": [{"type": "function", "name": "run", "parameters": {"type": "object"}}],
        "reasoning": {"summary": "auto"},
        "stream_options": {"include_obfuscation": False},
        "stream": True,
    }
    return json.dumps(request | changes).encode()


def events(play: Play = PLAY, **changes: Any) -> list[Event]:
    return list(numbered(render(play, ask(HEADERS, body(**changes)), InputTokens(10, 0, 0))))


def deltas(found: list[Event], kind: str) -> list[str]:
    return [event.data["delta"] for event in found if event.name == f"response.{kind}.delta"]


@given(st.integers(min_value=16, max_value=400))
def test_a_turn_never_exceeds_its_limit_and_is_a_true_beginning(limit: int) -> None:
    full, cut = events(), events(max_output_tokens=limit)

    spent, needed = (sum(event.tokens for event in found) for found in (cut, full))
    usage = whole(cut)["usage"]
    assert spent <= limit
    for kind in ("reasoning_summary_text", "output_text", "function_call_arguments"):
        assert "".join(deltas(full, kind)).startswith("".join(deltas(cut, kind)))
    if needed > limit:
        assert whole(cut)["incomplete_details"] == {"reason": "max_output_tokens"}
        assert usage["output_tokens"] == limit
    else:
        assert whole(cut)["status"] == "completed"
        assert usage["output_tokens"] == math.ceil(spent)


def test_the_response_holds_what_the_stream_added_up_to() -> None:
    found = events()

    reasoning, message, call = whole(found)["output"]
    assert reasoning["summary"] == [{"type": "summary_text", "text": PLAY.think}]
    assert message["content"][0]["text"] == "".join(deltas(found, "output_text")) == PLAY.say
    assert json.loads(call["arguments"]) == PLAY.call.input
    assert call["arguments"] == "".join(deltas(found, "function_call_arguments"))
    assert max(len(piece) for piece in deltas(found, "function_call_arguments")) == 12


def test_encrypted_content_is_half_there_when_its_item_is_added() -> None:
    found = events(include=["reasoning.encrypted_content"])

    added, done = (
        next(event.data["item"]["encrypted_content"] for event in found if event.name == f"response.output_item.{name}")
        for name in ("added", "done")
    )
    assert done.startswith(added)
    assert len(added) < len(done)
    assert done.startswith("gAAAAA")


def test_the_same_request_gets_the_same_ids_and_another_gets_others() -> None:
    def ids(found: list[Event]) -> list[str]:
        return [item["id"] for item in whole(found)["output"]]

    assert ids(events()) == ids(events())
    assert not set(ids(events())) & set(ids(events(instructions="Be brief.")))


def user(text: str) -> dict[str, Any]:
    return {"role": "user", "content": text}


def called(number: int, text: str) -> list[dict[str, Any]]:
    call = {"type": "function_call", "call_id": f"t{number}", "name": "run", "arguments": "{}"}
    return [call, {"type": "function_call_output", "call_id": f"t{number}", "output": text}]


def test_only_what_follows_the_newest_words_of_a_person_belongs_to_the_run() -> None:
    said = {"role": "assistant", "content": "I look."}
    items = [user("Level 1"), *called(1, "first run"), said, user("Level 2"), said, *called(2, "listed")]

    view = read(ask(HEADERS, body(*items, *called(3, "failed"))))

    assert view.request == "Level 2"
    assert view.exchanges == (Exchange("listed"), Exchange("failed"))
    assert view.tools == {"run"}


def test_a_picture_alone_is_no_new_request() -> None:
    picture = {"role": "user", "content": [{"type": "input_image", "image_url": PNG}]}

    view = read(ask(HEADERS, body(user("Level 2"), *called(1, "drawn"), picture)))

    assert (view.request, view.exchanges) == ("Level 2", (Exchange("drawn"),))


def test_a_request_that_forbids_calls_offers_no_tools_and_one_that_names_a_tool_offers_that() -> None:
    assert read(ask(HEADERS, body(tool_choice="none"))).tools == frozenset()
    assert read(ask(HEADERS, body(tool_choice={"type": "function", "name": "run"}))).tools == {"run"}


def test_a_prompt_is_written_once_and_read_afterwards_by_those_that_begin_with_it() -> None:
    cache = PromptCache()
    head, tail = user("u" * 8_000), called(1, "v" * 400)

    def account(*items: dict[str, Any], key: str | None = None) -> InputTokens:
        return cache.account(key, segments_of(ask(HEADERS, body(*items))))

    first, grown = account(head), account(head, *tail)
    rewritten, elsewhere = account(user("w" * 8_000), *tail), account(head, key="b")

    assert (first.read, first.written) == (0, first.total)
    assert (grown.read, grown.read + grown.written) == (first.total, grown.total)
    assert (rewritten.read, elsewhere.read) == (0, 0)
    assert account(user("short")).written == 0
