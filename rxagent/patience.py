"""How long to wait for a provider, and how often to ask it again."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from math import isfinite
from typing import TypeGuard

from rxagent.errors import ConfigurationError, ModelError

__all__ = ["RetryPolicy", "Timeouts"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Timeouts:
    """Four clocks of a model, in seconds; ``None`` is no limit.

    The first one that runs out ends the request with a `ModelTimeoutError`, whose
    ``clock`` is ``"connect"``, ``"first"``, ``"gap"`` or ``"turn"``.

    Args:
        connect_s: Longest wait for a connection.
        first_s: Longest wait for the first event, whatever else the server sends.  An
            answer that is not streamed has its first event at its end.
        gap_s: Longest silence of the server, also before the first event.  Comments and
            pings break it: a server that thinks may say that it is alive.  Some do not,
            and an answer that is not streamed is silence until its end.
        turn_s: Longest whole answer, with every retry and every wait before one.

    Raises:
        ConfigurationError: If one of them is no number above 0.
    """

    connect_s: float | None = 10.0
    first_s: float | None = None
    gap_s: float | None = 300.0
    turn_s: float | None = None

    def __post_init__(self) -> None:
        _check("connect_s", self.connect_s)
        _check("first_s", self.first_s)
        _check("gap_s", self.gap_s)
        _check("turn_s", self.turn_s)


@dataclass(frozen=True, slots=True, kw_only=True)
class RetryPolicy:
    """When a request that failed is sent again, and how late.

    Only after an error that is ``retryable``, and only while nothing of an answer was
    delivered.  If the error names a time, that is when; else a random one between 0 and
    a bound that grows from retry to retry, so that clients that failed together do not
    come back together.

    Args:
        max_retries: How often at most; 0 switches retries off.
        base_s: Bound of the first wait, in seconds.
        factor: What the bound grows by.
        cap_s: Longest wait, in seconds.  A provider that wants a longer one is not
            asked again: its error is raised at once.
        on_retry: Called before each wait with the error and the seconds to wait;
            ``error.attempts`` counts.

    Raises:
        ConfigurationError: If a number is out of its range.
    """

    max_retries: int = 2
    base_s: float = 1.0
    factor: float = 2.0
    cap_s: float = 30.0
    on_retry: Callable[[ModelError, float], object] | None = None

    def __post_init__(self) -> None:
        if not isinstance(self.max_retries, int):
            raise ConfigurationError(
                f"max_retries must be a whole number, got {self.max_retries!r}"
            )
        _check("max_retries", self.max_retries, least=0)
        _check("base_s", self.base_s, least=0)
        _check("factor", self.factor, least=1)
        _check("cap_s", self.cap_s, least=0)


def _check(name: str, value: object, *, least: float | None = None) -> None:
    """A limit that silently does nothing would be worse than none."""
    if least is None:
        is_fine = value is None or (_is_number(value) and value > 0)
        bound = "a number above 0, or None"
    else:
        is_fine = _is_number(value) and value >= least
        bound = f"a number, {least:g} or more"
    if not is_fine:
        raise ConfigurationError(f"{name} must be {bound}, got {value!r}")


def _is_number(value: object) -> TypeGuard[float]:
    return isinstance(value, int | float) and isfinite(value)
