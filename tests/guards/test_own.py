"""A guard of one's own, in three forms."""

from __future__ import annotations

from collections.abc import Generator, Iterable

import pytest
import reactivex
from reactivex import Observable
from reactivex import operators as ops

from rxagent.errors import ConfigurationError, GuardError
from rxagent.guards._own import text_guard
from rxagent.testing import assert_guard_laws


class Upper:
    """A class with two methods."""

    def feed(self, text: str, /) -> Iterable[str]:
        return [text.upper()]

    def flush(self) -> Iterable[str]:
        return []


def upper() -> Generator[str | None, str | None, None]:
    """The same as a generator function."""
    text = yield None
    while text is not None:
        text = yield text.upper()


def uppered(source: Observable[str]) -> Observable[str]:
    """The same as an operator."""
    return source.pipe(ops.map(str.upper))


def endless() -> Generator[str | None, str | None, None]:
    """It does not care that there is an end."""
    out: str | None = None
    while True:
        text = yield out
        out = f"{text}." if text else None


def last_word() -> Generator[list[str], str | None, str]:
    """It yields several, and returns what is left."""
    held = ""
    ready: list[str] = []
    while (text := (yield ready)) is not None:
        *ready, held = (held + text).split(" ")
        ready = [f"{word} " for word in ready]
    return held


def headed() -> Generator[str | None, str | None, None]:
    """What it yields before the first piece comes before it."""
    text = yield "> "
    while text is not None:
        text = yield text


def outputs(own: object, *pieces: str) -> list[str]:
    transducer = text_guard(own)()  # type: ignore[arg-type]
    out = [text for piece in pieces for text in transducer.feed(piece)]
    return [*out, *transducer.flush()]


@pytest.mark.parametrize(
    "own", [Upper, upper, uppered, lambda: Upper(), lambda: upper()]
)
def test_the_three_forms_are_one(own: object) -> None:
    """S002-19."""
    assert outputs(own, "a", "bc") == ["A", "BC"]
    assert_guard_laws(own)  # type: ignore[arg-type]


def test_a_generator_may_yield_nothing_or_several_and_return_the_rest() -> None:
    assert outputs(last_word, "a b", "c d ", "e") == ["a ", "bc ", "d ", "e"]
    assert outputs(headed, "a", "b") == ["> ", "a", "b"]
    assert outputs(headed) == ["> "]
    assert_guard_laws(last_word)


def test_a_generator_that_goes_on_for_ever_is_closed() -> None:
    assert outputs(endless, "a", "b") == ["a.", "b."]


def test_a_generator_that_returns_is_done() -> None:
    def first() -> Generator[None, str | None, str | None]:
        return (yield None)

    transducer = text_guard(first)()

    assert transducer.feed("a") == ("a",)
    assert getattr(transducer, "is_done", False)
    assert transducer.flush() == ()


def test_an_operator_may_complete_early_or_flush_at_the_end() -> None:
    """S002-30."""
    batches = reactivex.compose(ops.buffer_with_count(2), ops.map("".join))

    assert outputs(batches, "a", "b", "c") == ["ab", "c"]
    assert_guard_laws(batches)
    assert_guard_laws(ops.take(2), is_cut_independent=False)
    assert_guard_laws(ops.concat(reactivex.just("the end")))


def test_an_operator_may_ask_its_source_twice() -> None:
    def twice(source: Observable[str]) -> Observable[str]:
        return reactivex.merge(source, source)

    assert outputs(twice, "a", "b") == ["a", "a", "b", "b"]


def test_an_operator_that_does_not_end_with_the_text_is_told_what_to_be() -> None:
    with pytest.raises(GuardError, match="is an EventGuard"):
        outputs(ops.concat(reactivex.never()), "a")


def test_an_operator_that_wants_to_wait_fails_loudly() -> None:
    with pytest.raises(Exception, match="Would block"):
        outputs(ops.buffer_with_time(1.0), "a")


def test_what_makes_no_transducer_is_an_error_that_names_it() -> None:
    def nothing() -> None:
        return None

    with pytest.raises(GuardError, match="nothing' made a NoneType"):
        outputs(nothing, "a")


@pytest.mark.parametrize("wrong", [Upper(), 3, "redact", lambda a, b: a])
def test_what_is_no_guard_is_refused(wrong: object) -> None:
    with pytest.raises(ConfigurationError, match=r"no guard|one transducer"):
        text_guard(wrong)  # type: ignore[arg-type]
