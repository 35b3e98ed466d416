"""OpenAI Chat Completions: tokens of a request, piece by piece, for the vendor's prompt cache.

The cache is the one of the Responses dialect: the vendor stores whole prompts, and reads the longest that it knows.
"""

from __future__ import annotations

import hashlib
import math

from local.rehearsal.chat_images import image_tokens
from local.rehearsal.chat_request import Assistant, ImagePart, Message, Request, texts_of
from local.rehearsal.responses_cache import Segment
from local.rehearsal.wire import tokens_of


def segments_of(request: Request) -> list[Segment]:
    """The prompt up to and with each message; the request's pictures must have passed `image_problem`."""
    head = request.model_dump_json(include={"tools"}, exclude_none=True)
    prefix, total = hashlib.sha256(head.encode()), tokens_of(head)
    segments = []
    for message in request.messages:
        prefix.update(message.model_dump_json(exclude={"annotations"}, exclude_none=True).encode() + b"\0")
        total += _tokens(message)
        segments.append(Segment(prefix.hexdigest(), math.ceil(total)))
    return segments


def _tokens(message: Message) -> float:
    calls = (message.tool_calls or ()) if isinstance(message, Assistant) else ()
    pictures = [part for part in message.content or () if isinstance(part, ImagePart)]
    return (
        sum(tokens_of(text) for text in texts_of(message))
        + sum(tokens_of(call.function.name + call.function.arguments) for call in calls)
        + sum(image_tokens(picture) for picture in pictures)
    )
