from __future__ import annotations

from collections.abc import Iterator

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from qdrant_client import QdrantClient, models

from rxagent.errors import ConfigurationError, RetrievalError
from rxagent.integrations.qdrant import QdrantDocuments
from rxagent.memory import LexicalEmbedder
from rxagent.operators import just
from rxagent.retrieval import Document, Field, Filter, Metadata, Query, ingest
from rxagent.runtime import run
from rxagent.testing import (
    assert_index_contract,
    assert_vector_contract,
    uneven_vectors,
)
from tests.retrieval.answers import assert_same_answers
from tests.retrieval.chance import FILTERS, METADATA

EMBEDDER = LexicalEmbedder(dimensions=64)
EVERYTHING = Field("x").is_null()


@pytest.fixture
def client() -> Iterator[QdrantClient]:
    client = QdrantClient(":memory:")
    yield client
    client.close()


@pytest.fixture
def index(client: QdrantClient) -> QdrantDocuments:
    return QdrantDocuments(client, "tests", EMBEDDER)


def test_the_index_keeps_the_contract(index: QdrantDocuments) -> None:
    assert_index_contract(index)


def test_vectors_that_cannot_be_compared_are_refused(client: QdrantClient) -> None:
    assert_vector_contract(QdrantDocuments(client, "uneven", uneven_vectors))


def test_a_filter_says_the_same_as_on_every_index(index: QdrantDocuments) -> None:
    @settings(max_examples=60, deadline=None)
    @given(st.lists(METADATA, min_size=1, max_size=6), FILTERS)
    def same(known: list[Metadata], wanted: Filter) -> None:
        assert_same_answers(index, known, wanted)

    same()


def test_what_qdrant_cannot_say_is_looked_for_page_by_page(
    index: QdrantDocuments,
) -> None:
    documents = [
        Document(id=str(n), text="same", metadata={"name": f"{n:03}"})
        for n in range(90)
    ]
    run(index.add(documents))
    asked = Query(text="same", filter=Field("name") >= "087", top_k=2)
    assert len(run(index.search(asked))) == 2
    assert len(run(index.search(asked.within(Field("name") != "088")))) == 2


def test_the_first_document_may_be_blank(index: QdrantDocuments) -> None:
    assert run(index.add([Document(id="a", text=" ")])) == 1
    assert run(index.ids(EVERYTHING)) == ("a",)
    assert run(index.search(Query(text="a"))) == ()


def test_an_id_that_is_named_twice_is_deleted_once(index: QdrantDocuments) -> None:
    run(index.add([Document(id=each, text=each) for each in "abc"]))
    assert run(index.delete(["a", "a", "b", "none"])) == 2
    assert run(index.ids(EVERYTHING)) == ("c",)


def test_an_embedder_of_zeros_cannot_begin_a_collection(client: QdrantClient) -> None:
    index = QdrantDocuments(client, "tests", lambda each: just(((0.0,),) * len(each)))
    with pytest.raises(RetrievalError, match="only zeros"):
        run(index.add([Document(id="a", text="one")]))


def test_another_embedder_and_another_ones_collection_are_refused(
    client: QdrantClient, index: QdrantDocuments
) -> None:
    run(index.add([Document(id="a", text="one")]))
    other = QdrantDocuments(client, "tests", LexicalEmbedder(dimensions=8))
    for source in (
        other.add([Document(id="b", text="t")]),
        other.search(Query(text="t")),
    ):
        with pytest.raises(RetrievalError, match="vectors of 64 numbers"):
            run(source)
    params = models.VectorParams(size=8, distance=models.Distance.DOT)
    client.create_collection("foreign", vectors_config=params)
    foreign = QdrantDocuments(client, "foreign", EMBEDDER)
    with pytest.raises(RetrievalError, match="none of an index; choose another name"):
        run(foreign.add([Document(id="b", text="t")]))


def test_a_client_that_is_closed_is_an_error_of_retrieval(
    client: QdrantClient, index: QdrantDocuments
) -> None:
    client.close()
    with pytest.raises(
        RetrievalError, match=r"'tests' of Qdrant cannot be used: .*closed"
    ):
        run(index.ids(EVERYTHING))
    with pytest.raises(ConfigurationError, match="threads"):
        QdrantDocuments(client, "tests", EMBEDDER, threads=0)


def test_a_collection_is_ingested_into_it(index: QdrantDocuments) -> None:
    documents = [Document(id=each, text=f"text of {each}") for each in "abc"]
    assert run(ingest(documents, index)).added == 3
    done = run(ingest(documents[:2], index))
    assert (done.kept, done.deleted) == (2, 1)
