from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from rxagent.errors import ConfigurationError
from rxagent.guards import cap_tokens
from rxagent.testing import every_cut
from tests.guards.feeding import fed, held_after


def one(_: str) -> int:
    return 1


def capped(max_tokens: float, text: str) -> str:
    """What leaves, which must not depend on how ``text`` is cut."""
    guard = cap_tokens(max_tokens, count=one)
    found = {"".join(fed(guard, pieces)) for pieces in every_cut(text)}
    assert len(found) == 1
    return found.pop()


@pytest.mark.parametrize(
    ("max_tokens", "expected"),
    [(0, "…"), (1, "Once…"), (2, "Once upon…"), (3, "Once upon a"), (9, "Once upon a")],
)
def test_whole_words_leave_and_the_cut_is_said(max_tokens: int, expected: str) -> None:
    assert capped(max_tokens, "Once upon a") == expected


def test_where_no_space_is_between_words_one_character_is_a_word() -> None:
    assert capped(3, "你好世界") == "你好世…"
    assert capped(2, "か\u3099き\u3099く\u3099") == "か\u3099き\u3099…"


def test_a_row_without_space_is_cut_too_but_not_within_a_character() -> None:
    assert capped(2, "x" * 100) == "x" * 80 + "…"
    assert capped(1, "x" * 39 + "👨‍👩‍👧!") == "x" * 39 + "👨‍👩‍👧…"


def test_by_default_a_token_is_about_four_bytes() -> None:
    assert "".join(fed(cap_tokens(2.5), ["one two ", "three"])) == "one two…"
    assert "".join(fed(cap_tokens(2), ["日本語だ"])) == "日本…"


def test_a_row_of_flags_is_cut_between_two_of_them() -> None:
    assert capped(1, "x" + "🇩🇪" * 30) == "x" + "🇩🇪" * 20 + "…"
    text = "🇩🇪" * 20_000
    assert "".join(fed(cap_tokens(10**9), [text])) == text


def test_a_word_is_held_until_its_end_is_seen() -> None:
    guard = cap_tokens(9)

    assert held_after(guard, ["one tw"]) == 3
    assert fed(guard, ["one tw", "o t"]) == ["one", " two", " t"]


def test_the_notice_is_said_once_and_nothing_is_counted_after_it() -> None:
    counted: list[str] = []

    def count(text: str) -> int:
        counted.append(text)
        return 1

    guard = cap_tokens(1, count=count, notice=" [cut]")
    assert fed(guard, ["a b c", " d e"]) == ["a [cut]"]
    assert counted == ["a", " b"]
    assert held_after(guard, ["a b c", " d e"]) == 0


def test_a_limit_below_nothing_is_refused() -> None:
    with pytest.raises(ConfigurationError, match="got -1"):
        cap_tokens(-1)


@given(
    pieces=st.lists(st.text("ab \n你\u0301\u200d🇩👩", max_size=60)),
    max_tokens=st.integers(0, 10),
)
def test_what_leaves_does_not_depend_on_the_cut(
    pieces: list[str], max_tokens: int
) -> None:
    text = "".join(pieces)
    out = "".join(fed(cap_tokens(max_tokens, count=one), pieces))

    assert out == "".join(fed(cap_tokens(max_tokens, count=one), [text]))
    assert text.startswith(out.removesuffix("…"))
    assert "".join(fed(cap_tokens(10_000, count=one), pieces)) == text
