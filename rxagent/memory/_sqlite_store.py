from __future__ import annotations

import os
import sqlite3
from collections.abc import Callable, Sequence
from datetime import datetime
from types import TracebackType
from typing import Self, TypeVar

from reactivex import Observable

from rxagent.errors import HistoryError, StoreError
from rxagent.memory._sqlite_file import SqliteFile
from rxagent.memory.conversation import Conversation, ConversationInfo
from rxagent.memory.rows import messages_of, rows_of
from rxagent.memory.versions import check_id, next_version
from rxagent.messages import Message
from rxagent.operators import concat_each, just

__all__ = ["SqliteStore"]

T = TypeVar("T")


class SqliteStore:
    """Conversations in one SQLite file, which needs no server.

    Any number of threads, stores and processes of one machine may use the file at the
    same time.  A write is on the disk when it is told; a process that is killed leaves
    whole writes only.  What is deleted is overwritten, in the file and in its log.

    All work is done in one thread of the store, never on the loop.  Disposing a
    subscription takes its work off the queue; what has begun is done wholly.  Nothing
    is opened before the first subscription.

    Args:
        path: Of the file, which is made if need be; its folder is not.  ``":memory:"``
            is a database of this store alone, gone when it is closed.
        busy_timeout_s: How long to wait for another process that writes.
    """

    def __init__(
        self, path: str | os.PathLike[str], *, busy_timeout_s: float = 5.0
    ) -> None:
        self._file = SqliteFile(path, busy_timeout_s=busy_timeout_s)

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

    def load(self, conversation_id: str) -> Observable[Conversation]:
        """Read a conversation; see `ConversationStore.load`."""

        def read(database: sqlite3.Connection, _: datetime) -> Conversation:
            database.execute("BEGIN")  # both are read at the same version
            with database:
                version = _version(database, conversation_id)
                rows = database.execute(
                    "SELECT json FROM messages WHERE conversation_id = ? "
                    "ORDER BY position",
                    (conversation_id,),
                ).fetchall()
            messages = messages_of(conversation_id, [row for (row,) in rows])
            return Conversation(id=conversation_id, messages=messages, version=version)

        return self._use(conversation_id, read)

    def append(
        self,
        conversation_id: str,
        messages: Sequence[Message],
        *,
        expected_version: int | None = None,
    ) -> Observable[int]:
        """Put messages behind the others; see `ConversationStore.append`."""
        added = tuple(messages)

        def write(database: sqlite3.Connection, now: datetime) -> int:
            if not added:
                return _version(database, conversation_id)
            rows = rows_of(added)
            database.execute("BEGIN IMMEDIATE")
            with database:
                version = _next(database, conversation_id, expected_version, now)
                (position,) = database.execute(
                    "SELECT coalesce(max(position) + 1, 0) FROM messages "
                    "WHERE conversation_id = ?",
                    (conversation_id,),
                ).fetchone()
                _insert(database, conversation_id, position, rows)
            return version

        return self._use(conversation_id, write)

    def replace(
        self,
        conversation_id: str,
        messages: Sequence[Message],
        *,
        expected_version: int | None = None,
    ) -> Observable[int]:
        """Put messages in the place of the others; see `ConversationStore.replace`."""
        kept = tuple(messages)

        def write(database: sqlite3.Connection, now: datetime) -> int:
            rows = rows_of(kept)
            database.execute("BEGIN IMMEDIATE")
            with database:
                version = _next(database, conversation_id, expected_version, now)
                database.execute(
                    "DELETE FROM messages WHERE conversation_id = ?", (conversation_id,)
                )
                _insert(database, conversation_id, 0, rows)
            return version

        return self._use(conversation_id, write)

    def delete(self, conversation_id: str) -> Observable[bool]:
        """Forget a conversation; see `ConversationStore.delete`.

        Its bytes are overwritten.  If somebody else reads the file all the time, those
        in its log stay: that is a `StoreError`, and deleting once more tries again.
        """

        def forget(database: sqlite3.Connection, _: datetime) -> bool:
            found = database.execute(
                "DELETE FROM conversations WHERE id = ?", (conversation_id,)
            ).rowcount
            done = database.execute("PRAGMA wal_checkpoint(TRUNCATE)").fetchone()
            if done[0]:
                raise StoreError(
                    conversation_id,
                    f"is deleted, but its bytes are still in {self._file.path}-wal, as "
                    "somebody else reads that; delete it once more when nobody does",
                )
            return found > 0

        return self._use(conversation_id, forget)

    def conversations(
        self, *, limit: int = 100, after: str | None = None
    ) -> Observable[ConversationInfo]:
        """List a page of conversations; see `ConversationStore.conversations`."""

        def page(database: sqlite3.Connection, _: datetime) -> list[ConversationInfo]:
            rows = database.execute(
                "SELECT id, version, updated_at, "
                "(SELECT count(*) FROM messages WHERE conversation_id = id) "
                "FROM conversations WHERE id > ? ORDER BY id LIMIT ?",
                (after or "", limit),
            )
            return [_info(row) for row in rows]

        return self._file.use(page).pipe(concat_each(_each))

    def _use(
        self, conversation_id: str, act: Callable[[sqlite3.Connection, datetime], T]
    ) -> Observable[T]:
        def checked(database: sqlite3.Connection, now: datetime) -> T:
            check_id(conversation_id)
            return act(database, now)

        return self._file.use(checked, conversation=conversation_id)


def _version(database: sqlite3.Connection, conversation_id: str) -> int:
    row = database.execute(
        "SELECT version FROM conversations WHERE id = ?", (conversation_id,)
    ).fetchone()
    return 0 if row is None else int(row[0])


def _next(
    database: sqlite3.Connection,
    conversation_id: str,
    expected: int | None,
    now: datetime,
) -> int:
    found = _version(database, conversation_id)
    version = next_version(conversation_id, found=found, expected=expected)
    database.execute(
        "INSERT INTO conversations (id, version, updated_at) VALUES (?, ?, ?) "
        "ON CONFLICT (id) DO UPDATE "
        "SET version = excluded.version, updated_at = excluded.updated_at",
        (conversation_id, version, now.isoformat()),
    )
    return version


def _insert(
    database: sqlite3.Connection, conversation_id: str, first: int, rows: list[bytes]
) -> None:
    database.executemany(
        "INSERT INTO messages (conversation_id, position, json) VALUES (?, ?, ?)",
        (
            (conversation_id, position, row.decode())
            for position, row in enumerate(rows, start=first)
        ),
    )


def _each(infos: list[ConversationInfo]) -> Observable[ConversationInfo]:
    return just(*infos)


def _info(row: tuple[bytes, int, bytes, int]) -> ConversationInfo:
    name, version, updated_at, count = row
    try:
        return ConversationInfo(
            id=name.decode(),
            messages=count,
            version=version,
            updated_at=datetime.fromisoformat(updated_at.decode()),
        )
    except ValueError as error:
        raise HistoryError(f"conversation {name!r} in the list", str(error)) from None
