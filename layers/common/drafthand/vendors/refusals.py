"""What a vendor reports, as a VendorError: one wording, and one rule for what is worth asking again."""

from __future__ import annotations

import re
from collections.abc import Mapping

from drafthand.errors import VendorError

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


def refusal(
    vendor: str,
    code: str,
    message: str,
    *,
    status: int | None = None,
    retry_after_s: float | None = None,
    hopeless: bool = False,
) -> VendorError:
    """The error that a vendor's report becomes.

    Args:
        code: one of VendorError's.
        message: the vendor's own text.
        status: of the HTTP response, where there was one.
        hopeless: asking again won't help, whatever the code: no money is left.
    """
    if code == "auth":  # what the vendor writes may quote the key
        remedy = "Check what it may do" if status == 403 else "Check it and start again"
        return VendorError(vendor, code, f"The key {vendor.upper()}_API_KEY was refused. {remedy}.")
    retryable = code in RETRYABLE and not hopeless
    return VendorError(
        vendor, code, f"The vendor answered: {message}", retryable=retryable, retry_after_s=retry_after_s
    )


def code_of(status: int) -> str:
    """VendorError's code for an HTTP status; 200 stands for an error in mid-stream, which has no other."""
    return STATUSES.get(status) or ("invalid_request" if 400 <= status < 500 else "unavailable")


def unreachable(vendor: str, message: str, *, begun: bool) -> VendorError:
    """No answer, or no more of it. `begun`: the answer had begun to stream."""
    code = "broken_stream" if begun else "unavailable"
    return VendorError(vendor, code, f"The vendor can't be reached: {message}", retryable=True)


def broken(vendor: str, message: str = "The model's answer broke off before its end.") -> VendorError:
    """An answer that can't be used, but may come out whole the next time."""
    return VendorError(vendor, "broken_stream", message, retryable=True)


# -- how long to wait -------------------------------------------------------------------------------------------------


def retry_after_s(headers: Mapping[str, str]) -> float | None:
    """The wait that a response's headers ask for, in seconds; None for dates, which no model vendor sends."""
    for name, unit in (("retry-after-ms", 0.001), ("retry-after", 1.0)):
        if re.fullmatch(r"\d+(\.\d+)?", value := headers.get(name, "")):
            return float(value) * unit
    return None


def told_s(message: str) -> float | None:
    """The wait, where only the text tells it, as in mid-stream: "Please try again in 1m26.4s." """
    found = re.search(r"try again in (?:(\d+)m)?(\d+(?:\.\d+)?) ?(ms|s)\b", message)
    if found is None:
        return None
    return 60.0 * int(found[1] or 0) + float(found[2]) * (0.001 if found[3] == "ms" else 1.0)
