"""An SQLite file of ours: opened, brought up to date, used on one thread."""

from __future__ import annotations

import os
import sqlite3
from collections.abc import Callable, Generator, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import contextmanager
from datetime import datetime
from typing import ParamSpec, TypeVar

import reactivex
from reactivex import Observable, abc

from rxagent.errors import ConfigurationError, RxAgentError, StoreError
from rxagent.memory.versions import write_time
from rxagent.runtime import from_thread

__all__ = ["MIGRATIONS", "SqliteFile"]

P = ParamSpec("P")
T = TypeVar("T")

_CONVERSATIONS = 0x72784167  # "rxAg": tells our files from those of other programs

MIGRATIONS: tuple[Sequence[str], ...] = (
    (
        """
        CREATE TABLE conversations (
            id TEXT NOT NULL PRIMARY KEY,
            version INTEGER NOT NULL,
            updated_at TEXT NOT NULL
        )
        """,
        """
        CREATE TABLE messages (
            conversation_id TEXT NOT NULL
                REFERENCES conversations (id) ON DELETE CASCADE,
            position INTEGER NOT NULL,
            json TEXT NOT NULL,
            PRIMARY KEY (conversation_id, position)
        )
        """,
    ),
)
"""The statements that lead from each version of the file to the next; 0 is empty."""


class SqliteFile:
    """A file, and the thread and connection with which a process uses it.

    Nothing is opened before it is needed, and after a fork the child opens its own:
    neither threads nor connections live on there.

    Args:
        path: Of the file, or ``":memory:"``.
        busy_timeout_s: How long to wait for another one who writes.
        migrations: As `MIGRATIONS`.
        application_id: SQLite's mark of what is in a file; each kind has its own.
        failed: Makes the error of a conversation, if it is one's, and of a problem.
        durable: Whether a write is on the disk when it is told.  If not, a machine that
            loses its power loses the last writes, and none by half.

    Raises:
        ConfigurationError: If ``path`` is none, or ``busy_timeout_s`` no time.
    """

    def __init__(
        self,
        path: str | os.PathLike[str],
        *,
        busy_timeout_s: float,
        migrations: Sequence[Sequence[str]] = MIGRATIONS,
        application_id: int = _CONVERSATIONS,
        failed: Callable[[str, str], RxAgentError] = StoreError,
        durable: bool = True,
    ) -> None:
        self.path = _path(path)
        wait_s: object = busy_timeout_s
        if not isinstance(wait_s, int | float) or wait_s < 0:
            raise ConfigurationError(
                f"busy_timeout_s must be 0 seconds or more, got {wait_s!r}"
            )
        self._busy_timeout_s = busy_timeout_s
        self._migrations = migrations
        self._application_id = application_id
        self._failed = failed
        self._durable = durable
        self._workers: dict[int, _Worker] = {}

    def use(
        self,
        act: Callable[[sqlite3.Connection, datetime], T],
        *,
        conversation: str = "",
    ) -> Observable[T]:
        """Run ``act`` on the thread of the file, once for each subscription.

        Args:
            act: Takes the connection, outside of any transaction, and the time of the
                subscription.
            conversation: Its id, for errors.

        Returns:
            Emits what it returns; the error of ``failed`` if SQLite fails.
        """

        def subscribe(scheduler: abc.SchedulerBase) -> Observable[T]:
            now = write_time(scheduler)
            worker = self._worker()

            def run() -> T:
                with self._errors(conversation):
                    if worker.connection is None:
                        worker.connection = self._connect()
                    return act(worker.connection, now)

            return from_thread(run, pool=worker)

        return reactivex.defer(subscribe)

    def close(self) -> None:
        """Wait for what runs, and close the file."""
        worker = self._worker()
        worker.shutdown()
        if worker.connection is not None:
            worker.connection.close()

    def _worker(self) -> _Worker:
        process = os.getpid()
        if (worker := self._workers.get(process)) is not None:
            return worker
        # Atomic, and one that loses the race has started nothing.
        return self._workers.setdefault(process, _Worker(self._closed))

    def _closed(self, error: Exception) -> RxAgentError:
        return self._failed(
            "", f"cannot be used: {self.path} is closed ({error}); open it anew"
        )

    def _connect(self) -> sqlite3.Connection:
        connection = sqlite3.connect(
            self.path,
            timeout=self._busy_timeout_s,
            isolation_level=None,  # transactions begin where we say so
            check_same_thread=False,  # `close` is called from another one
        )
        try:
            self._prepare(connection)
        except BaseException:
            connection.close()
            raise
        return connection

    def _prepare(self, connection: sqlite3.Connection) -> None:
        connection.text_factory = bytes  # which is what the JSON decoder wants
        connection.execute("PRAGMA foreign_keys = ON")
        connection.execute("PRAGMA secure_delete = ON")
        synchronous = "FULL" if self._durable else "NORMAL"
        connection.execute(f"PRAGMA synchronous = {synchronous}")
        connection.execute("BEGIN")  # all that tells whose it is, at one moment
        with connection:
            version = self._version(connection)
        if version < len(self._migrations):
            connection.execute("BEGIN IMMEDIATE")
            with connection:
                # Again, as another process may have been faster.
                for step in self._migrations[self._version(connection) :]:
                    for statement in step:
                        connection.execute(statement)
                connection.execute(f"PRAGMA application_id = {self._application_id}")
                connection.execute(f"PRAGMA user_version = {len(self._migrations)}")
        try:
            connection.execute("PRAGMA journal_mode = WAL")
        except sqlite3.OperationalError as error:
            # SQLite does not wait here.  The file works without it, and whoever opens
            # it while nobody else reads makes it so for all.
            if error.sqlite_errorcode != sqlite3.SQLITE_BUSY:
                raise

    def _version(self, connection: sqlite3.Connection) -> int:
        (owner,) = connection.execute("PRAGMA application_id").fetchone()
        (version,) = connection.execute("PRAGMA user_version").fetchone()
        (tables,) = connection.execute("SELECT count(*) FROM sqlite_master").fetchone()
        if owner != self._application_id and (owner or version or tables):
            raise self._failed(
                "",
                f"cannot use {self.path}: it is the database of another program; "
                "choose another path",
            )
        if version > len(self._migrations):
            raise self._failed(
                "",
                f"cannot use {self.path}: a newer rxagent has written it (version "
                f"{version} of the file; this one knows {len(self._migrations)}); "
                "update rxagent",
            )
        return int(version)

    @contextmanager
    def _errors(self, conversation: str) -> Generator[None]:
        try:
            yield
        except sqlite3.Error as error:
            # An error of the module itself has no name.
            name = getattr(error, "sqlite_errorname", "")
            problem, advice = _told(name, self._busy_timeout_s)
            raise self._failed(
                conversation,
                f"cannot be used in {self.path}: {problem} ({error}); {advice}",
            ) from error


class _Worker(ThreadPoolExecutor):
    """The thread of a process that uses the file, and its connection."""

    def __init__(self, closed: Callable[[Exception], RxAgentError]) -> None:
        super().__init__(1, thread_name_prefix="rxagent-sqlite")
        self.connection: sqlite3.Connection | None = None
        self._closed = closed

    def submit(
        self, fn: Callable[P, T], /, *args: P.args, **kwargs: P.kwargs
    ) -> Future[T]:
        try:
            return super().submit(fn, *args, **kwargs)
        except RuntimeError as error:
            raise self._closed(error) from None


def _path(given: str | os.PathLike[str]) -> str:
    try:
        path: object = os.fspath(given)
    except TypeError:
        path = None
    if not isinstance(path, str):
        raise ConfigurationError(f"path takes the path of a file, not {given!r}")
    return path


def _told(name: str, busy_timeout_s: float) -> tuple[str, str]:
    """What is wrong, and what to do, by the name of SQLite's code."""
    family = "_".join(name.split("_")[:2])
    match family:
        case "SQLITE_BUSY" | "SQLITE_LOCKED":
            return (
                f"another one has locked it for {busy_timeout_s:g} s",
                "end what holds it, or raise busy_timeout_s",
            )
        case "SQLITE_CORRUPT" | "SQLITE_NOTADB":
            return (
                "it is no SQLite file, or a damaged one",
                "restore it from a copy, or choose another path",
            )
        case "SQLITE_CANTOPEN":
            return "it cannot be opened", "make its folder, and allow to write there"
        case "SQLITE_READONLY" | "SQLITE_PERM":
            return "it cannot be written", "allow to write it and its folder"
        case "SQLITE_FULL":
            return "the disk is full", "make room; nothing was written"
        case _:
            return "SQLite failed", "nothing was written"
