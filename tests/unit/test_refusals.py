"""What a vendor reports becomes one error in one wording."""

import pytest
from drafthand.vendors.refusals import code_of, refusal, retry_after_s, told_s


@pytest.mark.parametrize(
    ("status", "code"),
    [
        (400, "invalid_request"),
        (401, "auth"),
        (402, "rate_limited"),
        (413, "context_full"),
        (422, "invalid_request"),
        (429, "rate_limited"),
        (500, "unavailable"),
        (502, "unavailable"),
        (503, "overloaded"),
        (529, "overloaded"),
        (200, "unavailable"),
    ],
)
def test_a_status_alone_tells_this_much(status: int, code: str) -> None:
    assert code_of(status) == code


def test_a_refused_key_is_named_by_its_variable_and_what_the_vendor_wrote_of_it_is_not_repeated() -> None:
    wrong = refusal("openai", "auth", "Incorrect API key provided: sk-secret", status=401)
    forbidden = refusal("openai", "auth", "sk-secret may not", status=403)

    assert str(wrong) == "The key OPENAI_API_KEY was refused. Check it and start again."
    assert str(forbidden) == "The key OPENAI_API_KEY was refused. Check what it may do."
    assert not wrong.retryable


def test_what_may_pass_is_retryable_unless_it_is_hopeless() -> None:
    assert refusal("xai", "rate_limited", "slow down", retry_after_s=2.0).retry_after_s == 2.0
    assert refusal("xai", "rate_limited", "slow down").retryable
    assert not refusal("xai", "rate_limited", "no money", hopeless=True).retryable
    assert not refusal("xai", "context_full", "too long").retryable


@pytest.mark.parametrize(
    ("headers", "seconds"),
    [
        ({"retry-after": "7"}, 7.0),
        ({"retry-after": "0.5"}, 0.5),
        ({"retry-after-ms": "250", "retry-after": "1"}, 0.25),
        ({"retry-after": "Wed, 21 Oct 2020 07:28:00 GMT"}, 0.0),
        ({"retry-after": "soon"}, None),
        ({}, None),
    ],
)
def test_the_header_says_how_long_to_wait(headers: dict[str, str], seconds: float | None) -> None:
    assert retry_after_s(headers) == seconds


@pytest.mark.parametrize(
    ("message", "seconds"),
    [
        ("Please try again in 1.898s.", 1.898),
        ("try again in 250ms", 0.25),
        ("Please try again in 1m26.4s.", 86.4),
        ("Please try again later.", None),
    ],
)
def test_the_text_says_how_long_to_wait(message: str, seconds: float | None) -> None:
    assert told_s(message) == (seconds if seconds is None else pytest.approx(seconds))
