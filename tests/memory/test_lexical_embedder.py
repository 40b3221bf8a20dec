from __future__ import annotations

import subprocess
import sys
from math import hypot, isclose
from operator import mul

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from rxagent.errors import ConfigurationError, RequestError
from rxagent.memory import LexicalEmbedder
from rxagent.runtime import run

TEXTS = (
    "My cat is called Mimi.",
    "The invoice of March is not paid yet.",
    "我想订一张去北京的机票",
    "明天上海的天气怎么样",
    "Der Zug nach Zürich fährt um neun.",
)


def closest(query: str) -> str:
    *vectors, wanted = run(LexicalEmbedder()([*TEXTS, query]))
    scores = [sum(map(mul, wanted, each)) for each in vectors]
    return TEXTS[scores.index(max(scores))]


@pytest.mark.parametrize(
    ("query", "expected"),
    [
        ("what is the CAT called?", 0),
        ("open invoices", 1),
        ("北京 机票", 2),
        ("天气", 3),
        ("Züge nach Zu\u0308rich", 4),
        ("ＣＡＴ", 0),
    ],
)
def test_texts_with_the_same_words_are_close(query: str, expected: int) -> None:
    assert closest(query) == TEXTS[expected]


@settings(max_examples=50)
@given(text=st.text())
def test_a_vector_is_as_long_as_one_or_says_nothing(text: str) -> None:
    [vector] = run(LexicalEmbedder()([text]))

    assert len(vector) == 256
    length = hypot(*vector)
    assert isclose(length, 1) or not any(vector)


def test_a_text_has_the_same_vector_in_every_process() -> None:
    program = (
        "from rxagent.memory import LexicalEmbedder\n"
        "LexicalEmbedder(dimensions=8)(['a cat']).subscribe(print)"
    )
    printed = [
        subprocess.run(
            [sys.executable, "-c", program],
            env={"PYTHONHASHSEED": seed, "PYTHONPATH": ":".join(sys.path)},
            capture_output=True,
            text=True,
            check=True,
        ).stdout
        for seed in ("1", "2")
    ]

    assert printed[0] == printed[1]
    assert printed[0] == f"{run(LexicalEmbedder(dimensions=8)(['a cat']))}\n"


def test_half_of_a_pair_and_no_text_at_all_are_texts_too() -> None:
    vectors = run(LexicalEmbedder()(["a\ud800b", ""]))

    assert any(vectors[0])
    assert not any(vectors[1])
    assert run(LexicalEmbedder()([])) == ()


def test_wrong_use_is_refused() -> None:
    with pytest.raises(RequestError, match="a list of texts"):
        LexicalEmbedder()("one text")
    with pytest.raises(ConfigurationError, match="dimensions must be 8 or more"):
        LexicalEmbedder(dimensions=7)
