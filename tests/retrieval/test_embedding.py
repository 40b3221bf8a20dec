from __future__ import annotations

import math
from collections.abc import Callable
from typing import cast

import pytest
import reactivex
from reactivex import Observable

from rxagent.errors import RetrievalError
from rxagent.operators import just
from rxagent.retrieval import Document, MemoryDocuments, Query, ingest
from rxagent.retrieval.embedding import unit_vectors
from rxagent.runtime import run
from rxagent.types import Embedder

TEXTS = ("one", " ", "two")


def making(made: object) -> Embedder:
    return cast(Embedder, lambda texts: made)


def test_vectors_have_length_one_and_a_blank_text_has_none() -> None:
    made = just(((3.0, 4.0), (0.0, 0.0)))
    assert run(unit_vectors(making(made), TEXTS)) == ((0.6, 0.8), None, None)


@pytest.mark.parametrize(
    ("made", "problem"),
    [
        (just(((math.nan, 1.0), (1.0, 1.0))), "not finite"),
        (just(((math.inf, 1.0), (1.0, 1.0))), "not finite"),
        (just(((1.0, 1.0),)), "made 1 vectors of 2 texts"),
        (just(("ab", "cd")), "made a str where vectors are due"),
        (just("ab"), "made a str where vectors are due"),
        (just((("a",), ("b",))), "made a tuple where .* list of numbers"),
        (just((1.0, 2.0)), "made a float where vectors are due"),
        (just(((1.0,), None)), "made a NoneType where vectors are due"),
        (just(None), "made a NoneType where vectors are due"),
        (just(((10**400,), (1,))), "made a tuple where vectors are due"),
        (reactivex.empty(), "emitted 0 items"),
        (reactivex.of(((1.0,), (1.0,)), ((1.0,), (1.0,))), "emitted 2 items"),
        ([(1.0,), (1.0,)], "returned a list, not an Observable"),
    ],
)
def test_what_an_embedder_may_not_make_is_refused(made: object, problem: str) -> None:
    with pytest.raises(RetrievalError, match=problem):
        run(unit_vectors(making(made), TEXTS))


def test_an_embedder_that_says_nothing_loses_nothing() -> None:
    """Its chunks would not be kept, and the old ones be deleted as stale."""
    silent: Observable[tuple[tuple[float, ...], ...]] = reactivex.empty()
    answers: list[Callable[[], Observable[tuple[tuple[float, ...], ...]]]]
    answers = [lambda: just(((1.0,),)), lambda: silent]
    index = MemoryDocuments(lambda _: answers.pop(0)())
    run(ingest([Document(id="a", text="old")], index))
    with pytest.raises(RetrievalError, match="emitted 0 items"):
        run(ingest([Document(id="a", text="new")], index))
    [found] = run(index.by_words(Query(text="old")))
    assert found.text == "old"
