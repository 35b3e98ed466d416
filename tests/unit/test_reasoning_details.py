"""OpenRouter's `reasoning_details`: blocks that must come back whole, put together from their pieces."""

import json
from typing import Any

from drafthand.replay import Replayed, replay
from drafthand.transcript import Text, Thinking, Turn
from drafthand.vendors.chat_completions_pieces import DETAILS


def chunk(delta: Any, finish: str | None = None) -> dict[str, Any]:
    return {"object": "chat.completion.chunk", "choices": [{"index": 0, "delta": delta, "finish_reason": finish}]}


async def play(*chunks: dict[str, Any]) -> Replayed:
    return await replay("chat_completions", "".join(f"data: {json.dumps(each)}\n\n" for each in chunks).encode())


STOP = chunk({}, "stop")
TEXT = {"type": "reasoning.text", "format": "anthropic-claude-v1", "index": 0}
SECRET = {"type": "reasoning.encrypted", "format": "openai-responses-v1", "index": 0, "id": "rs_1", "data": "gAAA"}


def details(*blocks: Any, **delta: Any) -> Any:
    return chunk({"reasoning_details": list(blocks)} | delta)


def kept(turn: Turn) -> list[tuple[str, list[dict[str, Any]]]]:
    """Text and blocks of every thinking that holds blocks."""
    thoughts = [part for part in turn.parts if isinstance(part, Thinking) and part.opaque]
    return [(part.text, json.loads(part.opaque.data)) for part in thoughts if part.opaque.kind == DETAILS]


async def test_pieces_of_a_signed_block_are_put_together_and_shown_once() -> None:
    replayed = await play(
        details(TEXT | {"text": "", "signature": ""}),
        details(TEXT | {"text": "So "}, reasoning="So "),
        details(TEXT | {"text": "ho"}, reasoning="ho"),
        details(TEXT | {"signature": "c2ln"}),
        chunk({"content": "One"}),
        STOP,
    )

    assert kept(replayed.turn) == [("So ho", [TEXT | {"text": "So ho", "signature": "c2ln"}])]
    assert [type(part) for part in replayed.turn.parts] == [Thinking, Text]


async def test_blocks_stay_apart_though_all_have_the_same_index() -> None:
    summary = {"type": "reasoning.summary", "index": 0}
    replayed = await play(
        details(TEXT | {"text": "a"}, TEXT | {"signature": "s1"}),
        details(TEXT | {"text": "b"}, TEXT | {"signature": "s2"}),
        details(summary | {"summary": "c"}),
        details(summary | {"summary": "d"}),
        details(SECRET, SECRET | {"id": "rs_2"}),
        chunk({"content": "One"}),
        STOP,
    )

    ((shown, blocks),) = kept(replayed.turn)
    assert shown == "abcd"
    assert blocks == [
        TEXT | {"text": "a", "signature": "s1"},
        TEXT | {"text": "b", "signature": "s2"},
        summary | {"summary": "cd"},
        SECRET,
        SECRET | {"id": "rs_2"},
    ]


async def test_encrypted_reasoning_is_kept_though_there_is_nothing_to_show() -> None:
    replayed = await play(chunk({"content": "One "}), details(SECRET), chunk({"content": "two"}), STOP)

    assert kept(replayed.turn) == [("", [SECRET])]
    assert replayed.turn.parts[1:] == [Text(text="One two")]
    assert [item.type for item in replayed.chunks] == ["Message", "Message"]


async def test_blocks_that_the_limit_cut_are_not_kept() -> None:
    inside = await play(details(TEXT | {"text": "So"}), chunk({}, "length"))
    behind = await play(details(TEXT | {"text": "So", "signature": "s"}), chunk({"content": "One"}, "length"))

    assert kept(inside.turn) == []
    assert kept(behind.turn) == [("So", [TEXT | {"text": "So", "signature": "s"}])]
