"""Conversations in a SQL database."""

from __future__ import annotations

import asyncio
import threading
import weakref
from collections.abc import Callable, Sequence
from datetime import datetime
from typing import TypeVar

import reactivex
from reactivex import Observable, abc
from sqlalchemy import URL, Engine, create_engine, make_url
from sqlalchemy.exc import ArgumentError, DBAPIError, SQLAlchemyError

from rxagent.errors import ConfigurationError, StoreError
from rxagent.integrations.sql.failures import Doing, may_pass, shown, store_error
from rxagent.integrations.sql.rows import Rows
from rxagent.integrations.sql.tables import Tables, prepare
from rxagent.integrations.sql.workers import Workers
from rxagent.memory.conversation import Conversation, ConversationInfo
from rxagent.memory.versions import check_id, write_time
from rxagent.messages import Message
from rxagent.operators import concat_each, just
from rxagent.runtime import Sink, from_producer

__all__ = ["SqlStore"]

T = TypeVar("T")

_ATTEMPTS = 5
_CONNECTIONS = 10


class SqlStore:
    """Conversations in a SQL database: PostgreSQL, MySQL, MariaDB or SQLite.

    The tables are made, and brought up to date, before they are first used.  A write is
    one transaction, so several processes and machines may share a database.  It runs in
    a thread, with any driver that blocks.

    Args:
        database: A URL, such as ``"postgresql+psycopg://user@host/name"``, or an engine
            of your own, which is used as it is and never disposed.
        prefix: What the names of the tables begin with.
        timeout_s: How long a call may take, in seconds, with the wait for a connection.

    Raises:
        ConfigurationError: If the URL cannot be read, its driver is not installed or
            does not block, the database is in memory, or ``timeout_s`` is not above 0.
    """

    def __init__(
        self,
        database: str | URL | Engine,
        *,
        prefix: str = "rxagent_",
        timeout_s: float = 30.0,
    ) -> None:
        if not timeout_s > 0:
            raise ConfigurationError(f"timeout_s must be above 0, got {timeout_s}")
        if isinstance(database, Engine):
            engine = database
        else:
            engine = _engine(database)
            weakref.finalize(self, engine.dispose)
        _check(engine)
        # Whatever the engine does otherwise.  What is stricter would undo each but one
        # of several writers, and here each of them locks what it writes.
        level = "SERIALIZABLE" if engine.dialect.name == "sqlite" else "READ COMMITTED"
        self._engine = engine.execution_options(isolation_level=level)
        self._tables = Tables.named(prefix)
        self._timeout_s = timeout_s
        self._workers = Workers(_CONNECTIONS)
        self._preparing = threading.Lock()
        self._is_ready = False

    def load(self, conversation_id: str) -> Observable[Conversation]:
        """Read a conversation; see `ConversationStore.load`."""

        def load(rows: Rows, _: datetime) -> Conversation:
            return rows.load(conversation_id)

        return self._once(load, conversation_id, doing="read")

    def append(
        self,
        conversation_id: str,
        messages: Sequence[Message],
        *,
        expected_version: int | None = None,
    ) -> Observable[int]:
        """Put messages behind the others; see `ConversationStore.append`."""
        added = tuple(messages)

        def append(rows: Rows, now: datetime) -> int:
            if not added:
                return rows.version(conversation_id)
            return rows.write(
                conversation_id,
                added,
                expected=expected_version,
                replaces=False,
                now=now,
            )

        return self._once(append, conversation_id, doing="written")

    def replace(
        self,
        conversation_id: str,
        messages: Sequence[Message],
        *,
        expected_version: int | None = None,
    ) -> Observable[int]:
        """Put messages in the place of the others; see `ConversationStore.replace`."""
        kept = tuple(messages)

        def replace(rows: Rows, now: datetime) -> int:
            return rows.write(
                conversation_id, kept, expected=expected_version, replaces=True, now=now
            )

        return self._once(replace, conversation_id, doing="written")

    def delete(self, conversation_id: str) -> Observable[bool]:
        """Forget a conversation; see `ConversationStore.delete`."""

        def delete(rows: Rows, _: datetime) -> bool:
            return rows.delete(conversation_id)

        return self._once(delete, conversation_id, doing="deleted")

    def conversations(
        self, *, limit: int = 100, after: str | None = None
    ) -> Observable[ConversationInfo]:
        """List a page of conversations; see `ConversationStore.conversations`."""

        def page(rows: Rows, _: datetime) -> list[ConversationInfo]:
            return rows.page(limit=limit, after=after)

        return self._once(page, doing="read").pipe(concat_each(_each))

    def __repr__(self) -> str:
        return f"SqlStore({shown(self._engine.url)!r})"

    def _once(
        self,
        act: Callable[[Rows, datetime], T],
        conversation_id: str = "",
        *,
        doing: Doing,
    ) -> Observable[T]:
        """Act once for each subscription, in a thread, within ``timeout_s``."""

        def start(scheduler: abc.SchedulerBase) -> Observable[T]:
            now = write_time(scheduler)

            def work() -> T:
                return self._work(lambda rows: act(rows, now), conversation_id, doing)

            async def produce(sink: Sink[T]) -> None:
                try:
                    async with asyncio.timeout(self._timeout_s):
                        result = await self._workers.run(work)
                except TimeoutError:
                    raise self._late(conversation_id, doing) from None
                sink.emit(result)

            return from_producer(produce)

        return reactivex.defer(start)

    def _work(self, act: Callable[[Rows], T], conversation_id: str, doing: Doing) -> T:
        check_id(conversation_id)
        try:
            self._prepare()
            return self._transaction(act)
        except SQLAlchemyError as error:
            failure = store_error(
                conversation_id, error, doing=doing, url=self._engine.url
            )
        raise failure  # here, where SQLAlchemy's error is no context of it

    def _prepare(self) -> None:
        with self._preparing:
            if not self._is_ready:
                prepare(self._engine, self._tables)
                self._is_ready = True

    def _transaction(self, act: Callable[[Rows], T]) -> T:
        for left in reversed(range(_ATTEMPTS)):
            try:
                with self._engine.begin() as connection:
                    return act(Rows(connection, self._tables))
            except DBAPIError as error:
                if not (left and may_pass(error)):
                    raise
        raise AssertionError("the last attempt returns or raises")

    def _late(self, conversation_id: str, doing: Doing) -> StoreError:
        unsure = "" if doing == "read" else f"; whether it was {doing} is not known"
        return StoreError(
            conversation_id,
            f"cannot be {doing}: {shown(self._engine.url)} has not answered "
            f"within {self._timeout_s:g} s{unsure}",
        )


def _engine(database: str | URL) -> Engine:
    try:
        url = make_url(database)
        return create_engine(
            url,
            pool_size=_CONNECTIONS,
            pool_pre_ping=True,  # a server that was restarted is no failure
            hide_parameters=True,  # they are what people say
            # How long one writer of SQLite waits for another.
            connect_args={"timeout": 30} if url.get_backend_name() == "sqlite" else {},
        )
    except ModuleNotFoundError as error:
        raise ConfigurationError(
            f"the driver {error.name!r} of the database is not installed"
        ) from error
    except ArgumentError as error:
        raise ConfigurationError(
            "this is no URL of a database that SQLAlchemy knows; write it like "
            "'postgresql+psycopg://user@host/name'"
        ) from error


def _check(engine: Engine) -> None:
    if engine.dialect.is_async:
        raise ConfigurationError(
            f"the driver {engine.driver!r} does not block; "
            "take one that does, such as postgresql+psycopg or sqlite"
        )
    in_memory = engine.url.database in (None, "", ":memory:")
    if engine.dialect.name == "sqlite" and in_memory:
        raise ConfigurationError(
            "each thread would have a SQLite database in memory of its own; "
            "name a file, or take MemoryStore"
        )


def _each(infos: list[ConversationInfo]) -> Observable[ConversationInfo]:
    return just(*infos)
