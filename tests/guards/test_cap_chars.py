from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from rxagent.errors import ConfigurationError
from rxagent.guards import cap_chars
from rxagent.testing import every_cut
from rxagent.tools.truncate import boundary
from tests.guards.feeding import fed, held_after

FAMILY = "👨‍👩‍👧"  # five characters that are read as one


def capped(max_chars: int, text: str) -> str:
    """What leaves, which must not depend on how ``text`` is cut."""
    found = {"".join(fed(cap_chars(max_chars), pieces)) for pieces in every_cut(text)}
    assert len(found) == 1
    return found.pop()


def test_a_text_that_fits_is_delivered_as_it_is() -> None:
    for text in ("", "a", "x" * 40, f"so {FAMILY}"):
        assert capped(len(text), text) == text


@pytest.mark.parametrize(
    ("max_chars", "expected"),
    [(0, "…"), (2, "so…"), (3, "so …"), (7, "so …"), (8, f"so {FAMILY}…"), (9, None)],
)
def test_the_cut_is_said_and_is_never_within_a_character(
    max_chars: int, expected: str | None
) -> None:
    text = f"so {FAMILY}!"
    assert capped(max_chars, text) == (expected or text)


@pytest.mark.parametrize("tail", ["\u0301", "\u200d👧", "🏽", "\ufe0f"])
def test_a_character_that_grows_beyond_the_limit_is_cut_whole(tail: str) -> None:
    assert capped(41, "x" * 40 + "👩" + tail) == "x" * 40 + "…"


def test_the_notice_is_said_once_and_not_counted() -> None:
    guard = cap_chars(2, notice=" [cut]")
    assert fed(guard, ["a", "bc", "de", "f"]) == ["ab [cut]"]
    assert fed(cap_chars(1, notice=""), ["ab"]) == ["a"]


def test_far_from_the_limit_nothing_is_held() -> None:
    assert held_after(cap_chars(100), ["x" * 68]) == 0
    assert held_after(cap_chars(100), ["x" * 70]) == 2
    assert held_after(cap_chars(100), ["x" * 101]) == 0


def test_a_limit_below_nothing_is_refused() -> None:
    with pytest.raises(ConfigurationError, match="got -1"):
        cap_chars(-1)
    assert repr(cap_chars(5)) == "cap_chars(5)"


@given(
    pieces=st.lists(st.text("ab\u0301\u200d🇩👩\r\n", max_size=30)),
    max_chars=st.integers(0, 90),
)
def test_what_leaves_is_what_fits_of_the_whole(
    pieces: list[str], max_chars: int
) -> None:
    text = "".join(pieces)
    whole = len(text) <= max_chars
    expected = text if whole else text[: boundary(text, max_chars)] + "…"

    assert "".join(fed(cap_chars(max_chars), pieces)) == expected
