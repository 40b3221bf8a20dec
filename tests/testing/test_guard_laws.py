"""The laws of guards find a guard that breaks one."""

from __future__ import annotations

from collections.abc import Iterable

import pytest
from reactivex import Observable
from reactivex import operators as ops

from rxagent.testing import assert_guard_laws


class Plain:
    def feed(self, text: str, /) -> Iterable[str]:
        return [text]

    def flush(self) -> Iterable[str]:
        return []


class Numbered(Plain):
    def __init__(self) -> None:
        self._count = 0

    def feed(self, text: str, /) -> Iterable[str]:
        self._count += 1
        return [f"{self._count}{text}"]


def test_what_depends_on_the_cut_must_not_claim_otherwise() -> None:
    assert_guard_laws(Numbered, is_cut_independent=False)
    with pytest.raises(AssertionError, match="cut otherwise"):
        assert_guard_laws(Numbered)


def test_a_state_that_is_shared_is_found() -> None:
    shared = Numbered()

    with pytest.raises(AssertionError, match="two rounds gave"):
        assert_guard_laws(lambda: shared, is_cut_independent=False)


def test_a_shared_operator_is_found() -> None:
    seen: list[str] = []

    def distinct(source: Observable[str]) -> Observable[str]:
        def is_new(text: str) -> bool:
            seen.append(text)
            return seen.count(text) == 1

        return source.pipe(ops.filter(is_new))

    with pytest.raises(AssertionError):
        assert_guard_laws(distinct, is_cut_independent=False)


def test_plain_guards_pass() -> None:
    assert_guard_laws(Plain)
    assert_guard_laws(Plain, "")
