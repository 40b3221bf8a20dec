from __future__ import annotations

import unicodedata
from collections.abc import Callable, Sequence
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from rxagent.errors import ConfigurationError, DocumentError
from rxagent.retrieval import (
    Document,
    Field,
    MemoryDocuments,
    Splitter,
    SqliteDocuments,
    split_headings,
    split_sentences,
    split_tokens,
    word_tokens,
)
from rxagent.runtime import run

SPLITTERS = [split_sentences, split_tokens, split_headings]
by_splitter = pytest.mark.parametrize("make", SPLITTERS)

PIECES = st.sampled_from(
    [
        *(
            *"ab. !?\n#`",
            "Hello. ",
            "word ",
            "# A\n",
            "## B\n",
            "```\n",
            "天气。",
            "\n---\n",
            "\n===\n",
        ),
        *("e\u0301", "👩\u200d🔬", "\r\n", "  ", "\u2028", "longerword"),
    ]
)
TEXTS = st.lists(PIECES, max_size=40).map("".join) | st.text(
    st.characters(codec="utf-8", exclude_characters="\0"), max_size=60
)


def cut(split: Splitter, text: str) -> list[str]:
    return [each.text for each in split(Document(id="d", text=text))]


@by_splitter
@settings(max_examples=200)
@given(text=TEXTS, size=st.integers(1, 30), data=st.data())
def test_nothing_is_lost_and_no_chunk_is_without_anything_new(
    make: Callable[..., Splitter], text: str, size: int, data: st.DataObject
) -> None:
    overlap = data.draw(st.integers(0, size - 1))
    document = Document(id="d", text=text)
    chunks = make(size, overlap=overlap)(document)
    joined, before = "", -1
    for each in chunks:
        start, end = each.metadata["start"], each.metadata["end"]
        assert isinstance(start, int)
        assert isinstance(end, int)
        assert each.text == text[start:end]
        assert before < start <= len(joined) < end
        if make is split_tokens:
            assert len(word_tokens(each.text)) <= size
        else:
            assert len(each.text) <= size
            assert len(joined) - start <= overlap
        joined, before = joined + text[len(joined) : end], start
    assert joined == text
    assert len({each.id for each in chunks}) == len(chunks)


@by_splitter
@pytest.mark.parametrize(("size", "overlap"), [(0, 0), (5, 5), (5, 6), (5, -1)])
def test_sizes_that_make_no_sense_are_refused(
    make: Callable[..., Splitter], size: int, overlap: int
) -> None:
    with pytest.raises(ConfigurationError, match=r"(size|overlap) must be"):
        make(size, overlap=overlap)


def test_what_is_shared_takes_no_letter_apart_and_is_never_more() -> None:
    text = "aaaaaalongerworde\u0301a"
    split = split_headings(18, overlap=1)
    first, second = split(Document(id="d", text=text))
    assert (first.text, second.text) == (text[:18], "a")


def test_sentences_stay_whole_as_long_as_they_fit() -> None:
    text = "Dr. Who came. He left! Nobody saw it. End"
    assert cut(split_sentences(24), text) == [
        "Dr. Who came. He left! ",
        "Nobody saw it. End",
    ]
    assert cut(split_sentences(24, overlap=10), text) == [
        "Dr. Who came. He left! ",
        "He left! Nobody saw it. ",
        "saw it. End",
    ]


def test_a_long_sentence_is_cut_between_words_and_a_long_word_between_letters() -> None:
    assert cut(split_sentences(10), "one two three four") == ["one two ", "three four"]
    assert cut(split_sentences(4, overlap=1), "abcdefg") == ["abcd", "defg"]
    letters = "e\u0301" * 5
    for each in cut(split_sentences(5), letters):
        assert not unicodedata.combining(each[0])


def test_an_overlap_is_words_where_no_sentence_is_short_enough() -> None:
    text = "One two three four. Five six seven eight. "
    assert cut(split_sentences(30, overlap=11), text) == [
        "One two three four. ",
        "four. Five six seven eight. ",
    ]


def test_tokens_are_counted_and_overlap() -> None:
    assert cut(split_tokens(3, overlap=1), "a b c d e") == ["a b c", " c d e"]
    assert cut(split_tokens(4), "weather天气, ok") == ["weather天气", ", ok"]
    of_letters = split_tokens(2, tokens=list[str])
    assert cut(of_letters, "abcde") == ["ab", "cd", "e"]
    with pytest.raises(DocumentError, match=r"'d' has 4 characters.*tokens have 3"):
        cut(split_tokens(2, tokens=str.split), "ab c")


@given(TEXTS)
def test_the_tokens_of_a_text_are_the_text(text: str) -> None:
    assert "".join(word_tokens(text)) == text


def test_a_line_of_inline_code_opens_no_block() -> None:
    chunks = split_headings()(Document(id="d", text="```a``` is code\n# A\nb\n"))
    assert [each.text for each in chunks] == ["```a``` is code\n", "# A\nb\n"]


def test_markdown_is_cut_at_its_headings() -> None:
    text = (
        "intro\n# A #\ntext\n## B\n```sh\n# no heading\n```\n#hash\n"
        "### C\nc\n## D\n\n# E#\nlong. sentences.\n####### no\n"
    )
    chunks = split_headings(40)(Document(id="d", text=text))
    assert [each.metadata["headings"] for each in chunks] == [
        (),
        ("A",),
        ("A", "B"),
        ("A", "B", "C"),
        ("A", "D"),
        ("E#",),
    ]


@pytest.mark.parametrize(
    ("text", "headings"),
    [
        ("Title\n=====\na\n\nSub\n---\nb\n", [("Title",), ("Title", "Sub")]),
        ("# A\na\n\nTwo\r\nlines\r\n  -- \r\nb\n", [("A",), ("A", "Two lines")]),
        ("A\n=\nB\n-\n# C\n", [("A",), ("A", "B"), ("C",)]),
        ("- - -\nA\n===\n", [(), ("A",)]),
        ("    code\n---\nA\n--", [(), ("A",)]),
    ],
)
def test_an_underlined_paragraph_is_a_heading(
    text: str, headings: Sequence[tuple[str, ...]]
) -> None:
    chunks = split_headings()(Document(id="d", text=text))
    assert [each.metadata["headings"] for each in chunks] == headings
    assert "".join(each.text for each in chunks) == text


@pytest.mark.parametrize(
    "text",
    [
        "text\n\n---\nmore\n***\n---\n===\n",  # breaks
        "| a |\n| --- |\n| 1 |\n---\n",  # tables
        "a | b\n--- | ---\n1 | 2\n---\n",
        "- item\n---\n",  # lists
        "- item\ngoes on\n--\n",
        "1. item\n---\n",
        "> quote\ngoes on\n---\n",
        "<!--\nno words\n---\n-->\n",
        "```\nA\n---\n# B\n```\n---\n",
        "text\n```\nA\n```\n---\n",
        "text\n    ---\n",
        "---\ntitle: A\n# B\n---\n---\n",  # front matter
        "---\ntitle: A\n...\n---\n",
        "text\n== =\n--a\n",
        "word " * 300 + "\n---\n",
        "# " + "word " * 300,
    ],
)
def test_a_line_is_no_heading_elsewhere(text: str) -> None:
    chunks = split_headings(9_000)(Document(id="d", text=text))
    assert [(each.metadata["headings"], each.text) for each in chunks] == [((), text)]


def test_front_matter_ends_and_a_break_opens_none() -> None:
    for text in ("---\nb: 1\n---\n# A\n", "---\n\n# A\n---\n", "---\nb\n# A\n"):
        chunks = split_headings()(Document(id="d", text=text))
        assert [each.metadata["headings"] for each in chunks] == [(), ("A",)]


def test_text_before_the_first_heading_can_be_filtered(tmp_path: Path) -> None:
    chunks = split_headings()(Document(id="d", text="word\n# A\nword\n"))
    with SqliteDocuments(tmp_path / "d.db") as kept:
        for index in (kept, MemoryDocuments()):
            run(index.add(chunks))
            under = Field("headings") == "A"
            assert run(index.ids(under)) == (chunks[1].id,)
            assert run(index.ids(~under)) == (chunks[0].id,)
            assert run(index.ids(Field("headings").is_null())) == ()


def test_long_lines_take_no_longer_than_their_length() -> None:
    for line in ("-" * 200_000 + "|x", "- " * 100_000 + "x", "=" * 200_000 + "x"):
        text = f"text\n{line}\n{line}"
        [chunk] = split_headings(len(text))(Document(id="d", text=text))
        assert chunk.text == text


def test_a_chunk_says_whose_it_is_and_has_the_same_id_every_time() -> None:
    document = Document(id="d", text="One. Two. ", metadata={"lang": "en"})
    split = split_sentences(6)
    first, second = split(document)
    assert first.metadata == {"lang": "en", "source": "d", "start": 0, "end": 5}
    assert [each.id for each in split(document)] == [first.id, second.id]
    other = Document(id="d", text="One. Two! ", metadata={"lang": "en"})
    assert split(other)[0].id == first.id
    assert split(other)[1].id != second.id
    named = Document(id="d", text="One.", metadata={"source": "book"})
    assert split(named)[0].metadata["source"] == "book"


def test_a_splitter_shows_what_it_does() -> None:
    assert repr(split_tokens(9, overlap=2)) == "split_tokens(9, overlap=2)"


def test_a_long_text_is_cut_in_one_go() -> None:
    text = "a" * 50_000 + " " * 50_000 + "# " + "#" * 50_000 + "\u0301" * 50_000
    for make in SPLITTERS:
        chunks = make(1_000, overlap=100)(Document(id="d", text=text))
        assert chunks[-1].metadata["end"] == len(text)
