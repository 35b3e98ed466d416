"""Dialect `chat_completions`: what its servers report, as VendorError.

Rules of these servers that shape the code:
1. An error is {message, type, code, ...}, bare text, or {detail}; in mid-stream its code may be an HTTP status.
2. A gateway's own message says little; what its provider said stands in `metadata.raw`.
3. No two call a prompt that is too long the same.
"""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from typing import Any

import openai

from drafthand.errors import VendorError
from drafthand.vendors.hygiene import clean
from drafthand.vendors.refusals import STATUSES, code_of, refusal, retry_after_s, told_s, unreachable

CODES = {
    "invalid_api_key": "auth",
    "rate_limit_exceeded": "rate_limited",
    "insufficient_quota": "rate_limited",
    "server_error": "unavailable",
    "server_is_overloaded": "overloaded",
    "context_length_exceeded": "context_full",
    "exceed_context_size_error": "context_full",
    "content_filter": "refused",
    "tool_use_failed": "broken_stream",
    "invalid_request_error": "invalid_request",
}
"""By the vendor's code or type. tool_use_failed (Groq): the model wrote a call that can't be read; it may do better."""
TOO_LONG = re.compile(
    r"context (window|length|size)|(context|prompt|input) length|prompt (is )?too long|input is too long"
    r"|reduce (the length of the messages|your message size)|input token count|exceeded model token limit",
    re.IGNORECASE,
)
"""Words of OpenAI, xAI, Groq, Mistral, Gemini, OpenRouter, Together, vLLM, llama.cpp, LM Studio, Ollama, Kimi."""
OUT_OF_MONEY = re.compile(r"insufficient_quota|insufficient (balance|credits)", re.IGNORECASE)
SHOWN_CHARS = 600


def sdk_error(vendor: str, error: openai.APIError, begun: bool) -> VendorError:
    """What the SDK raised. `begun`: the answer had begun to stream."""
    if isinstance(error, openai.APIConnectionError):
        return unreachable(vendor, error.message, begun=begun)
    if isinstance(error, openai.APIStatusError):
        told = error.body or error.message
        return reported(vendor, told, error.status_code, retry_after_s(error.response.headers))
    return reported(vendor, error.body or error.message)


def reported(vendor: str, told: object, status: int | None = None, wait_s: float | None = None) -> VendorError:
    """What the vendor told, in whatever shape. `status`: of the response; None in mid-stream."""
    message, words = _message(told), _words(told)
    numbers = [int(word) for word in words if re.fullmatch(r"[45]\d\d", word)]
    code = _code(message, words, status or next(iter(numbers), None))
    spent = status == 402 or any(OUT_OF_MONEY.search(word) for word in (message, *words))
    wait_s = told_s(message) if wait_s is None else wait_s
    return refusal(vendor, code, message, status=status, retry_after_s=wait_s, hopeless=spent)


def _code(message: str, words: list[str], status: int | None) -> str:
    """Told by the vendor's own words first: statuses mean something else at each."""
    if status != 429 and TOO_LONG.search(message):
        return "context_full"
    if status == 403 and re.search(r"moderation|flagged", message):
        return "refused"
    known = [CODES[word] for word in words if word in CODES]
    named = next((code for code in known if code != "invalid_request"), None)
    if named is not None:
        return named
    if known and status not in STATUSES:
        return "invalid_request"
    return code_of(status or 200)


def _words(told: object) -> list[str]:
    """The vendor's code, type and status, whichever there are."""
    fields = (told.get(name) for name in ("code", "type", "status_code")) if isinstance(told, Mapping) else ()
    return [str(value) for value in fields if value is not None]


def _message(told: object) -> str:
    if not isinstance(told, Mapping):
        return _short(told) or "no reason given"
    message = _short(told.get("message") or told.get("detail") or "no reason given")
    raw = _mapping(told.get("metadata")).get("raw")
    return f"{message}: {_short(raw)}" if raw else message


def _mapping(value: Any) -> Mapping[str, Any]:
    return value if isinstance(value, Mapping) else {}


def _short(value: object) -> str:
    text = clean(value if isinstance(value, str) else json.dumps(value, ensure_ascii=False))
    return text if len(text) <= SHOWN_CHARS else f"{text[:SHOWN_CHARS]}…"
