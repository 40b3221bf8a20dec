"""How a file goes from one version to the next: with a second one, which is made up."""

from __future__ import annotations

import sqlite3
from collections.abc import Sequence
from datetime import datetime
from pathlib import Path

import pytest

from rxagent.errors import StoreError
from rxagent.memory import SqliteStore
from rxagent.memory._sqlite_file import MIGRATIONS, SqliteFile
from rxagent.messages import UserMessage
from rxagent.runtime import run

SECOND = ("ALTER TABLE conversations ADD COLUMN title TEXT NOT NULL DEFAULT 'none'",)
BROKEN = ("CREATE TABLE titles (title TEXT)", "SELECT no_such_column FROM titles")


def titles(database: sqlite3.Connection, _: datetime) -> list[tuple[bytes, bytes]]:
    return database.execute("SELECT id, title FROM conversations").fetchall()


def file(path: Path, *migrations: Sequence[str]) -> SqliteFile:
    return SqliteFile(
        str(path), busy_timeout_s=1, migrations=(*MIGRATIONS, *migrations)
    )


@pytest.fixture
def path(tmp_path: Path) -> Path:
    """Of a file of the first version."""
    path = tmp_path / "a.db"
    with SqliteStore(path) as store:
        run(store.append("a", [UserMessage.of("hello")]))
    return path


def test_an_older_file_is_brought_up_to_date(path: Path) -> None:
    for _ in range(2):
        newer = file(path, SECOND)
        assert run(newer.use(titles)) == [(b"a", b"none")]
        newer.close()


def test_a_new_file_is_of_the_newest_version(tmp_path: Path) -> None:
    newer = file(tmp_path / "new.db", SECOND)
    assert run(newer.use(titles)) == []
    newer.close()


def test_a_newer_file_is_not_touched(path: Path) -> None:
    newer = file(path, SECOND)
    run(newer.use(titles))
    newer.close()

    with (
        SqliteStore(path) as store,
        pytest.raises(StoreError, match=r"newer rxagent.*version 2.*update rxagent"),
    ):
        run(store.load("a"))


def test_a_migration_that_fails_leaves_the_file_as_it_was(path: Path) -> None:
    broken = file(path, SECOND, BROKEN)
    with pytest.raises(StoreError, match="no such column"):
        run(broken.use(titles))
    broken.close()

    with SqliteStore(path) as store:
        assert run(store.load("a")).version == 1
