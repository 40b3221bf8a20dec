from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from rxagent.testing import every_cut
from rxagent.wire.think_tags import ThinkTagPiece, ThinkTagSplitter

CASES: dict[str, tuple[str, bool, list[ThinkTagPiece]]] = {
    "no tags": ("plain", False, [("text", "plain")]),
    "a block, then the answer": (
        "<think>hm</think>\n\nYes.",
        False,
        [("reasoning", "hm"), ("text", "Yes.")],
    ),
    "text before": (
        "a <think>b</think>c",
        False,
        [("text", "a "), ("reasoning", "b"), ("text", "c")],
    ),
    "two blocks": (
        "<think>a</think> b <think>c</think> d",
        False,
        [("reasoning", "a"), ("text", "b "), ("reasoning", "c"), ("text", "d")],
    ),
    "the prompt opened it": (
        "hm</think>\nYes.",
        True,
        [("reasoning", "hm"), ("text", "Yes.")],
    ),
    "never closed": ("<think>hm", False, [("reasoning", "hm")]),
    "closed without being open": ("a</think>b", False, [("text", "a</think>b")]),
    "opened twice": (
        "<think>a<think>b</think>c",
        False,
        [("reasoning", "a<think>b"), ("text", "c")],
    ),
    "almost a tag": ("a <thin b", False, [("text", "a <thin b")]),
    "almost a tag at the end": ("a <thin", False, [("text", "a <thin")]),
    "a start that starts over": (
        "<<think>a<</think>b",
        False,
        [("text", "<"), ("reasoning", "a<"), ("text", "b")],
    ),
    "empty": ("<think></think>", False, []),
}


def joined(pieces: list[ThinkTagPiece]) -> list[ThinkTagPiece]:
    """Neighbours of one kind as one piece."""
    out: list[ThinkTagPiece] = []
    for kind, text in pieces:
        if out and out[-1][0] == kind:
            out[-1] = (kind, out[-1][1] + text)
        else:
            out.append((kind, text))
    return out


@pytest.mark.parametrize(("text", "inside", "expected"), CASES.values(), ids=CASES)
def test_tags_split_wherever_they_are_cut(
    text: str, inside: bool, expected: list[ThinkTagPiece]
) -> None:
    for pieces in every_cut(text):
        splitter = ThinkTagSplitter(starts_in_thinking=inside)
        out = [part for piece in pieces for part in splitter.feed(piece)]
        assert all(text for _, text in out)
        assert joined(out + splitter.flush()) == expected, pieces


def test_text_waits_only_while_it_may_be_a_tag() -> None:
    splitter = ThinkTagSplitter(starts_in_thinking=False)

    assert splitter.feed("a <th") == [("text", "a ")]
    assert splitter.feed("e") == [("text", "<the")]


@given(st.lists(st.sampled_from(["<think>", "</think>", "<", "/", "think>", "a", " "])))
def test_any_pieces_split_as_their_whole_and_no_letter_is_lost(
    pieces: list[str],
) -> None:
    text = "".join(pieces)
    whole = ThinkTagSplitter(starts_in_thinking=False)
    cut = ThinkTagSplitter(starts_in_thinking=False)

    expected = joined(whole.feed(text) + whole.flush())
    out = [part for piece in pieces for part in cut.feed(piece)]

    assert joined(out + cut.flush()) == expected
    assert "".join(text for _, text in expected).count("a") == text.count("a")
