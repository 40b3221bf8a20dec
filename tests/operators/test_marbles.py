"""The marbles of the docstrings, run: what is drawn is what happens."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

import pytest
import reactivex
from reactivex import Observable
from reactivex.testing.marbles import marbles_testing

from rxagent import operators
from rxagent.errors import AdvisorError, ModelTimeoutError, OverloadedError
from rxagent.events import ChatEvent, Finished, ReasoningDelta, Retracted, TextDelta
from rxagent.messages import AssistantMessage
from rxagent.operators import (
    coalesce,
    collect_text,
    concat_each,
    expand_rounds,
    fuse,
    just,
    one_finished,
    responses,
    retry_backoff,
    texts,
    timeouts,
    transduce,
)
from rxagent.patience import RetryPolicy
from rxagent.responses import ChatResponse
from tests.chance import Middle
from tests.marbles import Letters, comparable, drawn

A, B = TextDelta(text="a"), TextDelta(text="b")
R = ReasoningDelta(text="r")
F = Finished(response=ChatResponse(message=AssistantMessage.of("ab")))
Cold = Callable[[str], Observable[Any]]


class _Pairs:
    def __init__(self) -> None:
        self._held = ""

    def feed(self, item: str, /) -> list[str]:
        self._held += item
        if len(self._held) < 2:
            return []
        pair, self._held = self._held, ""
        return [pair]

    def flush(self) -> list[str]:
        return [self._held] if self._held else []


class _Adds:
    def __init__(self, mark: str) -> None:
        self._mark = mark

    def __call__(self) -> _Adds:
        return self

    def feed(self, item: str, /) -> list[str]:
        return [item + self._mark]

    def flush(self) -> list[str]:
        return []


def _expand(cold: Cold) -> Callable[[Observable[Any]], Observable[Any]]:
    rounds = [cold("--c--d|")]

    def again(_: list[str]) -> Observable[Any] | None:
        return rounds.pop() if rounds else None

    def fold(acc: list[str], item: str) -> list[str]:
        return [*acc, item]

    return expand_rounds(list[str], fold, again)


def _concat(cold: Cold) -> Callable[[Observable[Any]], Observable[Any]]:
    def project(_: object) -> Observable[Any]:
        return cold("1-2|")

    return concat_each(project)


def _retry(cold: Cold) -> Callable[[Observable[Any]], Observable[Any]]:
    def operator(source: Observable[Any]) -> Observable[Any]:
        answers = iter([source, cold("--a-b|")])
        return reactivex.defer(lambda _: next(answers)).pipe(
            retry_backoff(RetryPolicy(base_s=6), random=Middle)
        )

    return operator


_CASES: Mapping[str, tuple[Callable[[Cold], Any], Mapping[str, object]]] = {
    "coalesce": (
        lambda _: coalesce(5),
        {
            **{letter: TextDelta(text=letter) for letter in "abcd"},
            "x": TextDelta(text="bc"),
            "R": R,
            "F": F,
        },
    ),
    "collect_text": (
        lambda _: collect_text(),
        {
            **{letter: TextDelta(text=letter) for letter in "abc"},
            "V": Retracted(reason="a guard"),
            "F": F,
            "x": "a",
            "y": "ab",
            "z": "",
            "w": "c",
        },
    ),
    "concat_each": (_concat, {}),
    "expand_rounds": (_expand, {}),
    "fuse": (
        lambda _: fuse([transduce(_Adds("!")), transduce(_Adds("?"))]),
        {"x": "a!?", "y": "b!?"},
    ),
    "just": (lambda _: just("a", "b"), {}),
    "one_finished": (lambda _: one_finished("me"), {"a": A, "b": B}),
    "responses": (lambda _: responses(), {"a": A, "b": B, "F": F, "r": F.response}),
    "retry_backoff": (_retry, {}),
    "texts": (
        lambda _: texts(),
        {"a": A, "R": R, "b": B, "F": F, "x": "a", "y": "b"},
    ),
    "timeouts": (lambda _: timeouts(gap_s=5), {}),
    "transduce": (lambda _: transduce(_Pairs), {"x": "ab", "y": "c"}),
}
_ERRORS: Mapping[str, Exception] = {
    "one_finished": AdvisorError("me", "completed without a Finished event"),
    "retry_backoff": OverloadedError("busy"),
    "timeouts": ModelTimeoutError(
        "the source gave nothing for 5 s; raise gap_s if it may pause longer",
        clock="gap",
        limit_s=5,
    ),
}


def test_every_operator_has_a_marble_that_runs() -> None:
    assert sorted(_CASES) == sorted(operators.__all__)


@pytest.mark.parametrize("name", _CASES)
def test_the_marble_of_the_docstring_is_what_happens(name: str) -> None:
    make, values = _CASES[name]
    given, expected = drawn(getattr(operators, name).__doc__)
    letters: Letters = {letter: letter for letter in "abcd12"}
    letters.update(values)
    error = _ERRORS.get(name)

    with marbles_testing(timespan=1.0) as (start, cold, _, exp):

        def source(marble: str) -> Observable[Any]:
            return cold(marble, letters, error)

        made = make(source)
        got = start(made if given is None else made(source(given)))
        assert comparable(got) == comparable(exp(expected, letters, error))


def test_a_wrong_drawing_would_be_seen() -> None:
    events: list[ChatEvent] = [A]
    with marbles_testing(timespan=1.0) as (start, cold, _, exp):
        got = start(cold("--a|", {"a": events[0]}, None).pipe(texts()))
        assert comparable(got) != comparable(exp("---a|", {"a": "a"}, None))
