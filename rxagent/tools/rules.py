"""What the author of a tool declares about running it."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from math import inf
from typing import TypeAlias, TypedDict

from rxagent.choices import check_callable
from rxagent.context import Context
from rxagent.errors import ConfigurationError
from rxagent.messages import ToolCall

__all__ = [
    "Declared",
    "NeedsApproval",
    "ToolRules",
    "check_approval",
    "check_count",
    "check_seconds",
    "check_switch",
]

NeedsApproval: TypeAlias = bool | Callable[[ToolCall, Context], bool]
"""Whether a call has to be approved, for all calls or call by call."""


class Declared(TypedDict, total=False):
    """The rules as keywords."""

    serial: bool
    timeout_s: float | None
    retries: int
    retry_delay_s: float
    return_direct: bool
    needs_approval: NeedsApproval


@dataclass(frozen=True, slots=True, kw_only=True)
class ToolRules:
    """How a tool wants to be run, on every executor.

    Args:
        serial: While it is in a batch, the calls of the batch run one after the other.
        timeout_s: Longest run, in seconds; then its call fails, as transient.  That
            stops the waiting, not a thread: a plain function may go on to its end.
        retries: How often a run that failed as transient is repeated.  Declaring it is
            a promise that repeating does no harm.
        retry_delay_s: Before the first repetition, in seconds; doubles each time.
        return_direct: Its result is the answer, as it is, and the model is not asked
            again, if all calls of the round are to such tools and none failed.
        needs_approval: Whether somebody has to approve a call before it runs.

    Raises:
        ConfigurationError: If a value makes no sense.
    """

    serial: bool = False
    timeout_s: float | None = None
    retries: int = 0
    retry_delay_s: float = 0.2
    return_direct: bool = False
    needs_approval: NeedsApproval = False

    def __post_init__(self) -> None:
        check_seconds("timeout_s", self.timeout_s)
        check_seconds("retry_delay_s", self.retry_delay_s, or_none=False)
        check_count("retries", self.retries, least=0)
        check_switch("serial", self.serial)
        check_switch("return_direct", self.return_direct)
        check_approval(self.needs_approval)


def check_switch(option: str, value: object) -> None:
    """Refuse what is neither true nor false, such as the text "no".

    Raises:
        ConfigurationError: If it is anything else.
    """
    if not isinstance(value, bool):
        raise ConfigurationError(f"{option} must be True or False, got {value!r}")


def check_approval(rule: object) -> None:
    """Refuse what is no `NeedsApproval`.

    Raises:
        ConfigurationError: If it is neither true nor false, nor a plain function.
    """
    if isinstance(rule, bool):
        return
    if not callable(rule):
        raise ConfigurationError(
            f"needs_approval must be True, False or a function, got {rule!r}"
        )
    check_callable("needs_approval", rule)


def check_seconds(option: str, value: object, *, or_none: bool = True) -> None:
    """Refuse what is no time to wait.

    Raises:
        ConfigurationError: If it is no finite number greater than 0, nor ``None`` where
            that means no limit.
    """
    if value is None and or_none:
        return
    if (
        isinstance(value, bool)
        or not isinstance(value, int | float)
        or not 0 < value < inf
    ):
        none = ", or None" if or_none else ""
        raise ConfigurationError(
            f"{option} must be more than 0 seconds{none}, got {value!r}"
        )


def check_count(option: str, value: object, *, least: int) -> None:
    """Refuse what is no number of things.

    Raises:
        ConfigurationError: If it is not a whole number, or less than ``least``.
    """
    if isinstance(value, bool) or not isinstance(value, int) or value < least:
        raise ConfigurationError(f"{option} must be {least} or more, got {value!r}")
