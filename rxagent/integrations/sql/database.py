"""A database, as one process uses it."""

from __future__ import annotations

import os
import threading
import weakref
from collections.abc import Callable
from typing import TypeVar

from sqlalchemy import URL, Engine, create_engine, make_url
from sqlalchemy.exc import ArgumentError, DBAPIError

from rxagent.errors import ConfigurationError
from rxagent.integrations.sql.failures import may_pass
from rxagent.integrations.sql.rows import Rows
from rxagent.integrations.sql.tables import Tables, prepare
from rxagent.integrations.sql.workers import Workers

__all__ = ["Database"]

T = TypeVar("T")

_ATTEMPTS = 5
_CONNECTIONS = 10


class Database:
    """An engine, the threads that use it, and whether the tables are there.

    Args:
        where: A URL, or an engine that stays the caller's.
        tables: Of the store.

    Raises:
        ConfigurationError: If it cannot be used.
    """

    def __init__(self, where: str | URL | Engine, tables: Tables) -> None:
        if isinstance(where, Engine):
            engine = where
        else:
            engine = _engine(where)
            weakref.finalize(self, _close, engine, os.getpid())
        _check(engine)
        # Whatever the engine does otherwise.  What is stricter would undo each but one
        # of several writers, and here each of them locks what it writes.
        level = "SERIALIZABLE" if engine.dialect.name == "sqlite" else "READ COMMITTED"
        self._engine = engine.execution_options(isolation_level=level)
        self.url = engine.url
        self._tables = tables
        self._workers = Workers(_CONNECTIONS)
        self._preparing = threading.Lock()
        self._is_ready = False

    async def run(self, act: Callable[[Rows], T]) -> T:
        """Do something in one transaction, in a thread; again if it met another one.

        Args:
            act: Does it.

        Raises:
            sqlalchemy.exc.SQLAlchemyError: If it fails; then nothing is changed.
        """
        return await self._workers.run(lambda: self._transaction(act))

    def _transaction(self, act: Callable[[Rows], T]) -> T:
        self._prepare()
        for left in reversed(range(_ATTEMPTS)):
            try:
                with self._engine.begin() as connection:
                    return act(Rows(connection, self._tables))
            except DBAPIError as error:
                if not (left and may_pass(error)):
                    raise
        raise AssertionError("the last attempt returns or raises")

    def _prepare(self) -> None:
        with self._preparing:
            if not self._is_ready:
                prepare(self._engine, self._tables)
                self._is_ready = True


def _engine(where: str | URL) -> Engine:
    try:
        url = make_url(where)
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
    except ArgumentError:  # which may show all of it
        raise ConfigurationError(
            "this is no URL of a database that SQLAlchemy knows; write it like "
            "'postgresql+psycopg://user@host/name'"
        ) from None


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


def _close(engine: Engine, process: int) -> None:
    # In a fork the sockets are those of the parent, which goes on with them.
    engine.dispose(close=os.getpid() == process)
