"""The tables of a store, and how they came to be what they are."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, TypeAlias

from sqlalchemy import (
    BigInteger,
    Column,
    Connection,
    DateTime,
    Engine,
    Integer,
    MetaData,
    String,
    Table,
    Text,
    func,
    insert,
    inspect,
    select,
)
from sqlalchemy.dialects import mysql
from sqlalchemy.exc import DBAPIError

from rxagent.errors import StoreError

__all__ = ["Tables", "prepare"]

_ATTEMPTS = 5
_INNODB: dict[str, Any] = {
    f"{dialect}_{option}": value
    for dialect in ("mysql", "mariadb")
    for option, value in (("engine", "InnoDB"), ("charset", "utf8mb4"))
}


@dataclass(frozen=True, slots=True, kw_only=True)
class Tables:
    """Where everything is.

    Args:
        conversations: A row each.
        messages: A row each, by conversation and position.
        schema: A row for each version that the tables have been at.
    """

    conversations: Table
    messages: Table
    schema: Table

    @classmethod
    def named(cls, prefix: str) -> Tables:
        """The tables whose names begin with ``prefix``."""
        metadata = MetaData()
        return cls(
            conversations=Table(
                f"{prefix}conversations",
                metadata,
                Column("id", _id(), primary_key=True),
                Column("version", BigInteger, nullable=False),
                Column("messages", Integer, nullable=False),
                Column("updated_at", _utc(), nullable=False),
                **_INNODB,
            ),
            messages=Table(
                f"{prefix}messages",
                metadata,
                Column("conversation_id", _id(), primary_key=True),
                Column("position", Integer, primary_key=True, autoincrement=False),
                Column("message", _json(), nullable=False),
                **_INNODB,
            ),
            schema=Table(
                f"{prefix}schema",
                metadata,
                Column("version", Integer, primary_key=True, autoincrement=False),
                **_INNODB,
            ),
        )


def _id() -> String:
    # Compared byte for byte, whatever the database thinks of case and of languages, so
    # that two ids are never one and a page ends where the next one begins.
    return (
        String(512)
        .with_variant(Text(collation="C"), "postgresql")
        .with_variant(mysql.VARCHAR(512, collation="utf8mb4_0900_bin"), "mysql")
        .with_variant(mysql.VARCHAR(512, collation="utf8mb4_nopad_bin"), "mariadb")
    )


def _utc() -> DateTime:
    # Without a zone, which not every database keeps.
    return DateTime().with_variant(mysql.DATETIME(fsp=6), "mysql", "mariadb")


def _json() -> Text:
    # As text: nobody but this package looks into it, and JSON columns refuse NUL.
    return Text().with_variant(mysql.LONGTEXT(), "mysql", "mariadb")


_Migration: TypeAlias = Callable[[Connection, Tables], None]


def _first(connection: Connection, tables: Tables) -> None:
    for table in (tables.conversations, tables.messages):
        table.create(connection, checkfirst=True)


_MIGRATIONS: tuple[_Migration, ...] = (_first,)
"""What makes each version of the tables of the one before; one is never changed.

What is in it may have happened already, where a database commits each statement."""


def prepare(engine: Engine, tables: Tables) -> None:
    """Bring the tables to the version that this package knows.

    Several processes may do so at once: one of them does it, and the others find it
    done.

    Args:
        engine: The database.
        tables: Of the store.

    Raises:
        StoreError: If a newer version of this package has made them.
    """
    for left in reversed(range(_ATTEMPTS)):
        try:
            with engine.begin() as connection:
                _migrate(connection, tables)
        except DBAPIError:
            # Somebody else has made a table at the same moment.
            if not left:
                raise
        else:
            return


def _migrate(connection: Connection, tables: Tables) -> None:
    found = 0
    if inspect(connection).has_table(tables.schema.name):
        newest = select(func.max(tables.schema.c.version))
        found = connection.execute(newest).scalar() or 0
    if found > len(_MIGRATIONS):
        raise StoreError(
            "",
            f"is at version {found} of its tables, and this rxagent knows "
            f"{len(_MIGRATIONS)}; update rxagent",
        )
    tables.schema.create(connection, checkfirst=True)
    for version, migrate in enumerate(_MIGRATIONS[found:], start=found + 1):
        migrate(connection, tables)
        connection.execute(insert(tables.schema).values(version=version))
