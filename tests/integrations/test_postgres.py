from __future__ import annotations

from collections.abc import Iterator
from uuid import uuid4

import psycopg
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from psycopg.sql import SQL, Identifier

from rxagent.errors import ConfigurationError, RetrievalError
from rxagent.integrations.postgres import PostgresDocuments
from rxagent.memory import LexicalEmbedder
from rxagent.retrieval import Document, Field, Filter, Metadata, Query, ingest
from rxagent.runtime import run
from rxagent.testing import (
    assert_index_contract,
    assert_vector_contract,
    uneven_vectors,
)
from tests.integrations.database_servers import DatabaseServer
from tests.retrieval.answers import assert_same_answers
from tests.retrieval.chance import FILTERS, METADATA

EMBEDDER = LexicalEmbedder(dimensions=64)
EVERYTHING = Field("x").is_null()


@pytest.fixture
def table(pg: DatabaseServer) -> Iterator[str]:
    """A name that no other test has, and that has to be quoted."""
    table = f't"{uuid4().hex[:8]}'
    yield table
    url = pg.url.replace("+psycopg", "")
    with psycopg.connect(url) as connection:
        connection.execute(SQL("DROP TABLE IF EXISTS {}").format(Identifier(table)))


@pytest.fixture
def index(pg: DatabaseServer, table: str) -> Iterator[PostgresDocuments]:
    with PostgresDocuments(pg.url, EMBEDDER, table=table) as index:
        yield index


def test_the_index_keeps_the_contract(index: PostgresDocuments) -> None:
    assert_index_contract(index)


def test_vectors_that_cannot_be_compared_are_refused(
    pg: DatabaseServer, table: str
) -> None:
    with PostgresDocuments(pg.url, uneven_vectors, table=table) as index:
        assert_vector_contract(index)


def test_a_filter_says_the_same_as_on_every_index(index: PostgresDocuments) -> None:
    @settings(max_examples=80, deadline=None)
    @given(st.lists(METADATA, min_size=1, max_size=6), FILTERS)
    def same(known: list[Metadata], wanted: Filter) -> None:
        assert_same_answers(index, known, wanted)

    same()


def test_a_connection_that_was_lost_is_opened_anew(
    pg: DatabaseServer, table: str
) -> None:
    with PostgresDocuments(pg.url, EMBEDDER, table=table, threads=1) as index:
        run(index.add([Document(id="a", text="one")]))
        pg.crash()
        pg.start()
        with pytest.raises(RetrievalError, match="PostgreSQL cannot be used"):
            run(index.ids(EVERYTHING))
        assert run(index.ids(EVERYTHING)) == ("a",)


def test_another_embedder_is_refused(
    pg: DatabaseServer, index: PostgresDocuments, table: str
) -> None:
    run(index.add([Document(id="a", text="one")]))
    small = LexicalEmbedder(dimensions=8)
    with PostgresDocuments(pg.url, small, table=table) as other:
        for source in (
            other.add([Document(id="b", text="t")]),
            other.search(Query(text="t")),
        ):
            with pytest.raises(RetrievalError, match="vectors of 64 numbers"):
                run(source)


def test_a_failure_shows_no_secret() -> None:
    url = "postgresql://user:hunter2@/name?host=/no/such/folder"
    with (
        PostgresDocuments(url, EMBEDDER) as index,
        pytest.raises(RetrievalError, match="cannot be used") as caught,
    ):
        run(index.ids(EVERYTHING))
    assert "hunter2" not in str(caught.value)
    with pytest.raises(ConfigurationError, match="threads"):
        PostgresDocuments(url, EMBEDDER, threads=0)


def test_a_collection_is_ingested_into_it(index: PostgresDocuments) -> None:
    documents = [Document(id=each, text=f"text of {each}") for each in "abc"]
    assert run(ingest(documents, index)).added == 3
    done = run(ingest(documents[:2], index))
    assert (done.kept, done.deleted) == (2, 1)
