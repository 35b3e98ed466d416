"""Faults that a test may order, one for each request: what a vendor does on a bad day."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from local.rehearsal.wire import Event, Refused

OVERLOADED = ("overloaded_error", "Overloaded")
DELTAS_BEFORE_THE_ERROR = 3

FAULTS = ("http_429", "http_529", "overloaded_mid_stream", "cut_without_stop")


def checked(faults: Sequence[str]) -> Sequence[str]:
    """The faults.

    Raises:
        ValueError: one is unknown.
    """
    for fault in faults:
        if fault not in FAULTS:
            raise ValueError(f"no fault is named {fault!r}; there are: {', '.join(FAULTS)}")
    return faults


def refuse(fault: str | None) -> None:
    """Raise what an HTTP fault answers instead of a stream.

    Raises:
        Refused: for http_429 (with a Retry-After of one second) and http_529.
    """
    if fault == "http_429":
        message = "This request would exceed your account's rate limit. Please try again later."
        raise Refused(429, "rate_limit_error", message, {"retry-after": "1"})
    if fault == "http_529":
        raise Refused(529, *OVERLOADED)


def spoil(fault: str | None, events: Sequence[Event], error: Event) -> Iterator[Event]:
    """The events as a faulty stream brings them.

    overloaded_mid_stream: after three deltas comes `error`, and the stream ends.
    cut_without_stop: everything but the last two events, so each block looks finished and the message is not.
    """
    if fault == "cut_without_stop":
        yield from events[:-2]
        return
    deltas = 0
    for event in events:
        if fault == "overloaded_mid_stream" and deltas == DELTAS_BEFORE_THE_ERROR:
            yield error
            return
        deltas += event.name == "content_block_delta"
        yield event
