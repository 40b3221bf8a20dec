from __future__ import annotations

import os
import sqlite3
from datetime import datetime
from types import TracebackType
from typing import Self

from reactivex import Observable

from rxagent.caching.answer import KeptAnswer, dump_answer, load_answer
from rxagent.memory._sqlite_file import SqliteFile
from rxagent.tools.rules import check_count

__all__ = ["SqliteAnswers"]

_OURS = 0x72784163  # "rxAc": tells our files from those of conversations

_MIGRATIONS = (
    (
        """
        CREATE TABLE answers (
            key TEXT NOT NULL PRIMARY KEY,
            json TEXT NOT NULL,
            until_s REAL,
            used INTEGER NOT NULL
        )
        """,
        "CREATE INDEX answers_by_use ON answers (used)",
        "CREATE INDEX answers_by_end ON answers (until_s)",
    ),
)


class SqliteAnswers:
    """Answers in one SQLite file, which outlives the process; see `AnswerStore`.

    Threads, stores and processes of one machine may use the file at the same time.  All
    work is done in one thread of the store, never on the loop.  An answer whose time is
    over is erased with the next write.  Nothing is opened before the first
    subscription.

    Answers stand in the file as they are, and questions as digests alone: whoever may
    read the file reads the answers.

    Args:
        path: Of the file, which is made if need be; its folder is not.  It holds
            nothing else.
        max_entries: How many answers are kept; the one that was not looked up for
            longest has to go.
        busy_timeout_s: How long to wait for another process that writes.

    Raises:
        ConfigurationError: If ``max_entries`` is less than 1.
    """

    def __init__(
        self,
        path: str | os.PathLike[str],
        *,
        max_entries: int = 10_000,
        busy_timeout_s: float = 5.0,
    ) -> None:
        check_count("max_entries", max_entries, least=1)
        self._max_entries = max_entries
        self._file = SqliteFile(
            path,
            busy_timeout_s=busy_timeout_s,
            migrations=_MIGRATIONS,
            application_id=_OURS,
            durable=False,
        )

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self.close()

    def close(self) -> None:
        """Wait for what runs, and close the file; then every use is a `StoreError`."""
        self._file.close()

    def get(self, key: str) -> Observable[KeptAnswer | None]:
        """Look an answer up; see `AnswerStore.get`."""

        def get(database: sqlite3.Connection, now: datetime) -> KeptAnswer | None:
            rows = database.execute(
                "UPDATE answers SET used = (SELECT max(used) + 1 FROM answers) "
                "WHERE key = ? AND (until_s IS NULL OR until_s > ?) RETURNING json",
                (key, now.timestamp()),
            ).fetchall()
            return load_answer(rows[0][0]) if rows else None

        return self._file.use(get)

    def put(
        self, key: str, answer: KeptAnswer, *, ttl_s: float | None
    ) -> Observable[tuple[str, ...]]:
        """Keep an answer; see `AnswerStore.put`."""

        def put(database: sqlite3.Connection, now: datetime) -> tuple[str, ...]:
            now_s = now.timestamp()
            until_s = None if ttl_s is None else now_s + ttl_s
            database.execute("BEGIN IMMEDIATE")
            with database:
                database.execute(
                    "INSERT OR REPLACE INTO answers (key, json, until_s, used) VALUES "
                    "(?, ?, ?, (SELECT coalesce(max(used), 0) + 1 FROM answers))",
                    (key, dump_answer(answer), until_s),
                )
                gone = database.execute(
                    "DELETE FROM answers WHERE until_s <= ? AND key <> ? RETURNING key",
                    (now_s, key),
                ).fetchall()
                gone += database.execute(
                    "DELETE FROM answers WHERE key IN (SELECT key FROM answers "
                    "ORDER BY used DESC LIMIT -1 OFFSET ?) RETURNING key",
                    (self._max_entries,),
                ).fetchall()
            return tuple(each.decode() for (each,) in gone)

        return self._file.use(put)

    def clear(self) -> Observable[int]:
        """Forget everything; see `AnswerStore.clear`."""

        def clear(database: sqlite3.Connection, _: datetime) -> int:
            return database.execute("DELETE FROM answers").rowcount

        return self._file.use(clear)

    def __repr__(self) -> str:
        return f"SqliteAnswers({self._file.path!r})"
