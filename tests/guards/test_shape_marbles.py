"""The marbles of the docstrings, run: what is drawn is what happens."""

from __future__ import annotations

from collections.abc import Mapping

import pytest
import reactivex
from reactivex import Observable
from reactivex import operators as ops
from reactivex.testing.marbles import marbles_testing

from rxagent import guards
from rxagent.events import ChatEvent
from rxagent.guards import (
    EventGuard,
    TextGuard,
    by_line,
    by_paragraph,
    by_sentence,
    cap_chars,
    cap_tokens,
    guard,
    hold_release,
    json_only,
    smooth,
    stop_on,
    think_tags,
)
from rxagent.messages import UserMessage
from rxagent.operators import just
from rxagent.requests import ChatRequest
from tests.guards.happening import END, text, thought
from tests.marbles import Letters, comparable, drawn


def one(_: str) -> int:
    return 1


def in_two_frames(_: str) -> Observable[None]:
    return reactivex.timer(2).pipe(ops.map(lambda _: None))


CASES: Mapping[str, tuple[TextGuard | EventGuard, Mapping[str, str]]] = {
    "by_line": (
        by_line(),
        {"a": "on", "b": "e\ntw", "c": "o", "x": "one\n", "y": "two"},
    ),
    "by_paragraph": (
        by_paragraph(),
        {
            "a": "One.\n",
            "b": "Also.\n\nT",
            "c": "wo.",
            "x": "One.\nAlso.\n\n",
            "y": "Two.",
        },
    ),
    "by_sentence": (
        by_sentence(),
        {
            "a": "Dr. Lee",
            "b": " came. W",
            "c": "hy?",
            "x": "Dr. Lee came. ",
            "y": "Why?",
        },
    ),
    "cap_chars": (
        cap_chars(6),
        {"a": "Once", "b": " upon a", "c": " time", "x": "Once u…"},
    ),
    "cap_tokens": (
        cap_tokens(2, count=one),
        {"a": "Once", "b": " upon a", "c": " time", "x": "Once upon", "y": "…"},
    ),
    "hold_release": (hold_release(in_two_frames), {"a": "a", "b": "b"}),
    "json_only": (
        json_only(),
        {"a": "Here: {", "b": '"a": 1', "c": "} Fine?", "x": '{"a": 1', "y": "}"},
    ),
    "smooth": (
        smooth(chars_per_second=2),
        {"a": "one two", "b": " six", "x": "one", "y": " two", "z": " six"},
    ),
    "stop_on": (
        stop_on("END"),
        {"a": "yes E", "b": "ND o", "c": "f it", "x": "yes "},
    ),
    "think_tags": (
        think_tags(),
        {"a": "<thi", "b": "nk>hm</think>", "c": "Yes."},
    ),
}


@pytest.mark.parametrize("name", CASES)
def test_the_marble_of_the_docstring_is_what_happens(name: str) -> None:
    each, texts = CASES[name]
    given, expected = drawn(getattr(guards, name).__doc__)
    letters: Letters = {letter: text(said) for letter, said in texts.items()}
    letters |= {"F": END, "r": thought("hm")}

    with marbles_testing(timespan=1.0) as (start, cold, _, exp):
        assert given is not None
        source: Observable[ChatEvent] = cold(given, letters, None)
        request = ChatRequest(messages=(UserMessage.of("hi"),))
        got = start(just(request).pipe(guard(each)(lambda _: source)))
        assert comparable(got) == comparable(exp(expected, letters, None))
