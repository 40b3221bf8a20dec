from __future__ import annotations

import re
import unicodedata

import pytest
from hypothesis import given
from hypothesis import strategies as st

from rxagent.messages import Image, Text, UserPart
from rxagent.tools.truncate import boundary, truncate

NOTE = re.compile(r"\n\[truncated: (\d+) of (\d+) characters omitted\]\Z")


def cut(text: str, max_chars: int) -> str:
    (part,) = truncate([Text(text=text)], max_chars)
    assert isinstance(part, Text)
    return part.text


def test_a_huge_result_is_cut_and_says_how_much() -> None:
    """Case loop-huge-result."""
    text = "日本語" * 1_666_667

    got = cut(text, 2_000)

    assert len(got) <= 2_000
    assert got.startswith("日本語日本語")
    kept = NOTE.sub("", got)
    assert got.endswith(
        f"\n[truncated: {5_000_001 - len(kept)} of 5000001 characters omitted]"
    )


def test_what_fits_is_left_alone() -> None:
    part = Text(text="x" * 100)

    assert truncate([part], 100) == (part,)
    assert truncate([], 100) == ()


@pytest.mark.parametrize(
    ("limit", "said"),
    [
        (60, "xxxxxxxxxxxxxxx\n[truncated: 985 of 1000 characters omitted]"),
        (40, "xxxxxxxxxxxxxxx[truncated: 985 of 1000]"),
        (20, "xxxxxxxxxx[990 cut]"),
        (1, "…"),
    ],
)
def test_where_there_is_less_room_it_says_so_in_fewer_words(
    limit: int, said: str
) -> None:
    assert cut("x" * 1000, limit) == said
    assert len(said) <= limit


@given(size=st.integers(1, 200), limit=st.integers(1, 120))
def test_no_limit_is_too_small(size: int, limit: int) -> None:
    text = "x" * size
    assert len(cut(text, limit)) <= limit or size <= limit


def test_the_limit_is_for_all_texts_together_and_media_are_kept() -> None:
    first, image = Text(text="a" * 40), Image(data=b"png")
    parts: list[UserPart] = [first, image, Text(text="b" * 90), Text(text="c"), image]

    got = truncate(parts, 120)

    assert [type(part) for part in got] == [Text, Image, Text, Image]
    assert got[0] is first
    assert isinstance(got[2], Text)
    kept = NOTE.sub("", got[2].text)
    assert set(kept) == {"b"}
    assert got[2].text.endswith(
        f"[truncated: {91 - len(kept)} of 131 characters omitted]"
    )
    assert 40 + len(got[2].text) <= 120


@pytest.mark.parametrize(
    "together",
    [
        "e\u0301",
        "🇩🇪",
        "👩\u200d👩\u200d👧",
        "👍🏽",
        "\r\n",
        "☀\ufe0f",
        "कि",
        "🇩🇪🇫🇷"[2:],
    ],
    ids=["accent", "flag", "family", "skin", "newline", "selector", "vowel", "flag 2"],
)
def test_what_reads_as_one_character_is_not_cut(together: str) -> None:
    text = f"ab{together}cd"

    ends = {boundary(text, at) for at in range(len(text) + 1)}

    inside = set(range(3, 2 + len(together)))
    assert ends == set(range(len(text) + 1)) - inside


def test_flags_in_a_row_are_cut_between_two_flags() -> None:
    assert [boundary("x🇩🇪🇫🇷", at) for at in range(6)] == [0, 1, 1, 3, 3, 5]


def test_endless_marks_are_cut_where_they_are() -> None:
    assert boundary("a" + "\u0301" * 100, 90) == 90
    assert boundary("a" + "\u0301" * 100, 20) == 0


letters = st.characters() | st.sampled_from("e\u0301\u200d👩🇩🇪👍🏽\r\n\ufe0f")


@given(
    st.lists(st.text(letters, max_size=150), max_size=4),
    st.integers(min_value=100, max_value=300),
)
def test_a_cut_text_is_a_beginning_and_the_sums_are_right(
    texts: list[str], limit: int
) -> None:
    whole = "".join(texts)

    got = "".join(
        part.text
        for part in truncate([Text(text=text) for text in texts], limit)
        if isinstance(part, Text)
    )

    assert len(got) <= limit
    if len(whole) <= limit:
        assert got == whole
        return
    note = NOTE.search(got)
    assert note is not None
    kept = got[: note.start()]
    assert whole.startswith(kept)
    assert (int(note[1]), int(note[2])) == (len(whole) - len(kept), len(whole))
    assert len(got) >= limit - 34  # what a cluster, or a shorter number, may cost


@given(st.text(letters), st.integers(min_value=0, max_value=100))
def test_a_cut_is_before_no_mark(text: str, at: int) -> None:
    place = boundary(text, min(at, len(text)))

    assert place <= at
    marked = unicodedata.category(text[place]) == "Mn" if place < len(text) else False
    assert not marked or place == 0 or place == min(at, len(text))
