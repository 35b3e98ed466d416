"""What a vendor reports, as a VendorError: one wording, and one rule for what is worth asking again."""

from __future__ import annotations

import json
import re
import textwrap
from collections.abc import Mapping, Sequence
from datetime import UTC, datetime
from email.utils import parsedate_to_datetime

from drafthand.errors import VendorError
from drafthand.vendors.hygiene import clean, text_of

STATUSES = {
    401: "auth",
    402: "rate_limited",
    403: "auth",
    408: "unavailable",
    409: "unavailable",
    413: "context_full",
    429: "rate_limited",
    498: "overloaded",
    499: "unavailable",
    503: "overloaded",
    529: "overloaded",
}
"""What HTTP statuses mean where the vendor says nothing better. 402: no money; 498: Groq's word for no capacity."""
RETRYABLE = {"rate_limited", "overloaded", "unavailable", "broken_stream"}
WRONG_KEY = re.compile(
    r"\b(incorrect|invalid|wrong|bad|missing|expired|unknown) (x-)?api[ _-]?key|api[ _-]?key (is )?(not valid|invalid"
    r"|incorrect|expired|not found|missing)",
    re.IGNORECASE,
)
"""Some refuse a key with a status that says otherwise: xAI and Gemini with 400."""
OUT_OF_MONEY = re.compile(
    r"insufficient[ _](quota|balance|credits?|funds)|credit balance|out of credits|\bbilling\b|payment required",
    re.IGNORECASE,
)
NO_MONEY = "The account has no money or quota left; asking again won't help before that changes."
TEXTS = ("message", "detail", "error", "errors", "msg", "error_description", "title")
"""Where an error's text stands, in whatever shape it comes."""
SHOWN_CHARS = 500
HTML = re.compile(r"\s*<(!doctype|html|head|body|\?xml)", re.IGNORECASE)


def refusal(
    vendor: str,
    code: str,
    message: object,
    *,
    status: int | None = None,
    retry_after_s: float | None = None,
    hopeless: bool = False,
) -> VendorError:
    """The error that a vendor's report becomes.

    Args:
        code: one of VendorError's.
        message: the vendor's own text, or whatever stands where it should.
        status: of the HTTP response, where there was one.
        hopeless: asking again won't help, whatever the code: no money is left.
    """
    text = told(message)
    if code in ("invalid_request", "unavailable") and WRONG_KEY.search(text):
        code = "auth"
    if code == "auth":  # what the vendor writes may quote the key
        remedy = "Check what it may do" if status == 403 else "Check it and start again"
        return VendorError(vendor, code, f"The key {vendor.upper()}_API_KEY was refused. {remedy}.")
    # Gemini speaks of billing wherever a quota is used up; where it tells how long to wait, waiting helps.
    if hopeless or status == 402 or (retry_after_s is None and OUT_OF_MONEY.search(text)):
        return VendorError(vendor, "rate_limited", f"The vendor answered: {shown(text)} {NO_MONEY}")
    retryable = code in RETRYABLE
    return VendorError(
        vendor, code, f"The vendor answered: {shown(text)}", retryable=retryable, retry_after_s=retry_after_s
    )


def code_of(status: int) -> str:
    """VendorError's code for an HTTP status; 200 stands for an error in mid-stream, which has no other."""
    return STATUSES.get(status) or ("invalid_request" if 400 <= status < 500 else "unavailable")


def status_in(*words: object) -> int | None:
    """The HTTP status that stands as a number or text where a code should; None where there is none."""
    return next((int(word) for word in map(str, words) if re.fullmatch(r"[45]\d\d", word)), None)


def unreachable(vendor: str, message: str, *, begun: bool) -> VendorError:
    """No answer, or no more of it. `begun`: the answer had begun to stream."""
    code = "broken_stream" if begun else "unavailable"
    return VendorError(vendor, code, f"The vendor can't be reached: {shown(message)}", retryable=True)


def broken(vendor: str, message: str = "The model's answer broke off before its end.") -> VendorError:
    """An answer that can't be used, but may come out whole the next time."""
    return VendorError(vendor, "broken_stream", message, retryable=True)


# -- what it says -----------------------------------------------------------------------------------------------------


def told(report: object) -> str:
    """The text of a report in whatever shape: text, JSON text, an object that holds it, or a list of such."""
    if isinstance(report, str):
        inner = _parsed(report) if report.lstrip().startswith(("{", "[")) else report
        return clean(report) if isinstance(inner, str) else told(inner)
    if isinstance(report, Mapping):
        found = next((report[name] for name in TEXTS if report.get(name)), None)
        return told(found) if found else _written(report) if any(report.values()) else ""
    if isinstance(report, Sequence):
        return "; ".join(told(each) for each in report)
    return _written(report)


def _parsed(text: str) -> object:
    try:
        return json.loads(text) or text
    except (ValueError, RecursionError):
        return text


def _written(value: object) -> str:
    return clean(text_of(value)) if value else ""


def shown(text: str) -> str:
    """A vendor's text as a person may read it: one sentence, no page, at most 500 characters. It is cut between words,
    so that never a part of one (it may be a key) is left."""
    if HTML.match(text):
        text = "an HTML page"
    text = textwrap.shorten(text, SHOWN_CHARS, placeholder=" …").removeprefix("…") or "no reason given"
    return text if text.endswith((".", "!", "?")) else f"{text}."


# -- how long to wait -------------------------------------------------------------------------------------------------


def retry_after_s(headers: Mapping[str, str]) -> float | None:
    """The wait that a response's headers ask for, in seconds: as a number of them, or as the date when it ends."""
    for name, unit in (("retry-after-ms", 0.001), ("retry-after", 1.0)):
        if re.fullmatch(r"\d+(\.\d+)?", value := headers.get(name, "").strip()):
            return float(value) * unit
    try:
        until = parsedate_to_datetime(headers.get("retry-after", ""))
    except ValueError:
        return None
    until = until if until.tzinfo else until.replace(tzinfo=UTC)
    return max(0.0, (until - datetime.now(UTC)).total_seconds())


def told_s(message: str) -> float | None:
    """The wait, where only the text tells it, as in mid-stream: "Please try again in 1m26.4s." """
    found = re.search(r"try again in (?:(\d+)m)?(\d+(?:\.\d+)?) ?(ms|s)\b", message)
    if found is None:
        return None
    return 60.0 * int(found[1] or 0) + float(found[2]) * (0.001 if found[3] == "ms" else 1.0)
