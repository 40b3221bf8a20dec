from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from rxagent.errors import ConfigurationError
from rxagent.guards import by_sentence
from tests.guards.feeding import fed, fed_anyhow, held_after

# Sentences are written with a bar between them.
ENDS = {
    "English": "Hello there. |How are you? |Fine! |And you",
    "several marks": "What?! |No!!! |Well?.. |Yes.",
    "closing quotes and brackets": (
        '"Stop." |“Go!” |(Why?) |‘So.’ |[1.] |He said "no." |End'
    ),
    "Markdown": "**Bold.** |_So?_ |`ls.` |Next",
    "a line is a sentence": "# Head\n|one\n\n|two \r\n  |three",
    "space belongs to what is before": "One.  \n\n |Two. \u3000|Three",
    "list items": "1. First. |And more.\n|2. Second.\n|- 3. Third. |Yes.",
    "Chinese": "你好。|世界！|真的吗？|是的",
    "Chinese quotes": "他说：「好。」|“对！”|（完。）|再见",
    "Chinese without spaces, with ASCII marks": "真的吗?|是的.|然后呢!|好",
    "Chinese and emphasis": "好。|**重要**的。|完",
    "Japanese": "そうです。|『はい！』|ですか？！|ええ",
    "Hindi": "यह है। |वह था॥|अंत",
    "Arabic and Urdu": "كيف حالك؟ |جيد. |ٹھیک۔ |ہاں",
    "Armenian, Burmese, Khmer, Ethiopic": "Այո։ |ဟုတ်။ |បាទ។ |አዎ። |x",
    "German quotes": "Er sagte: „Ja.“ |Dann »Nein.« |Ende",
    "French": "«\u00a0Oui\u202f!\u00a0» |Puis rien ? |« Non. » |Fin.\n|» Et",
    "emoji": "Great! |🎉 More. |So?",
}
NOT_ENDS = [
    "Pi is 3.14 and 1.000.000 more",
    "See www.example.com/a?b=1!c and main.py or f(x)?.y now",
    "That is, e.g. this and i.e. That and a.m. or z. B. das",
    "Dr. Lee, Mrs. Ray and Prof. Kim of St. Ives met J. R. R. Tolkien",
    "The U.S. Senate vs. The House",
    "approx. 5, cf. Smith, et al. Said",
    "No. 5, Fig. 3, Art. 1, pp. 7, Jan. 3",
    "Frau Dr. h. c. Müller kam bzw. Ging, vgl. Seite",
    "Mme. Curie et M. Curie, ul. см. Москва, г. Омск",
    "it goes on. with a small letter",
    "Well... I think… so, or... Not",
    "他……走了……吗",
    "Yes!, he said?; then... no",
    "Hm . . . yes",
    "Wait.Next and No!Really",
]


@pytest.mark.parametrize("marked", ENDS.values(), ids=ENDS)
def test_a_sentence_ends_where_its_language_ends_it(marked: str) -> None:
    """S002-2, S002-3, S002-4."""
    expected = marked.split("|")
    assert fed_anyhow(by_sentence(), marked.replace("|", "")) == expected


@pytest.mark.parametrize("text", NOT_ENDS)
def test_a_mark_within_a_sentence_does_not_end_it(text: str) -> None:
    assert fed_anyhow(by_sentence(), text) == [text]


def test_a_word_that_may_be_an_abbreviation_is_one_before_a_number() -> None:
    assert fed_anyhow(by_sentence(), "No. 5 won. No. It did. May. 3") == [
        "No. 5 won. ",
        "No. ",
        "It did. ",
        "May. ",
        "3",
    ]


def test_more_abbreviations_are_known_by_their_words() -> None:
    text = "Acme Corp. Shares rose. Then fell."

    assert len(fed_anyhow(by_sentence(), text)) == 3
    assert fed_anyhow(by_sentence(abbreviations=["corp."]), text) == [
        "Acme Corp. Shares rose. ",
        "Then fell.",
    ]
    with pytest.raises(ConfigurationError, match="a list of abbreviations"):
        by_sentence(abbreviations="corp")


def test_what_is_read_as_one_character_is_never_cut() -> None:
    assert fed_anyhow(by_sentence(), "So!\ufe0f Then\u0301. \u0301X") == [
        "So!\ufe0f ",
        "Then\u0301. \u0301",
        "X",
    ]


def test_a_sentence_leaves_with_the_first_character_of_the_next_one() -> None:
    sentences = by_sentence()()

    assert sentences.feed("It is so.") == []
    assert sentences.feed(" ") == []
    assert sentences.feed("A") == ["It is so. "]
    assert held_after(by_sentence(), ["It is so.", " ", "A"]) == 1


def test_text_without_an_end_is_read_once() -> None:
    """A run of marks, of space or of letters costs as much as any other text."""
    for run in (".", "!", " ", "a", "。", ". "):
        text = run * 20_000
        assert "".join(fed(by_sentence(), list(text))) == text


PIECES = st.lists(
    st.sampled_from(
        ["a", "B", "1", ".", "!", "…", " ", "\n", "。", "」", '"', "*", "Dr", "\u0301"]
    )
)


@given(pieces=PIECES)
def test_the_sentences_are_those_of_the_whole_and_nothing_is_lost(
    pieces: list[str],
) -> None:
    sentences = fed(by_sentence(), pieces)

    assert sentences == fed(by_sentence(), ["".join(pieces)])
    assert "".join(sentences) == "".join(pieces)
    assert all(sentences)
