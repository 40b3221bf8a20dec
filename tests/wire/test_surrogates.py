from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from rxagent.wire.surrogates import SurrogateJoiner, join_surrogates

HIGH, LOW = "\ud83d", "\ude80"
any_text = st.text(st.characters() | st.sampled_from([HIGH, LOW]))


def test_a_pair_becomes_one_character() -> None:
    assert join_surrogates(f"go {HIGH}{LOW}!") == "go 🚀!"


def test_a_lone_half_becomes_a_replacement_character() -> None:
    assert join_surrogates(f"{LOW}a{HIGH}b{HIGH}") == "\ufffda\ufffdb\ufffd"


def test_a_pair_cut_in_two_is_joined_within_its_channel() -> None:
    joiner = SurrogateJoiner[str]()

    assert joiner.feed("text", f"go {HIGH}") == "go "
    assert joiner.feed("thoughts", LOW) == "\ufffd"
    assert joiner.feed("text", f"{LOW}!") == "🚀!"
    assert joiner.flush() == []


def test_a_half_that_stays_alone_is_flushed_once() -> None:
    joiner = SurrogateJoiner[str]()
    joiner.feed("text", f"a{HIGH}")

    assert joiner.flush() == [("text", "\ufffd")]
    assert joiner.flush() == []


@given(st.lists(any_text))
def test_pieces_give_what_the_whole_gives_and_fit_utf_8(pieces: list[str]) -> None:
    joiner = SurrogateJoiner[int]()

    out = [joiner.feed(0, piece) for piece in pieces]
    out += [piece for _, piece in joiner.flush()]

    assert "".join(out) == join_surrogates("".join(pieces))
    assert all(piece.encode() or not piece for piece in out)
