from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from rxagent.guards import by_paragraph
from tests.guards.feeding import fed, fed_anyhow, held_after

LINES = st.lists(st.sampled_from(["a", "\n", "\r\n", " "])).map("".join)


@pytest.mark.parametrize(
    ("text", "paragraphs"),
    [
        ("one\nalso\n\ntwo", ["one\nalso\n\n", "two"]),
        ("one\n \t\ntwo\n", ["one\n \t\n", "two\n"]),
        ("one\r\n\r\ntwo", ["one\r\n\r\n", "two"]),
        ("one\n\n\n\ntwo", ["one\n\n", "\n\ntwo"]),
        ("\n\none\n\n", ["\n\none\n\n"]),
        ("\n\n", ["\n\n"]),
        ("", []),
    ],
)
def test_a_paragraph_ends_with_the_first_blank_line(
    text: str, paragraphs: list[str]
) -> None:
    """S002-2, S002-3, S002-4."""
    assert fed_anyhow(by_paragraph(), text) == paragraphs


def test_it_leaves_with_its_blank_line_and_the_rest_is_held() -> None:
    paragraphs = by_paragraph()()

    assert paragraphs.feed("one\n") == []
    assert paragraphs.feed("\ntwo\n") == ["one\n\n"]
    assert held_after(by_paragraph(), ["one\n", "\ntwo\n"]) == 4


@given(pieces=st.lists(LINES))
def test_the_paragraphs_are_those_of_the_whole_and_nothing_is_lost(
    pieces: list[str],
) -> None:
    paragraphs = fed(by_paragraph(), pieces)

    assert paragraphs == fed(by_paragraph(), ["".join(pieces)])
    assert "".join(paragraphs) == "".join(pieces)
    assert all(each.strip() for each in paragraphs[:-1])
