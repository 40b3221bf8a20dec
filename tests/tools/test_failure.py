from __future__ import annotations

from concurrent.futures import BrokenExecutor

import pytest

from rxagent.errors import (
    AuthenticationError,
    BadRequestError,
    FailureKind,
    LimitError,
    ModelConnectionError,
    OverloadedError,
    RateLimitError,
    ToolFailedError,
)
from rxagent.tools import failure_kind


class GoneError(ConnectionError):
    """A user's own."""


KINDS: list[tuple[Exception, FailureKind]] = [
    (ToolFailedError("x"), "semantic"),
    (ToolFailedError("x", kind="transient"), "transient"),
    (ToolFailedError("x", kind="environment"), "environment"),
    (AuthenticationError("x"), "environment"),
    (RateLimitError("x"), "transient"),
    (OverloadedError("x"), "transient"),
    (ModelConnectionError("x"), "transient"),
    (BadRequestError("x"), "semantic"),
    (LimitError("x", name="max_rounds", value=1), "semantic"),
    (BrokenExecutor("x"), "environment"),
    (ConnectionResetError("x"), "transient"),
    (GoneError("x"), "transient"),
    (TimeoutError("x"), "transient"),
    (OSError("x"), "semantic"),
    (ValueError("x"), "semantic"),
    (ExceptionGroup("x", [GoneError(), TimeoutError()]), "transient"),
    (ExceptionGroup("x", [GoneError(), ValueError()]), "semantic"),
    (ExceptionGroup("x", [ValueError(), BrokenExecutor()]), "environment"),
    (ExceptionGroup("x", [ExceptionGroup("y", [GoneError()])]), "transient"),
]


@pytest.mark.parametrize(("error", "kind"), KINDS, ids=lambda each: repr(each)[:60])
def test_every_failure_is_of_a_kind(error: Exception, kind: FailureKind) -> None:
    """S000-29, M-17."""
    assert failure_kind(error, {}) == kind


def test_the_callers_table_goes_before_what_is_known() -> None:
    failures: dict[type[Exception], FailureKind] = {ConnectionError: "environment"}

    assert failure_kind(GoneError(), failures) == "environment"
    assert failure_kind(TimeoutError(), failures) == "transient"


def test_the_nearest_base_class_counts() -> None:
    failures: dict[type[Exception], FailureKind] = {
        OSError: "environment",
        GoneError: "semantic",
    }

    assert failure_kind(GoneError(), failures) == "semantic"
    assert failure_kind(ConnectionError(), failures) == "environment"
    assert failure_kind(ExceptionGroup("", [GoneError()]), failures) == "semantic"


def test_what_an_exception_says_of_itself_goes_before_the_table() -> None:
    error = ToolFailedError("x", kind="transient")

    assert failure_kind(error, {Exception: "environment"}) == "transient"
