"""`drafthand replay`: a recorded stream in, one JSON document out."""

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest
from drafthand.replay import replay
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.paths import ROOT

EVENTS = [
    {"type": "message_start", "message": {"usage": {"input_tokens": 7, "output_tokens": 1}}},
    {"type": "content_block_start", "index": 0, "content_block": {"type": "text", "text": ""}},
    {"type": "content_block_delta", "index": 0, "delta": {"type": "text_delta", "text": "Grüße 😀"}},
    {"type": "content_block_stop", "index": 0},
    {"type": "content_block_start", "index": 1, "content_block": {"type": "tool_use", "id": "toolu_1", "name": "t"}},
    {"type": "content_block_delta", "index": 1, "delta": {"type": "input_json_delta", "partial_json": '{"code": '}},
    {"type": "content_block_delta", "index": 1, "delta": {"type": "input_json_delta", "partial_json": '"1"}'}},
    {"type": "content_block_stop", "index": 1},
    {"type": "message_delta", "delta": {"stop_reason": "tool_use"}, "usage": {"output_tokens": 20}},
    {"type": "message_stop"},
]


def stream(events: list[dict[str, object]] = EVENTS) -> str:
    return "".join(f"event: {event['type']}\ndata: {json.dumps(event, ensure_ascii=False)}\n\n" for event in events)


def told(path: Path, *options: str) -> tuple[int, str]:
    command = [sys.executable, "-m", "clients.cli.main", "replay", "anthropic_messages", str(path), *options]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, timeout=60)
    return done.returncode, done.stdout


@pytest.mark.parametrize("wrapped", [False, True], ids=["raw text", "JSON document"])
def test_a_recording_becomes_one_document(tmp_path: Path, wrapped: bool) -> None:
    path = tmp_path / "recording"
    path.write_text(json.dumps({"body": stream(), "status": 200}) if wrapped else stream())

    code, out = told(path)

    document = json.loads(out)
    assert code == 0
    assert (document["text"], document["stop_reason"], document["error"]) == ("Grüße 😀", "tool_calls", None)
    (call,) = document["tool_calls"]
    assert (call["id"], call["name"], call["input"]) == ("toolu_1", "t", {"code": "1"})
    assert document["usage"] == {"input_uncached": 7, "cache_read": 0, "cache_write": 0, "output": 20, "reasoning": 0}


def test_a_recording_that_breaks_off_is_an_error_without_calls(tmp_path: Path) -> None:
    path = tmp_path / "recording"
    path.write_text(stream(EVENTS[:-1]))

    code, out = told(path)

    document = json.loads(out)
    assert code == 1
    assert (document["tool_calls"], document["error"]["code"]) == ([], "broken_stream")


def test_the_last_of_the_chunks_is_the_error(tmp_path: Path) -> None:
    path = tmp_path / "recording"
    path.write_text(stream(EVENTS[:4]))

    code, out = told(path, "--chunks")

    last = json.loads(out.splitlines()[-1])
    assert (code, last["type"], last["metadata"]["code"]) == (1, "Error", "broken_stream")


def test_an_odd_document_is_refused_in_one_line(tmp_path: Path) -> None:
    path = tmp_path / "recording"
    path.write_text(json.dumps({"body": 5}))
    command = [sys.executable, "-m", "clients.cli.main", "replay", "anthropic_messages", str(path)]

    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, timeout=60)

    assert done.returncode == 2
    assert done.stderr.splitlines()[-1].endswith("can't be replayed: its body is not a text")
    assert "Traceback" not in done.stderr


def test_what_is_printed_is_utf_8_whatever_the_terminal(tmp_path: Path) -> None:
    path = tmp_path / "recording"
    path.write_text(stream(), encoding="utf-8")
    command = [sys.executable, "-m", "clients.cli.main", "replay", "anthropic_messages", str(path)]

    ascii_only = os.environ | {"LC_ALL": "C", "PYTHONUTF8": "0", "PYTHONIOENCODING": "ascii"}
    done = subprocess.run(command, cwd=ROOT, capture_output=True, timeout=60, env=ascii_only)

    assert json.loads(done.stdout.decode())["text"] == "Grüße 😀"


def test_chunks_are_printed_as_json_lines(tmp_path: Path) -> None:
    path = tmp_path / "recording"
    path.write_text(stream())

    _, out = told(path, "--chunks")

    kinds = [json.loads(line)["type"] for line in out.splitlines()]
    assert kinds == ["Message", "ToolInputDelta", "ToolInputDelta", "ToolInputDelta"]


@settings(max_examples=40, deadline=None)
@given(data=st.data())
async def test_a_stream_cut_anywhere_is_an_error_and_hands_on_no_call(data: st.DataObject) -> None:
    whole = stream().encode()
    cut = data.draw(st.integers(0, len(whole) - len('"type": "message_stop"}\n\n')))

    replayed = await replay("anthropic_messages", whole[:cut])

    assert replayed.error is not None
    assert replayed.error.code in ("broken_stream", "unavailable")
    assert replayed.turn.tool_calls == []
