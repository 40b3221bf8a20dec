"""In which way a tool failed."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from concurrent.futures import BrokenExecutor
from typing import TypeAlias, TypeGuard

from rxagent.errors import (
    AuthenticationError,
    FailureKind,
    ModelError,
    ToolFailedError,
)

__all__ = ["Failures", "failure_kind", "is_group"]

Failures: TypeAlias = Mapping[type[Exception], FailureKind]
"""Kinds by the type of an exception; the nearest base class counts."""


def failure_kind(error: Exception, failures: Failures) -> FailureKind:
    """Tell in which way a tool failed.

    What the exception says of itself comes first (`ToolFailedError`), then
    ``failures``, then what is known of models and networks.  All else is semantic: the
    model can do better.  Of a group, a person has to act if one of them says so, and
    repeating helps if it helps against all.

    Args:
        error: What the tool raised.
        failures: The caller's table.

    Returns:
        The kind of failure.
    """
    if isinstance(error, ToolFailedError):
        return error.kind
    for base in type(error).__mro__:
        if base in failures:
            return failures[base]
    if is_group(error):
        return _worst(failure_kind(each, failures) for each in error.exceptions)
    match error:
        case AuthenticationError() | BrokenExecutor():
            return "environment"
        case ModelError(retryable=True) | ConnectionError() | TimeoutError():
            return "transient"
        case _:
            return "semantic"


def is_group(error: Exception) -> TypeGuard[ExceptionGroup[Exception]]:
    """Whether ``error`` is several, as task groups raise them."""
    return isinstance(error, ExceptionGroup)


def _worst(kinds: Iterable[FailureKind]) -> FailureKind:
    found = set(kinds)
    if "environment" in found:
        return "environment"
    return "semantic" if "semantic" in found else "transient"
