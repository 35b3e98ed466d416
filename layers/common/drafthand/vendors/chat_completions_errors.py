"""Dialect `chat_completions`: what its servers report, as VendorError.

Rules of these servers that shape the code:
1. An error is {message, type, code, ...}, bare text, {detail} or {errors}; in mid-stream its code may be a status.
2. A gateway's own message says little; what its provider said stands in `metadata.raw`.
3. No two call a prompt that is too long the same.
"""

from __future__ import annotations

import re
from collections.abc import Mapping

import openai

from drafthand.errors import VendorError
from drafthand.vendors.refusals import STATUSES, code_of, refusal, retry_after_s, status_in, told, told_s, unreachable

CODES = {
    "invalid_api_key": "auth",
    "authentication_error": "auth",
    "rate_limit_exceeded": "rate_limited",
    "rate_limit_error": "rate_limited",
    "insufficient_quota": "rate_limited",
    "server_error": "unavailable",
    "server_is_overloaded": "overloaded",
    "overloaded_error": "overloaded",
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


def sdk_error(vendor: str, error: openai.APIError, begun: bool) -> VendorError:
    """What the SDK raised. `begun`: the answer had begun to stream."""
    if isinstance(error, openai.APIConnectionError):
        return unreachable(vendor, error.message, begun=begun)
    if isinstance(error, openai.APIStatusError):
        report = error.body or error.message
        return reported(vendor, report, error.status_code, retry_after_s(error.response.headers))
    return reported(vendor, error.body or error.message)


def reported(vendor: str, report: object, status: int | None = None, wait_s: float | None = None) -> VendorError:
    """What the vendor told, in whatever shape. `status`: of the response; None in mid-stream."""
    message, words = _message(report), _words(report)
    status = status or status_in(*words)
    code = _code(message, words, status)
    spent = "insufficient_quota" in words
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


def _words(report: object) -> list[str]:
    """The vendor's code, type and status, whichever there are."""
    fields = (report.get(name) for name in ("code", "type", "status_code")) if isinstance(report, Mapping) else ()
    return [str(value) for value in fields if value is not None]


def _message(report: object) -> str:
    message = told(report)
    metadata = report.get("metadata") if isinstance(report, Mapping) else None
    raw = metadata.get("raw") if isinstance(metadata, Mapping) else None
    return f"{message}: {told(raw)}" if raw else message


def error_in(event: Mapping[str, object]) -> object:
    """The error that an event is instead of a piece of the answer; None where it is none."""
    if event.get("object") == "error":  # Mistral
        return event
    error = event.get("error")
    if error is not None:
        return error or event
    return (
        event if not event.get("choices") and any(event.get(name) for name in ("message", "detail", "errors")) else None
    )
