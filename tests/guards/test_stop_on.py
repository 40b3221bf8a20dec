from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from rxagent.errors import ConfigurationError, GuardError
from rxagent.guards import Pattern, stop_on
from rxagent.testing import every_cut
from tests.guards.feeding import fed, held_after


def stopped(text: str, *literals: str) -> str:
    """What leaves, which must not depend on how ``text`` is cut."""
    found = {"".join(fed(stop_on(*literals), cut)) for cut in every_cut(text)}
    assert len(found) == 1
    return found.pop()


@pytest.mark.parametrize(
    ("text", "literals", "expected"),
    [
        ("yes END of it END", ["END"], "yes "),
        ("END", ["END"], ""),
        ("nothing of it EN", ["END"], "nothing of it EN"),
        ("EENEND", ["END"], "EEN"),
        ("aaaab", ["aab"], "aa"),
        ("xab", ["abc", "b"], "xa"),
        ("xabc", ["abc", "b"], "x"),
        ("xabd", ["abc", "bd"], "xa"),
        ("end", ["END"], "end"),
        ("a\nHuman: b", ["\nHuman:", "\nAI:"], "a"),
    ],
)
def test_what_precedes_the_first_match_leaves_and_nothing_else(
    text: str, literals: list[str], expected: str
) -> None:
    assert stopped(text, *literals) == expected


@pytest.mark.parametrize(
    ("text", "expression", "expected"),
    [
        ("call 555-1234 now", r"\d{3}-\d{4}", "call "),
        ("call 555-123 now", r"\d{3}-\d{4}", "call 555-123 now"),
        ("ended, the end.", r"\bend\b", "ended, the "),
        ("a stop", r"stop$", "a "),
        ("stops", r"stop(?!s)", "stops"),
        ("aaab", r"a+b|c", ""),
        ("anything", r"", ""),
    ],
)
def test_an_expression_stops_where_it_first_matches(
    text: str, expression: str, expected: str
) -> None:
    guard = stop_on(Pattern(expression=expression))
    for pieces in every_cut(text):
        assert "".join(fed(guard, pieces)) == expected, pieces


def test_literals_and_expressions_stop_together() -> None:
    guard = stop_on("a.c", Pattern(expression=r"\d+", name="number"))

    assert "".join(fed(guard, ["abc a.", "c 5"])) == "abc "
    assert "".join(fed(guard, ["abc 5 a.c"])) == "abc "
    assert held_after(guard, ["abc a."]) == 2
    assert held_after(guard, ["abc 5 "]) == 0
    assert repr(guard) == "stop_on('a.c', 'number')"


def test_an_expression_that_never_ends_is_bounded() -> None:
    endless = Pattern(expression="x.*END")
    with pytest.raises(GuardError, match="may become a match"):
        fed(stop_on(endless, max_hold_chars=10), ["x" * 20])
    released = fed(stop_on(endless, max_hold_chars=10, on_hold="release"), ["x" * 20])
    assert "".join(released) == "x" * 20


def test_only_what_may_become_a_match_is_held() -> None:
    assert fed(stop_on("END"), ["yes E", "N", "!"]) == ["yes ", "EN!"]
    assert held_after(stop_on("END"), ["yes E", "N"]) == 2
    assert held_after(stop_on("END"), ["yes END"]) == 0


def test_nothing_to_stop_on_is_refused() -> None:
    for literals in ([], [""], ["a", ""]):
        with pytest.raises(ConfigurationError, match="texts to stop on"):
            stop_on(*literals)
    assert repr(stop_on("END")) == "stop_on('END')"


@given(
    pieces=st.lists(st.text("ab", max_size=4)),
    literals=st.lists(st.text("ab", min_size=1, max_size=4), min_size=1, max_size=3),
)
def test_it_stops_where_the_whole_text_says(
    pieces: list[str], literals: list[str]
) -> None:
    text = "".join(pieces)
    starts = [text.find(each) for each in literals if each in text]

    out = fed(stop_on(*literals), pieces)

    assert "".join(out) == text[: min(starts, default=len(text))]
    assert all(out)


def test_what_comes_behind_the_stop_is_not_looked_at() -> None:
    make = stop_on("END", Pattern(expression="<[^>]*>"), max_hold_chars=10)
    transducer = make()

    assert "".join(transducer.feed(f"yes END <{'a' * 30}")) == "yes "
    assert "".join(transducer.flush()) == ""
