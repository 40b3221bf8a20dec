from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st
from reactivex.testing.marbles import marbles_testing

from rxagent.errors import ConfigurationError
from rxagent.guards import by_tokens, guard
from rxagent.operators import just
from rxagent.requests import ChatRequest
from tests.guards.feeding import fed_anyhow, held_after
from tests.guards.judge import end, text
from tests.marbles import Letters, comparable, drawn


def words(_: str) -> int:
    return 1


@given(said=st.text("ab \n文", max_size=12), size=st.integers(1, 4))
def test_pieces_are_the_same_however_the_text_is_cut(said: str, size: int) -> None:
    assert "".join(fed_anyhow(by_tokens(size), said)) == said


def test_a_piece_has_whole_words() -> None:
    said = "Once upon a time, there was"
    assert fed_anyhow(by_tokens(2, count=words), said) == [
        "Once upon",
        " a time,",
        " there was",
    ]
    assert fed_anyhow(by_tokens(2), said) == ["Once upon", " a time,", " there was"]


def test_it_says_what_it_holds() -> None:
    assert held_after(by_tokens(5), ["Once upon ", "a tim"]) == 15


def test_a_piece_has_a_token() -> None:
    with pytest.raises(ConfigurationError, match="more than 0 tokens, got 0"):
        by_tokens(0)


def test_the_marble_of_the_docstring_is_what_happens() -> None:
    given_, expected = drawn(by_tokens.__doc__)
    assert given_ is not None
    letters: Letters = {"a": text("Once upon"), "b": text(" a time")}
    letters |= {"x": text("Once upon"), "y": text(" a time")}
    letters["F"] = end("Once upon a time")
    with marbles_testing(timespan=1.0) as (start, cold, _, exp):
        guarded = guard(by_tokens(2, count=words))(
            lambda _: cold(given_, letters, None)
        )
        got = start(guarded(just(ChatRequest(messages=()))))
        assert comparable(got) == comparable(exp(expected, letters, None))
