from __future__ import annotations

from dataclasses import dataclass
from typing import Protocol

from rxagent.patience import RetryPolicy, Timeouts
from rxagent.types import Exchange

__all__ = ["Provider"]


class _Make(Protocol):
    """A model's class, or what is called like one."""

    def __call__(
        self,
        *,
        model: str,
        base_url: str | None,
        api_key: str | None,
        timeouts: Timeouts,
        retry: RetryPolicy,
    ) -> Exchange: ...


@dataclass(frozen=True, slots=True, kw_only=True)
class Provider:
    """Who answers for a name such as ``groq:NAME``, and what it needs.

    Args:
        make: Makes the model.
        key_variables: Of the environment; the first that is set counts.
        base_url_variable: Of the environment.
        has_scheme: Whether what is there starts with one, such as ``https://``.
    """

    make: _Make
    key_variables: tuple[str, ...]
    base_url_variable: str
    has_scheme: bool = True
