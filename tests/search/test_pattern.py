from __future__ import annotations

import re
from contextlib import suppress

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from rxagent.search.pattern import Pattern
from tests.test_laws import calls_made

ATOMS = st.sampled_from(
    ["a", "b", "_", "A", ".", "[ab]", "[^a]", "[a-c_]", r"\w", r"\W", r"\d", r"\."]
)
TIMES = st.sampled_from(["", "*", "+", "?", "*?", "{2}", "{1,}", "{0,2}", "{0}"])


def group(inner: st.SearchStrategy[str]) -> st.SearchStrategy[str]:
    return st.one_of(
        st.tuples(inner, inner).map("".join),
        st.tuples(inner, inner).map(lambda pair: f"({pair[0]}|{pair[1]})"),
        st.tuples(inner, TIMES).map(lambda pair: f"(?:{pair[0]}){pair[1]}"),
    )


BODIES = st.recursive(ATOMS, group, max_leaves=8)
PATTERNS = st.builds(
    lambda start, body, end: f"{start}{body}{end}",
    st.sampled_from(["", "^"]),
    BODIES,
    st.sampled_from(["", "$"]),
)


@settings(max_examples=300)
@given(pattern=PATTERNS, text=st.text("abcA_1", max_size=7))
def test_it_matches_what_the_standard_library_matches(pattern: str, text: str) -> None:
    """S000-55."""
    expected = bool(re.search(pattern, text, re.IGNORECASE | re.ASCII))
    assert Pattern(pattern).is_in(text) == expected


@pytest.mark.parametrize(
    "text",
    [
        "(",
        ")",
        "a)",
        "[",
        "[]",
        "[^",
        "[b-a]",
        r"[\w-z]",
        "*a",
        "a**",
        "{2}",
        "(?=a)",
        "(?P<n>a)",
        r"(a)\1",
        r"\b",
        "a\\",
        "天气",
        "a{99}" * 9,
        "(((a{99}){99}){99}){99}",
        "((((){99}){99}){99}){99}",
    ],
)
def test_what_it_does_not_know_is_an_error(text: str) -> None:
    with pytest.raises(ValueError):  # noqa: PT011 - the reason is for nobody
        Pattern(text)


@given(st.text("ab()[]{}|*+?.^$\\-,12dwsWb:", max_size=30), st.text(max_size=9))
def test_whatever_is_written_it_is_read_or_refused(pattern: str, text: str) -> None:
    """S000-55."""
    with suppress(ValueError):
        Pattern(pattern).is_in(text)


@pytest.mark.parametrize(
    "pattern",
    [
        "(a+)+c",
        "(a|a)*c",
        "(a|aa)+c",
        "(.|..)" * 33 + "c",
        "(a*)*" * 9 + "c",
        "a?" * 30 + "a" * 30 + "c",
        "(.{0,9}){0,9}c",
        "(" * 60 + "a" + ")*" * 60 + "c",
    ],
)
def test_no_pattern_takes_long(pattern: str) -> None:
    """S000-56: all of these backtrack for hours."""
    compiled, text = Pattern(pattern), "a" * 64

    assert not compiled.is_in(text)
    # Each character of the text looks at each character of the pattern once at most.
    assert calls_made(lambda: compiled.is_in(text)) <= len(text) * 400
