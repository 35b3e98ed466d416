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

import httpx2
import openai

from drafthand.errors import VendorError

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
STATUSES = {
    401: "auth",
    402: "rate_limited",
    403: "auth",
    408: "unavailable",
    409: "unavailable",
    413: "context_full",
    429: "rate_limited",
    498: "overloaded",
    503: "overloaded",
    529: "overloaded",
}
TOO_LONG = re.compile(
    r"context (window|length|size)|(context|prompt|input) length|prompt (is )?too long|input is too long"
    r"|reduce (the length of the messages|your message size)|input token count|exceeded model token limit",
    re.IGNORECASE,
)
"""Words of OpenAI, xAI, Groq, Mistral, Gemini, OpenRouter, Together, vLLM, llama.cpp, LM Studio, Ollama, Kimi."""
RETRYABLE = {"rate_limited", "overloaded", "unavailable", "broken_stream"}
OUT_OF_MONEY = re.compile(r"insufficient_quota|insufficient (balance|credits)", re.IGNORECASE)
SHOWN_CHARS = 600


def sdk_error(vendor: str, error: openai.APIError, begun: bool) -> VendorError:
    """What the SDK raised. `begun`: the answer had begun to stream."""
    if isinstance(error, openai.APIConnectionError):
        code = "broken_stream" if begun else "unavailable"
        return VendorError(vendor, code, f"The vendor can't be reached: {error.message}", retryable=True)
    if isinstance(error, openai.APIStatusError):
        told = error.body or error.message
        return reported(vendor, told, error.status_code, _retry_after_s(error.response.headers))
    return reported(vendor, error.body or error.message)


def reported(vendor: str, told: object, status: int | None = None, retry_after_s: float | None = None) -> VendorError:
    """What the vendor told, in whatever shape. `status`: of the response; None in mid-stream."""
    message, words = _message(told), _words(told)
    numbers = [int(word) for word in words if re.fullmatch(r"[45]\d\d", word)]
    code = _code(message, words, status or next(iter(numbers), None))
    if code == "auth":  # what the vendor writes may quote the key
        remedy = "Check what it may do" if status == 403 else "Check it and start again"
        return VendorError(vendor, code, f"The key {vendor.upper()}_API_KEY was refused. {remedy}.")
    spent = status == 402 or any(OUT_OF_MONEY.search(word) for word in (message, *words))
    waits = retry_after_s if retry_after_s is not None else _told_s(message)
    return VendorError(
        vendor,
        code,
        f"The vendor answered: {message}",
        retryable=code in RETRYABLE and not spent,
        retry_after_s=waits,
    )


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
    if status in STATUSES:
        return STATUSES[status]
    if known or (status is not None and 400 <= status < 500):
        return "invalid_request"
    return "unavailable"


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
    text = value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)
    return text if len(text) <= SHOWN_CHARS else f"{text[:SHOWN_CHARS]}…"


def _retry_after_s(headers: httpx2.Headers) -> float | None:
    for name, unit in (("retry-after-ms", 0.001), ("retry-after", 1.0)):
        if re.fullmatch(r"\d+(\.\d+)?", value := headers.get(name, "")):
            return float(value) * unit
    return None


def _told_s(message: str) -> float | None:
    """The wait, where only the text tells it: "Please try again in 1m26.4s." """
    found = re.search(r"try again in (?:(\d+)m)?(\d+(?:\.\d+)?) ?(ms|s)\b", message)
    if found is None:
        return None
    return 60.0 * int(found[1] or 0) + float(found[2]) * (0.001 if found[3] == "ms" else 1.0)
