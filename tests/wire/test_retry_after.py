from __future__ import annotations

from datetime import UTC, datetime, timedelta, timezone
from math import inf

import pytest
from hypothesis import given
from hypothesis import strategies as st

from rxagent.wire import retry_after_s

NOW = datetime(2026, 10, 21, 7, 28, tzinfo=UTC)


@pytest.mark.parametrize(
    ("headers", "expected"),
    [
        ({"retry-after": "7"}, 7),
        ({"Retry-After": " 7 "}, 7),
        ({"retry-after": "0"}, 0),
        ({"retry-after": "1.5"}, 1.5),
        ({"retry-after": "Wed, 21 Oct 2026 07:28:30 GMT"}, 30),
        ({"retry-after": "Wed, 21 Oct 2026 09:28:30 +0200"}, 30),
        ({"retry-after": "Wed, 21 Oct 2026 07:28:30"}, 30),
        ({"retry-after": "Wed, 21 Oct 2026 07:27:00 GMT"}, 0),
        ({"retry-after-ms": "1200"}, 1.2),
        ({"retry-after-ms": "1200", "retry-after": "2"}, 1.2),
        ({"retry-after-ms": "soon", "retry-after": "2"}, 2),
        ({}, None),
        ({"retry-after": ""}, None),
        ({"retry-after": "soon"}, None),
        ({"retry-after": "-3"}, None),
        ({"retry-after": "nan"}, None),
        ({"retry-after": "inf"}, None),
        ({"retry-after": "٣"}, None),
        ({"retry-after": "9" * 30}, 1e30),
        ({"retry-after": "9" * 400}, inf),
        ({"retry-after": "Wed, 99 Oct 2026 07:28:30 GMT"}, None),
        ({"retry-after": "Wed, 21 Oct 99999999999 07:28:30 GMT"}, None),
    ],
)
def test_a_hint_is_seconds_or_none(
    headers: dict[str, str], expected: float | None
) -> None:
    assert retry_after_s(headers, now=NOW) == expected


def test_now_may_be_in_any_zone() -> None:
    now = NOW.astimezone(timezone(timedelta(hours=9)))
    headers = {"retry-after": "Wed, 21 Oct 2026 07:28:30 GMT"}

    assert retry_after_s(headers, now=now) == 30


@given(st.text())
def test_nonsense_is_no_hint_and_no_crash(hint: str) -> None:
    delay = retry_after_s({"retry-after": hint}, now=NOW)

    assert delay is None or delay >= 0
