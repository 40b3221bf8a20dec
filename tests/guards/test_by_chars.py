from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st
from reactivex.testing.marbles import marbles_testing

from rxagent.errors import ConfigurationError
from rxagent.guards import by_chars, guard
from rxagent.operators import just
from rxagent.requests import ChatRequest
from tests.guards.feeding import fed_anyhow, held_after
from tests.guards.judge import end, text
from tests.marbles import Letters, comparable, drawn


@given(said=st.text(max_size=12), size=st.integers(1, 5))
def test_pieces_are_the_same_however_the_text_is_cut(said: str, size: int) -> None:
    found = fed_anyhow(by_chars(size), said)
    assert "".join(found) == said
    assert [len(each) for each in found[:-1]] == [size] * (len(found) - 1)


def test_it_says_what_it_holds() -> None:
    assert held_after(by_chars(4), ["abcdef"]) == 2


def test_a_piece_has_a_character() -> None:
    with pytest.raises(ConfigurationError, match="1 character or more, got 0"):
        by_chars(0)


def test_the_marble_of_the_docstring_is_what_happens() -> None:
    given_, expected = drawn(by_chars.__doc__)
    assert given_ is not None
    letters: Letters = {"a": text("abc"), "b": text("de"), "F": end("abcde")}
    letters |= {"x": text("ab"), "y": text("cd"), "z": text("e")}
    with marbles_testing(timespan=1.0) as (start, cold, _, exp):
        guarded = guard(by_chars(2))(lambda _: cold(given_, letters, None))
        got = start(guarded(just(ChatRequest(messages=()))))
        assert comparable(got) == comparable(exp(expected, letters, None))
