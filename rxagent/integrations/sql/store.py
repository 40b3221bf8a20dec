"""Conversations in a SQL database."""

from __future__ import annotations

import asyncio
import os
from collections.abc import Callable, Sequence
from datetime import datetime
from typing import TypeVar

import reactivex
from reactivex import Observable, abc
from sqlalchemy import URL, Engine
from sqlalchemy.exc import SQLAlchemyError

from rxagent.errors import ConfigurationError, StoreError
from rxagent.integrations.sql.database import Database
from rxagent.integrations.sql.failures import Doing, shown, store_error
from rxagent.integrations.sql.rows import Rows
from rxagent.integrations.sql.tables import Tables
from rxagent.memory.conversation import Conversation, ConversationInfo
from rxagent.memory.versions import check_id, write_time
from rxagent.messages import Message
from rxagent.operators import concat_each, just
from rxagent.runtime import Sink, from_producer

__all__ = ["SqlStore"]

T = TypeVar("T")


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
        self._tables = Tables.named(prefix)
        self._where = database
        self._timeout_s = timeout_s
        # One for each process: a fork has the connections of its parent.
        self._databases = {os.getpid(): Database(database, self._tables)}

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
        return f"SqlStore({shown(self._here().url)!r})"

    def _once(
        self,
        act: Callable[[Rows, datetime], T],
        conversation_id: str | None = None,
        *,
        doing: Doing,
    ) -> Observable[T]:
        """Act once for each subscription, in a thread, within ``timeout_s``."""

        def start(scheduler: abc.SchedulerBase) -> Observable[T]:
            now = write_time(scheduler)

            async def produce(sink: Sink[T]) -> None:
                if conversation_id is not None:
                    check_id(conversation_id)
                database = self._here()
                try:
                    async with asyncio.timeout(self._timeout_s):
                        result = await database.run(lambda rows: act(rows, now))
                except TimeoutError:
                    raise self._late(conversation_id, doing) from None
                except SQLAlchemyError as error:
                    failure = store_error(
                        conversation_id or "", error, doing=doing, url=database.url
                    )
                else:
                    sink.emit(result)
                    return
                raise failure  # here, where SQLAlchemy's error is no context of it

            return from_producer(produce)

        return reactivex.defer(start)

    def _here(self) -> Database:
        process = os.getpid()
        if process not in self._databases:
            database = Database(self._where, self._tables)
            self._databases.setdefault(process, database)
        return self._databases[process]

    def _late(self, conversation_id: str | None, doing: Doing) -> StoreError:
        unsure = "" if doing == "read" else f"; whether it was {doing} is not known"
        return StoreError(
            conversation_id or "",
            f"cannot be {doing}: {shown(self._here().url)} has not answered "
            f"within {self._timeout_s:g} s{unsure}",
        )


def _each(infos: list[ConversationInfo]) -> Observable[ConversationInfo]:
    return just(*infos)
