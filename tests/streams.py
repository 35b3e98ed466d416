"""Streams written by hand, in each vendor's dialect: the events of one answer, of which a test may spoil any."""

from __future__ import annotations

import json
from dataclasses import dataclass
from typing import Any

Event = dict[str, Any]
TOOL = "execute_data_collection"


@dataclass(frozen=True)
class Answer:
    """One answer in one dialect, as the bytes of its events.

    `prose` and `call` hold one event or more for each piece; `closing` ends the call's block, and is not sent where
    the call was cut off; `end` is what ends the turn.
    """

    head: list[bytes]
    prose: list[bytes]
    opening: list[bytes]
    call: list[bytes]
    closing: list[bytes]
    end: list[bytes]
    overloaded: bytes
    garbage: bytes

    @property
    def whole(self) -> list[bytes]:
        return [*self.head, *self.prose, *self.opening, *self.call, *self.closing, *self.end]


def answer(dialect: str, prose: list[str], call: list[str] | None = None, *, cut: bool = False) -> Answer:
    """An answer of prose and, where given, a call whose JSON comes in these pieces. `cut`: by the output limit."""
    return WRITERS[dialect](prose, call, cut)


def _frame(event: Event) -> bytes:
    name = f"event: {event['type']}\n" if "type" in event else ""
    return f"{name}data: {json.dumps(event, ensure_ascii=False)}\n\n".encode()


def _frames(*events: Event) -> list[bytes]:
    return [_frame(event) for event in events]


# -- Anthropic Messages -----------------------------------------------------------------------------------------------


def _anthropic(prose: list[str], call: list[str] | None, cut: bool) -> Answer:
    """A call that the limit cuts off is never closed."""
    message = {"id": "msg_1", "type": "message", "role": "assistant", "content": [], "model": "m"}
    message |= {"stop_reason": None, "stop_sequence": None, "usage": {"input_tokens": 7, "output_tokens": 1}}
    opened = {"type": "content_block_start", "index": 1}
    tool = {"type": "tool_use", "id": "toolu_1", "name": TOOL, "input": {}}
    stop = "max_tokens" if cut else "end_turn" if call is None else "tool_use"
    delta = {"type": "message_delta", "delta": {"stop_reason": stop}, "usage": {"output_tokens": 20}}

    def text(piece: str) -> Event:
        return {"type": "content_block_delta", "index": 0, "delta": {"type": "text_delta", "text": piece}}

    def arguments(piece: str) -> Event:
        return {"type": "content_block_delta", "index": 1, "delta": {"type": "input_json_delta", "partial_json": piece}}

    block = {"type": "text", "text": ""}
    closed = _frames({"type": "content_block_stop", "index": 0})
    return Answer(
        head=_frames(
            {"type": "message_start", "message": message},
            {"type": "content_block_start", "index": 0, "content_block": block},
        ),
        prose=_frames(*map(text, prose)),
        opening=closed + ([] if call is None else _frames(opened | {"content_block": tool})),
        call=_frames(*map(arguments, call or [])),
        closing=[] if call is None or cut else _frames({"type": "content_block_stop", "index": 1}),
        end=_frames(delta, {"type": "message_stop"}),
        overloaded=_frame({"type": "error", "error": {"type": "overloaded_error", "message": "Overloaded"}}),
        garbage=b'event: content_block_delta\ndata: {"type": "content_block_delta", "ind\n\n',
    )


# -- OpenAI Responses -------------------------------------------------------------------------------------------------


def _responses(prose: list[str], call: list[str] | None, cut: bool) -> Answer:
    usage = {"input_tokens": 7, "output_tokens": 20, "total_tokens": 27}
    response = {"id": "resp_1", "object": "response", "model": "m", "output": []}
    told: Event = {"type": "message", "id": "msg_1", "role": "assistant", "status": "in_progress", "content": []}
    said = {"type": "output_text", "text": "".join(prose), "annotations": []}
    item: Event = {"type": "function_call", "id": "fc_1", "call_id": "call_1", "name": TOOL, "arguments": ""}
    written = item | {"arguments": "".join(call or []), "status": "incomplete" if cut else "completed"}
    place = {"output_index": 1, "item_id": "fc_1"}
    status = "incomplete" if cut else "completed"
    details = {"incomplete_details": {"reason": "max_output_tokens"}} if cut else {}
    over = response | {"status": status, "usage": usage} | details
    done: Event = {"type": "response.output_item.done", "output_index": 0}
    return Answer(
        head=_frames(
            {"type": "response.created", "response": response | {"status": "in_progress"}},
            {"type": "response.output_item.added", "output_index": 0, "item": told},
        ),
        prose=_frames(
            *(
                {"type": "response.output_text.delta", "output_index": 0, "item_id": "msg_1", "delta": piece}
                for piece in prose
            )
        ),
        opening=_frames(done | {"item": told | {"status": "completed", "content": [said]}})
        + ([] if call is None else _frames({"type": "response.output_item.added", "output_index": 1, "item": item})),
        call=_frames(
            *({"type": "response.function_call_arguments.delta", "delta": piece} | place for piece in call or [])
        ),
        closing=[] if call is None else _frames(done | {"output_index": 1, "item": written}),
        end=_frames({"type": f"response.{status}", "response": over}),
        overloaded=_frame({"type": "error", "code": "server_is_overloaded", "message": "Overloaded", "param": None}),
        garbage=b'event: response.output_text.delta\ndata: {"type": "response.output_text.de\n\n',
    )


# -- Gemini -----------------------------------------------------------------------------------------------------------


def _gemini(prose: list[str], call: list[str] | None, cut: bool) -> Answer:
    """The vendor sends a call whole, so its pieces come as one; half of one comes only where argument streaming is on,
    and then as pieces of one string."""

    def chunk(parts: list[Event], **facts: Any) -> bytes:
        candidate = {"content": {"role": "model", "parts": parts}, "index": 0} | facts
        return f"data: {json.dumps({'candidates': [candidate]}, ensure_ascii=False)}\r\n\r\n".encode()

    written = "".join(call or [])
    try:
        parts = [{"functionCall": {"name": TOOL, "args": json.loads(written or "{}")}}]
    except ValueError:
        partial = {"jsonPath": "$.code", "stringValue": "print(", "willContinue": True}
        parts = [{"functionCall": {"name": TOOL, "partialArgs": [partial], "willContinue": True}}]
    usage = {"promptTokenCount": 7, "candidatesTokenCount": 20}
    last = {"candidates": [{"finishReason": "MAX_TOKENS" if cut else "STOP", "index": 0}], "usageMetadata": usage}
    error = {"error": {"code": 503, "message": "The model is overloaded.", "status": "UNAVAILABLE"}}
    return Answer(
        head=[],
        prose=[chunk([{"text": piece}]) for piece in prose],
        opening=[],
        call=[] if call is None else [chunk(parts)],
        closing=[],
        end=[f"data: {json.dumps(last)}\r\n\r\n".encode()],
        overloaded=json.dumps(error, indent=2).encode(),
        garbage=b'data: {"candidates": [{"content": {"par\r\n\r\n',
    )


# -- chat completions -------------------------------------------------------------------------------------------------


def _chat(prose: list[str], call: list[str] | None, cut: bool) -> Answer:
    def chunk(delta: Event, finish: str | None = None) -> Event:
        choices = [{"index": 0, "delta": delta, "finish_reason": finish}]
        return {"id": "c_1", "object": "chat.completion.chunk", "created": 1, "model": "m", "choices": choices}

    opening = {"index": 0, "id": "call_1", "type": "function", "function": {"name": TOOL, "arguments": ""}}
    stop = "length" if cut else "stop" if call is None else "tool_calls"
    usage = {"prompt_tokens": 7, "completion_tokens": 20, "total_tokens": 27}
    error = {"message": "Overloaded", "type": "server_error", "code": "server_is_overloaded"}
    return Answer(
        head=_frames(chunk({"role": "assistant", "content": ""})),
        prose=_frames(*(chunk({"content": piece}) for piece in prose)),
        opening=[] if call is None else _frames(chunk({"tool_calls": [opening]})),
        call=_frames(
            *(chunk({"tool_calls": [{"index": 0, "function": {"arguments": piece}}]}) for piece in call or [])
        ),
        closing=[],
        end=[*_frames(chunk({}, stop), chunk({}) | {"choices": [], "usage": usage}), b"data: [DONE]\n\n"],
        overloaded=_frame({"error": error}),
        garbage=b'data: {"id": "c_1", "object": "chat.comp\n\n',
    )


WRITERS = {
    "anthropic_messages": _anthropic,
    "openai_responses": _responses,
    "gemini": _gemini,
    "chat_completions": _chat,
}
