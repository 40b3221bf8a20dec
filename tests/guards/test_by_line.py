from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from rxagent.guards import by_line
from tests.guards.feeding import fed, fed_anyhow, held_after

LINES = st.lists(st.sampled_from(["a", "\n", "\r\n", " ", "\u2028"])).map("".join)


def test_a_piece_is_a_line_with_its_end() -> None:
    """S002-2, S002-3, S002-4."""
    assert fed_anyhow(by_line(), "a\n\nb\r\nc") == ["a\n", "\n", "b\r\n", "c"]


def test_an_ended_line_leaves_at_once_and_the_rest_is_held() -> None:
    lines = by_line()()

    assert lines.feed("one") == []
    assert lines.feed("\ntw") == ["one\n"]
    assert held_after(by_line(), ["one", "\ntw"]) == 2
    assert tuple(lines.flush()) == ("tw",)


def test_nothing_is_flushed_where_nothing_is_held() -> None:
    assert fed(by_line(), []) == fed(by_line(), [""]) == []
    assert fed(by_line(), ["a\n"]) == ["a\n"]


@given(pieces=st.lists(LINES))
def test_the_lines_are_those_of_the_whole_and_nothing_is_lost(
    pieces: list[str],
) -> None:
    lines = fed(by_line(), pieces)

    assert lines == fed(by_line(), ["".join(pieces)])
    assert "".join(lines) == "".join(pieces)
    assert all(line.endswith("\n") for line in lines[:-1])
    assert all(line.count("\n") <= 1 for line in lines)
