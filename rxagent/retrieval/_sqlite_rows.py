"""The rows of documents in a SQLite file."""

from __future__ import annotations

import json
import sqlite3
from collections.abc import Sequence

from rxagent.retrieval._matrix import packed
from rxagent.retrieval._sqlite_filter import field_rows, selected, where
from rxagent.retrieval.document import Document
from rxagent.retrieval.embedding import Vector, check_length
from rxagent.retrieval.filters import Filter
from rxagent.retrieval.words import words_of

__all__ = ["DOCUMENTS", "MIGRATIONS", "delete", "narrowed", "read", "write"]

DOCUMENTS = 0x72784964  # "rxId"
"""What SQLite marks our files with."""

MIGRATIONS = (
    (
        # A row that was deleted is never used again; see `Matrix`.
        """
        CREATE TABLE documents (
            row INTEGER PRIMARY KEY AUTOINCREMENT,
            id TEXT NOT NULL UNIQUE,
            text TEXT NOT NULL,
            metadata TEXT NOT NULL,
            vector BLOB
        )
        """,
        """
        CREATE TABLE fields (
            row INTEGER NOT NULL REFERENCES documents (row) ON DELETE CASCADE,
            name TEXT NOT NULL,
            kind TEXT NOT NULL,
            value NOT NULL,
            listed INTEGER NOT NULL
        )
        """,
        "CREATE INDEX fields_by_value ON fields (name, kind, value, listed, row)",
        "CREATE INDEX fields_by_row ON fields (row)",
        """
        CREATE VIRTUAL TABLE words USING fts5 (
            said, tokenize = 'porter unicode61 remove_diacritics 2'
        )
        """,
    ),
    (
        # A vector takes half a page, or more.  What looks at documents, and not at what
        # they mean, had to read it, too.
        """
        CREATE TABLE vectors (
            row INTEGER PRIMARY KEY REFERENCES documents (row) ON DELETE CASCADE,
            vector BLOB NOT NULL
        )
        """,
        """
        INSERT INTO vectors (row, vector)
            SELECT row, vector FROM documents WHERE vector NOT NULL ORDER BY row
        """,
        "ALTER TABLE documents DROP COLUMN vector",
    ),
)
"""The statements that lead from each version of a file to the next."""


def write(
    database: sqlite3.Connection,
    documents: Sequence[Document],
    vectors: Sequence[Vector | None],
) -> int:
    """Keep documents in one transaction; those of the same ids go.

    Args:
        database: Outside of a transaction.
        documents: Of different ids.
        vectors: One of each, or ``None``.
    """
    blobs = [None if each is None else packed(each) for each in vectors]
    lengths = [len(each) for each in vectors if each is not None]
    database.execute("BEGIN IMMEDIATE")
    with database:
        there = database.execute(
            "SELECT length(vector) / 4 FROM vectors LIMIT 1"
        ).fetchone()
        for each in lengths:
            check_length(each, lengths[0] if there is None else there[0])
        delete(database, tuple(each.id for each in documents))
        last = database.execute(
            "SELECT seq FROM sqlite_sequence WHERE name = 'documents'"
        ).fetchone()
        rows = range(1 if last is None else last[0] + 1, 2**63)
        database.executemany(
            "INSERT INTO documents (row, id, text, metadata) VALUES (?, ?, ?, ?)",
            (
                (row, each.id, each.text, json.dumps(each.metadata))
                for row, each in zip(rows, documents, strict=False)
            ),
        )
        database.executemany(
            "INSERT INTO vectors (row, vector) VALUES (?, ?)",
            (
                (row, blob)
                for row, blob in zip(rows, blobs, strict=False)
                if blob is not None
            ),
        )
        database.executemany(
            "INSERT INTO fields (row, name, kind, value, listed) "
            "VALUES (?, ?, ?, ?, ?)",
            (
                field
                for row, each in zip(rows, documents, strict=False)
                for field in field_rows(row, each)
            ),
        )
        database.executemany(
            "INSERT INTO words (rowid, said) VALUES (?, ?)",
            (
                (row, " ".join(words_of(each.text)))
                for row, each in zip(rows, documents, strict=False)
            ),
        )
    return len(documents)


def delete(database: sqlite3.Connection, which: tuple[str, ...] | Filter) -> int:
    """Forget documents, within a transaction.

    Args:
        database: Where.
        which: Their ids, or what they are like.
    """
    condition, parameters = (
        ("id IN (SELECT value FROM json_each(?))", (json.dumps(which),))
        if isinstance(which, tuple)
        else where(which)
    )
    rows = database.execute(
        f"SELECT row FROM documents WHERE {condition}", parameters
    ).fetchall()
    database.executemany("DELETE FROM words WHERE rowid = ?", rows)
    database.executemany("DELETE FROM documents WHERE row = ?", rows)
    return len(rows)


def narrowed(wanted: Filter | None) -> tuple[str, Sequence[object]]:
    """A condition on ``rowid``, and its parameters.

    Args:
        wanted: By default, everything.
    """
    if wanted is None:
        return "TRUE", ()
    select, parameters = selected(wanted)
    # With the plus SQLite looks the words up once, and not once for each row.
    return f"+rowid IN ({select})", parameters


def read(
    database: sqlite3.Connection, found: Sequence[tuple[int, float]]
) -> tuple[Document, ...]:
    """Read documents, within the transaction in which they were found.

    Args:
        database: Where.
        found: Rows and scores.
    """
    documents: list[Document] = []
    for row, score in found:
        name, text, metadata = database.execute(
            "SELECT id, text, metadata FROM documents WHERE row = ?", (row,)
        ).fetchone()
        documents.append(
            Document(
                id=name.decode(),
                text=text.decode(),
                metadata=json.loads(metadata),
                score=score,
            )
        )
    return tuple(documents)
