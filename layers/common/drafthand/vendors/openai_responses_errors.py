"""Dialect `openai_responses`: what the vendor reports, as VendorError.

An error has a code, which tells what it is also in mid-stream, where there is no HTTP status. Gateways leave it out,
or write an HTTP status there.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import openai

from drafthand.errors import VendorError
from drafthand.vendors.hygiene import text_of
from drafthand.vendors.refusals import (
    STATUSES,
    code_of,
    refusal,
    retry_after_s,
    status_in,
    told,
    told_s,
    unreachable,
)

CODES = {
    "invalid_api_key": "auth",
    "rate_limit_exceeded": "rate_limited",
    "insufficient_quota": "rate_limited",
    "server_is_overloaded": "overloaded",
    "slow_down": "overloaded",
    "server_error": "unavailable",
    "context_length_exceeded": "context_full",
    "invalid_prompt": "refused",
    "bio_policy": "refused",
    "cyber_policy": "refused",
    "misalignment_policy_violation": "refused",
    "image_content_policy_violation": "refused",
}
OURS = ("invalid_", "image_", "unsupported_", "empty_")
"""How the codes begin that blame the request."""
TOO_LONG = ("context window", "context length")
"""What gateways write that don't know the code."""


def sdk_error(vendor: str, error: openai.APIError, begun: bool) -> VendorError:
    """`begun`: the answer had begun to stream."""
    if isinstance(error, openai.APIConnectionError):
        return unreachable(vendor, error.message, begun=begun)
    message, reason = error.body or error.message, error.code or error.type
    if not isinstance(error, openai.APIStatusError):
        return _vendor_error(vendor, reason, message)
    wait_s = retry_after_s(error.response.headers)
    return _vendor_error(vendor, reason, message, error.status_code, wait_s)


def reported(vendor: str, where: Any) -> VendorError:
    """What an event tells of an error, or a response that has failed: fields of its own, or an object of them."""
    error = getattr(where, "error", None) or getattr(where, "last_error", None) or where
    fields = error if isinstance(error, Mapping) else vars(error) if hasattr(error, "__dict__") else {"message": error}
    extra = getattr(error, "model_extra", None) or {}
    fields = {**fields, **extra}
    return _vendor_error(vendor, fields.get("code") or fields.get("type"), fields.get("message"))


def _vendor_error(
    vendor: str, reason: object, message: object, status: int = 200, wait_s: float | None = None
) -> VendorError:
    """Told by the vendor's own reason first: in mid-stream there is no other."""
    reason, message = text_of(reason), told(message)
    status = status_in(reason) or status
    if any(words in message.lower() for words in TOO_LONG):
        code = "context_full"
    elif reason in CODES:
        code = CODES[reason]
    else:
        code = "invalid_request" if reason.startswith(OURS) and status not in STATUSES else code_of(status)
    wait_s = told_s(message) if wait_s is None else wait_s
    spent = reason == "insufficient_quota"
    return refusal(vendor, code, message, status=status, retry_after_s=wait_s, hopeless=spent)
