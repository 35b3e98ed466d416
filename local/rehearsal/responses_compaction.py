"""OpenAI Responses: the vendor's own compaction.

A request that has outgrown its threshold is summed up first; the answer begins with an item that holds the summary,
encrypted, and goes on from there. In later requests the newest such item stands for all that came before it. What is
encrypted here can be read by anyone; it is bound to the item's id, and its key is no secret.
"""

from __future__ import annotations

import base64
import hashlib
import hmac
import json
from collections.abc import Sequence

from local.rehearsal.openai_request import Denied
from local.rehearsal.responses_request import Compaction, Item, Request
from local.rehearsal.wire import MODEL

KEY = b"rehearsal, no secret"
HEAD = b"\x80\x00\x00\x00\x00"
CODE_BYTES = hashlib.sha256().digest_size


def sealed(identifier: str, summary: str) -> Compaction:
    """The item with this summary, as the model makes it."""
    told = json.dumps([identifier, summary]).encode()
    encrypted = base64.urlsafe_b64encode(HEAD + _code(told) + told).decode()
    return Compaction(type="compaction", id=identifier, encrypted_content=encrypted)


def _code(told: bytes) -> bytes:
    return hmac.digest(KEY, MODEL.encode() + b"\0" + told, "sha256")


def summary_of(item: Compaction) -> str | None:
    """The summary in an item; None where this model can't read it, or not under this id."""
    try:
        raw = base64.b64decode(item.encrypted_content, altchars=b"-_", validate=True)
        told = raw[len(HEAD) + CODE_BYTES :]
        identifier, summary = json.loads(told)
    except ValueError:  # not base64, not JSON, or not two values
        return None
    made = raw == HEAD + _code(told) + told and item.id in (None, identifier)
    return summary if made else None


def compaction_problem(items: Sequence[Item]) -> Denied | None:
    for item in items:
        if isinstance(item, Compaction) and summary_of(item) is None:
            shown = f"{item.encrypted_content[:4]}...{item.encrypted_content[-4:]}"
            which = shown if item.id is None else f"for item {item.id}"
            reason = "Encrypted content could not be decrypted or parsed."
            message = f"The encrypted content {which} could not be verified. Reason: {reason}"
            return Denied(message, "invalid_encrypted_content")
    return None


def since_compaction(request: Request) -> Request:
    """What the model reads: the newest compaction, and what follows it."""
    for number in range(len(request.input) - 1, 0, -1):
        if isinstance(request.input[number], Compaction):
            return request.model_copy(update={"input": request.input[number:]})
    return request


def threshold_of(request: Request) -> int | None:
    """Tokens from which on the request is compacted; None where that was not asked for."""
    return request.context_management[0].compact_threshold if request.context_management else None
