"""The file of an index: what is in it, also after a crash, and of an older version."""

from __future__ import annotations

import json
import sqlite3
from pathlib import Path

import pytest

from rxagent.memory import LexicalEmbedder
from rxagent.memory._sqlite_file import SqliteFile
from rxagent.retrieval import Document, Field, Filter, Query, SqliteDocuments
from rxagent.retrieval._matrix import packed
from rxagent.retrieval._sqlite_rows import DOCUMENTS, MIGRATIONS
from rxagent.retrieval.embedding import unit_vectors
from rxagent.runtime import run
from tests.killing import answering
from tests.retrieval import killed_writer

EMBEDDER = LexicalEmbedder()
KILLS = 30


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "documents.db"


def counted(path: Path) -> dict[str, int]:
    database = sqlite3.connect(path)
    try:
        return {
            table: database.execute(f"SELECT count(*) FROM {table}").fetchone()[0]
            for table in ("documents", "vectors", "fields", "words")
        }
    finally:
        database.close()


def documents(*ids: str, text: str = "harbour") -> list[Document]:
    return [Document(id=each, text=text, metadata={"name": each}) for each in ids]


@pytest.mark.parametrize(
    "which", [("a", "c"), Field("name").is_in(["a", "c"])], ids=["ids", "filter"]
)
def test_what_is_deleted_leaves_nothing_anywhere(
    path: Path, which: tuple[str, ...] | Filter
) -> None:
    with SqliteDocuments(path, embedder=EMBEDDER) as index:
        run(index.add(documents("a", "b", "c")))
        assert run(index.delete(which)) == 2
    assert counted(path) == {"documents": 1, "vectors": 1, "fields": 1, "words": 1}


def test_what_is_replaced_leaves_nothing_anywhere(path: Path) -> None:
    with SqliteDocuments(path, embedder=EMBEDDER) as index:
        run(index.add(documents("a", "b")))
        run(index.add(documents("a", text="...")))
        [found] = run(index.by_vector(Query(text="harbour", top_k=9)))
        assert found.id == "b"
    assert counted(path) == {"documents": 2, "vectors": 1, "fields": 2, "words": 2}


def test_a_file_of_the_first_version_is_brought_up_to_date(path: Path) -> None:
    """Its vectors stood beside the texts."""
    kept = documents("a", "b", "blank")
    vectors = run(unit_vectors(EMBEDDER, ["harbour", "garden", ""]))

    def fill(database: sqlite3.Connection, _: object) -> None:
        for row, (each, vector) in enumerate(zip(kept, vectors, strict=True), start=1):
            blob = None if vector is None else packed(vector)
            database.execute(
                "INSERT INTO documents VALUES (?, ?, ?, ?, ?)",
                (row, each.id, each.text, json.dumps(each.metadata), blob),
            )
            database.execute(
                "INSERT INTO fields VALUES (?, 'name', 'text', ?, FALSE)",
                (row, each.id),
            )

    older = SqliteFile(
        str(path),
        busy_timeout_s=1,
        migrations=MIGRATIONS[:1],
        application_id=DOCUMENTS,
    )
    run(older.use(fill))
    older.close()

    for _ in range(2):
        with SqliteDocuments(path, embedder=EMBEDDER) as index:
            found = run(index.by_vector(Query(text="garden", top_k=9)))
            assert [each.id for each in found] == ["b", "a"]
            assert found[0].score == pytest.approx(1)
    assert counted(path) == {"documents": 3, "vectors": 2, "fields": 3, "words": 0}
    with SqliteDocuments(path, embedder=EMBEDDER) as index:
        assert run(index.delete(["a", "blank"])) == 2
        assert run(index.add(documents("c"))) == 1
    assert counted(path) == {"documents": 2, "vectors": 2, "fields": 2, "words": 1}


def test_no_half_replacement_is_found_after_a_writer_was_killed(path: Path) -> None:
    """Many times in the same file, which each new writer goes on with."""
    last = 0
    with (
        SqliteDocuments(path, embedder=EMBEDDER) as index,
        answering(killed_writer, path) as last_told,
    ):
        for _ in range(KILLS):
            told = last_told(last + 1)
            found = run(index.by_vector(Query(text="harbour", top_k=99)))
            [last] = {int(str(each.metadata["number"])) for each in found}
            assert last >= told, "what was told is lost"

            everything = {str(place) for place in range(killed_writer.COUNT)}
            one = Query(text=f"number{last}", top_k=99, filter=Field("number") == last)
            assert {each.id for each in run(index.by_vector(one))} == everything
            assert {each.id for each in run(index.by_words(one))} == everything
            assert {*counted(path).values()} == {killed_writer.COUNT}
