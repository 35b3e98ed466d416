"""Gemini: thought signatures.

The vendor signs the first call of each step, and the end of an answer. A signature is worth something only on its own
part and to the model that made it; anything else is "corrupted". The rehearsal's is an HMAC over just that. Its key is
no secret: it has to survive restarts, and it protects nothing.
"""

from __future__ import annotations

import base64
import hmac
import json
from typing import Any

from local.rehearsal.gemini_request import Part, decoded
from local.rehearsal.wire import MODEL

KEY = b"rehearsal, no secret"
SENTINELS = (b"skip_thought_signature_validator", b"context_engineering_is_the_way_to_go")
"""What the vendor documents for calls that it did not make."""


def sign_call(name: str, args: dict[str, Any]) -> str:
    return _sign("call", json.dumps([name, args], sort_keys=True, ensure_ascii=False))


def sign_text(text: str) -> str:
    return _sign("text", text)


def _sign(kind: str, content: str) -> str:
    message = "\0".join((MODEL, kind, content)).encode()
    return base64.b64encode(b"\x12" + hmac.digest(KEY, message, "sha256")).decode()


def is_ours(part: Part) -> bool:
    """Whether this model made the signature for this very part."""
    call = part.function_call
    wanted = sign_text(part.text or "") if call is None else sign_call(call.name, call.args)
    return decoded(part.thought_signature or "") == decoded(wanted)


def is_sentinel(part: Part) -> bool:
    return part.function_call is not None and decoded(part.thought_signature or "") in SENTINELS
