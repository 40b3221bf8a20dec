from __future__ import annotations

import pytest

from rxagent.wire.google_details import reason, retry_delay_s

INFO = {
    "@type": "type.googleapis.com/google.rpc.ErrorInfo",
    "reason": "API_KEY_INVALID",
}


def delayed(delay: object) -> dict[str, object]:
    return {"@type": "type.googleapis.com/google.rpc.RetryInfo", "retryDelay": delay}


@pytest.mark.parametrize(
    ("delay", "seconds"),
    [
        ("37s", 37.0),
        ("34.4s", 34.4),
        ("0s", 0.0),
        ("37.826266380s", 37.82626638),
        ("-1s", None),
        ("37", None),
        ("soon", None),
        (37, None),
        (None, None),
    ],
)
def test_a_delay_is_in_seconds(delay: object, seconds: float | None) -> None:
    assert retry_delay_s({"details": [{}, "x", INFO, delayed(delay)]}) == seconds


def test_a_reason_is_among_the_details() -> None:
    assert reason({"details": [delayed("1s"), {"reason": ""}, INFO]}) == (
        "API_KEY_INVALID"
    )


@pytest.mark.parametrize("details", [None, [], {}, "x", [None, 1, {"reason": 7}]])
def test_an_error_of_others_has_neither(details: object) -> None:
    assert reason({"details": details}) is None
    assert retry_delay_s({"details": details}) is None
    assert reason({}) is None
