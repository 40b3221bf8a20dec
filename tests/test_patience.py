from __future__ import annotations

from typing import Any

import pytest

from rxagent.errors import ConfigurationError
from rxagent.patience import RetryPolicy, Timeouts


def test_the_defaults_are_those_of_the_docs() -> None:
    """M-48."""
    assert RetryPolicy() == RetryPolicy(
        max_retries=2, base_s=1.0, factor=2.0, cap_s=30.0, on_retry=None
    )
    assert Timeouts() == Timeouts(
        connect_s=10.0, first_s=None, gap_s=300.0, turn_s=None
    )


@pytest.mark.parametrize("value", [0, -1.0, float("nan"), float("inf"), "5"])
@pytest.mark.parametrize("name", ["connect_s", "first_s", "gap_s", "turn_s"])
def test_what_is_no_limit_is_refused_when_built(name: str, value: Any) -> None:
    """S000-34."""
    with pytest.raises(ConfigurationError, match=f"{name} must be .* got {value!r}"):
        Timeouts(**{name: value})


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("max_retries", -1),
        ("max_retries", 1.5),
        ("max_retries", float("inf")),
        ("max_retries", None),
        ("base_s", -0.1),
        ("base_s", None),
        ("factor", 0.5),
        ("factor", "2"),
        ("cap_s", -1),
        ("cap_s", float("nan")),
    ],
)
def test_a_policy_that_is_none_is_refused_when_built(name: str, value: Any) -> None:
    with pytest.raises(ConfigurationError, match=f"{name} must be .* got {value!r}"):
        RetryPolicy(**{name: value})


def test_every_clock_may_be_off_and_so_may_retries() -> None:
    Timeouts(connect_s=None, first_s=None, gap_s=None, turn_s=None)
    RetryPolicy(max_retries=0, base_s=0, factor=1, cap_s=0)
