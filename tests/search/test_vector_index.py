from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import pytest
from reactivex import Observable

from rxagent.errors import ConfigurationError
from rxagent.operators import just
from rxagent.search import VectorIndex
from tests.search.catalogue import found, spec

Vectors = tuple[tuple[float, ...], ...]
MEANINGS = {"mail": 0, "letter": 0, "rain": 1, "weather": 1, "cost": 2, "price": 2}


class Embedder:
    """Knows a few words, and what they mean."""

    def __init__(self) -> None:
        self.asked: list[list[str]] = []

    def __call__(self, texts: Sequence[str]) -> Observable[Vectors]:
        self.asked.append([*texts])
        return just(tuple(map(self.vector, texts)))

    def vector(self, text: str) -> tuple[float, ...]:
        vector = [0.0, 0.0, 0.0]
        for word, axis in MEANINGS.items():
            vector[axis] += text.lower().count(word)
        return tuple(vector)


TOOLS = [spec("send", "Send a letter."), spec("sky_weather"), spec("b"), spec("a")]


def test_the_nearest_in_meaning_come_first() -> None:
    """S001-80, S000-49."""
    embedder = Embedder()
    assert found(VectorIndex(embedder), TOOLS, "mail", 2) == ["send", "a"]
    assert found(VectorIndex(embedder), TOOLS, "Will it rain?", 1) == ["sky_weather"]


def test_all_tools_are_embedded_at_once_by_name_and_description() -> None:
    embedder = Embedder()
    found(VectorIndex(embedder), TOOLS[:2], "mail")
    assert embedder.asked == [["send: Send a letter.", "sky weather: "], ["mail"]]


def test_no_tools_are_no_question() -> None:
    embedder = Embedder()
    assert found(VectorIndex(embedder), [], "mail") == []
    assert embedder.asked == [["mail"]]


def test_a_blank_query_finds_nothing_and_asks_nobody() -> None:
    """V-18, M-58."""
    embedder = Embedder()
    assert found(VectorIndex(embedder), TOOLS, " \n") == []
    assert len(embedder.asked) == 1


def test_an_embedder_that_loses_a_text_is_an_error() -> None:
    with pytest.raises(ConfigurationError, match="1 vectors for 4 texts"):
        found(VectorIndex(lambda texts: just(((1.0,),))), TOOLS, "mail")


def test_an_embedder_that_makes_texts_is_an_error() -> None:
    texts: Any = ("ab",) * len(TOOLS)
    with pytest.raises(ConfigurationError, match="gave a str where a vector is due"):
        found(VectorIndex(lambda _: just(texts)), TOOLS, "mail")


@pytest.mark.parametrize("asked", [(), ((1.0, 0.0),), ((1.0,), (1.0,))])
def test_a_query_has_one_vector_as_long_as_those_of_the_tools(asked: Vectors) -> None:
    def embed(texts: Sequence[str]) -> Observable[Vectors]:
        return just(asked if texts == ["mail"] else ((1.0,),) * len(texts))

    with pytest.raises(ConfigurationError, match="one for each text, all of one"):
        found(VectorIndex(embed), TOOLS, "mail")
