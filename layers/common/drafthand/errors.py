"""Errors, named by who is at fault. What is expected (a script failed, nobody answered) is a value, not an error."""

from __future__ import annotations


class DrafthandError(Exception):
    """Base of all errors that a client may be told about."""


class CallerError(DrafthandError):
    """The caller sent something that can't be taken.

    Args:
        status: HTTP status, 400 to 499.
        title: what kind of error, in a few words.
        detail: what was wrong and what to do about it.
        field: the field at fault, where there is one.
        retry_after_s: when trying again makes sense, in seconds.
        extra: more members of the problem document.
    """

    def __init__(
        self,
        status: int,
        title: str,
        detail: str,
        field: str | None = None,
        retry_after_s: int | None = None,
        **extra: object,
    ) -> None:
        super().__init__(f"{title}: {detail}")
        self.status = status
        self.title = title
        self.detail = detail
        self.field = field
        self.retry_after_s = retry_after_s
        self.extra = extra

    def headers(self) -> dict[str, str]:
        return {} if self.retry_after_s is None else {"Retry-After": str(self.retry_after_s)}

    def problem(self) -> dict[str, object]:
        """The RFC 9457 problem document."""
        document: dict[str, object] = {
            "type": "about:blank",
            "title": self.title,
            "status": self.status,
            "detail": self.detail,
        }
        if self.field is not None:
            document["field"] = self.field
        return document | self.extra


def not_found(what: str, identifier: str) -> CallerError:
    """404, also for what belongs to somebody else: a stranger must not learn that it exists."""
    return CallerError(404, f"{what} not found", f"There is no {what.lower()} {identifier!r} that you may see.")


class ConditionFailed(DrafthandError):
    """A conditional write found another state: somebody else was first."""


class VendorError(DrafthandError):
    """A model vendor refused, failed, or broke off.

    Args:
        vendor: who.
        code: one of auth, rate_limited, overloaded, invalid_request, context_full, broken_stream, refused, unavailable.
        retryable: whether the same request may succeed later.
        retry_after_s: how long the vendor asked to wait, where it said so.
    """

    def __init__(
        self, vendor: str, code: str, message: str, *, retryable: bool = False, retry_after_s: float | None = None
    ) -> None:
        super().__init__(message)
        self.vendor = vendor
        self.code = code
        self.retryable = retryable
        self.retry_after_s = retry_after_s
