from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from rxagent.errors import ConfigurationError
from rxagent.guards import stop_on
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
