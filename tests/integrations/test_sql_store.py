from __future__ import annotations

import gc
import subprocess
import sys
import threading
import traceback
from collections.abc import Generator, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from datetime import UTC, datetime
from pathlib import Path
from typing import Literal
from uuid import uuid4

import pytest
from reactivex.testing import TestScheduler
from sqlalchemy import Engine, create_engine, event, text
from sqlalchemy.dialects import mysql
from sqlalchemy.dialects.mysql.mariadb import MariaDBDialect
from sqlalchemy.engine.interfaces import Dialect
from sqlalchemy.schema import CreateTable

from rxagent.errors import ConfigurationError, StoreError
from rxagent.integrations.sql import SqlStore
from rxagent.integrations.sql.tables import Tables
from rxagent.memory import Conversation, ConversationStore
from rxagent.messages import UserMessage
from rxagent.runtime import block, run
from rxagent.testing import assert_store_contract
from tests.integrations.database_servers import DatabaseServer
from tests.integrations.store_writer import in_processes, write


@pytest.fixture
def engine(pg: DatabaseServer) -> Iterator[Engine]:
    engine = create_engine(pg.url)
    yield engine
    engine.dispose()


@pytest.fixture
def prefix(engine: Engine) -> Iterator[str]:
    """Of tables that no other test has."""
    prefix = f"t{uuid4().hex[:8]}_"
    yield prefix
    with engine.begin() as connection:
        for name in ("conversations", "messages", "schema"):
            connection.execute(text(f"DROP TABLE IF EXISTS {prefix}{name}"))


def texts(store: ConversationStore, conversation: str) -> list[str]:
    return [message.text for message in run(store.load(conversation)).messages]


def test_the_store_in_postgres_keeps_the_contract(pg: DatabaseServer) -> None:
    """S003-9."""
    assert_store_contract(SqlStore(pg.url))


def test_the_store_in_a_file_of_sqlite_keeps_the_contract(tmp_path: Path) -> None:
    assert_store_contract(SqlStore(f"sqlite:///{tmp_path / 'chat.db'}"))


@pytest.mark.parametrize("isolation_level", ["AUTOCOMMIT", "SERIALIZABLE"])
def test_an_engine_of_any_isolation_keeps_the_contract(
    pg: DatabaseServer, isolation_level: Literal["AUTOCOMMIT", "SERIALIZABLE"]
) -> None:
    engine = create_engine(pg.url, isolation_level=isolation_level)
    try:
        assert_store_contract(SqlStore(engine))
    finally:
        engine.dispose()


def test_a_hundred_writers_at_once_lose_nothing(pg: DatabaseServer) -> None:
    """Sixty threads here and forty turns in four other processes."""
    store, which = SqlStore(pg.url), uuid4().hex
    elsewhere = [[f"p{n}-{m}" for m in range(10)] for n in range(4)]
    here = [f"t{n}" for n in range(60)]

    with ThreadPoolExecutor(61) as pool:
        others = pool.submit(in_processes, "sql", pg.url, which, elsewhere)
        versions = [*pool.map(lambda name: write(store, which, name), here)]
        others.result()

    written = texts(store, which)
    assert len(set(versions)) == 60
    assert run(store.load(which)).version == 100
    assert sorted(written[::2]) == sorted(
        f"{name}?" for name in [*here, *(each for names in elsewhere for each in names)]
    )
    assert [said.replace("?", ".") for said in written[::2]] == written[1::2]


def test_stores_that_start_at_once_make_the_tables_once(
    pg: DatabaseServer, engine: Engine, prefix: str
) -> None:
    stores = [SqlStore(pg.url, prefix=prefix) for _ in range(8)]
    together = threading.Barrier(8)

    def start(store: SqlStore) -> Conversation:
        together.wait()
        return run(store.load("a"))

    with ThreadPoolExecutor(8) as pool:
        assert [*pool.map(start, stores)] == [Conversation(id="a")] * 8
    with engine.connect() as connection:
        versions = connection.execute(text(f"SELECT version FROM {prefix}schema")).all()
    assert [row[0] for row in versions] == [1]


def test_tables_of_a_newer_version_are_left_alone(
    pg: DatabaseServer, engine: Engine, prefix: str
) -> None:
    run(SqlStore(pg.url, prefix=prefix).load("a"))
    with engine.begin() as connection:
        connection.execute(text(f"INSERT INTO {prefix}schema VALUES (99)"))

    with pytest.raises(
        StoreError, match=r"at version 99 of its tables.*update rxagent"
    ):
        write(SqlStore(pg.url, prefix=prefix), "a", "x")


def test_deleting_leaves_no_row(
    pg: DatabaseServer, engine: Engine, prefix: str
) -> None:
    store = SqlStore(pg.url, prefix=prefix)
    write(store, "a", "x")

    assert run(store.delete("a"))

    with engine.connect() as connection:
        for name in ("conversations", "messages"):
            rows = connection.execute(text(f"SELECT count(*) FROM {prefix}{name}"))
            assert rows.scalar_one() == 0


def test_a_write_is_stamped_with_the_time_of_its_subscription(tmp_path: Path) -> None:
    store, scheduler = SqlStore(f"sqlite:///{tmp_path / 'a.db'}"), TestScheduler()
    done = threading.Event()

    scheduler.advance_to(90)
    store.append("a", [UserMessage.of("hello")]).subscribe(
        on_completed=done.set, scheduler=scheduler
    )
    assert done.wait(10)

    [info] = block(store.conversations())
    assert info.updated_at == datetime(1970, 1, 1, 0, 1, 30, tzinfo=UTC)


def test_a_server_that_crashes_under_a_write_is_an_error_and_comes_back(
    pg: DatabaseServer, engine: Engine
) -> None:
    store, which = SqlStore(pg.url), uuid4().hex
    write(store, which, "first")
    failed: list[Exception] = []
    ended = threading.Event()

    def fail(error: Exception) -> None:
        failed.append(error)
        ended.set()

    with row_held(engine, which):
        store.append(which, [UserMessage.of("lost")]).subscribe(
            on_error=fail, on_completed=ended.set
        )
        wait_for_a_writer(engine)
        pg.crash()
        assert ended.wait(10)
    [error] = failed
    assert isinstance(error, StoreError)
    assert error.conversation == which
    assert "is not known" in str(error)
    assert error.__cause__ is not None

    with pytest.raises(StoreError, match="cannot be read"):
        run(store.load(which))
    pg.start()
    assert texts(store, which) == ["first?", "first."]
    assert write(store, which, "second") == 2


def test_a_database_that_does_not_answer_is_an_error(
    pg: DatabaseServer, engine: Engine
) -> None:
    which = uuid4().hex
    write(SqlStore(pg.url), which, "first")
    hasty = SqlStore(pg.url, timeout_s=0.2)
    run(hasty.load(which))  # the tables are there

    with row_held(engine, which), pytest.raises(StoreError) as failed:
        write(hasty, which, "late")

    assert "has not answered within 0.2 s" in str(failed.value)
    assert "whether it was written is not known" in str(failed.value)
    assert texts(hasty, which)[:2] == ["first?", "first."]


def test_what_waits_for_a_thread_and_is_left_is_not_written(
    pg: DatabaseServer, engine: Engine
) -> None:
    store, held, free = SqlStore(pg.url), uuid4().hex, uuid4().hex
    write(store, held, "first")
    turns = [store.append(held, [UserMessage.of(str(n))]) for n in range(10)]

    with row_held(engine, held):
        waiting = [turn.subscribe(on_error=print) for turn in turns]  # all threads wait
        wait_for_a_writer(engine, count=10)
        left = store.append(free, [UserMessage.of("left")]).subscribe()
        left.dispose()
        for each in waiting:
            each.dispose()

    assert write(store, free, "next") == 1


@pytest.mark.parametrize(
    "url",
    [
        "postgresql+psycopg://me:hunter2hunter2@127.0.0.1:9/chats",
        "postgresql+psycopg://me@127.0.0.1:9/chats?password=hunter2hunter2",
    ],
)
def test_a_password_is_shown_nowhere(url: str) -> None:
    store = SqlStore(url)

    with pytest.raises(StoreError, match="cannot be written") as failed:
        write(store, "a", "x")

    told = "".join(traceback.format_exception(failed.value))
    assert "hunter2" not in told + repr(store)
    assert repr(store) == "SqlStore('postgresql+psycopg://127.0.0.1:9/chats')"


def test_an_error_does_not_show_what_was_to_be_written(
    engine: Engine, prefix: str
) -> None:
    """Not even if the engine is one that shows it in its own errors."""
    store, words = SqlStore(engine, prefix=prefix), "a private" + " word"
    run(store.load("a"))
    with engine.begin() as connection:
        connection.execute(text(f"DROP TABLE {prefix}messages"))

    with pytest.raises(StoreError, match=r"cannot be written.*messages") as failed:
        write(store, "a", words)

    assert words not in "".join(traceback.format_exception(failed.value))
    assert failed.value.__cause__ is not None


@pytest.mark.parametrize(
    ("url", "problem"),
    [
        ("postgresql+asyncpg://host/db", "asyncpg"),
        ("sqlite+aiosqlite:///a.db", "aiosqlite"),
        ("mysql+cymysql://host/db", "'cymysql' of the database is not installed"),
        ("sqlite://", "name a file, or take MemoryStore"),
        ("postgres://me:hunter2@host/db", "write it like"),
        ("no url, but hunter2", "write it like"),
    ],
)
def test_what_cannot_work_is_refused_when_it_is_built(url: str, problem: str) -> None:
    with pytest.raises(ConfigurationError) as refused:
        SqlStore(url)

    assert problem in str(refused.value)
    assert "hunter2" not in "".join(traceback.format_exception(refused.value))


def test_a_timeout_is_above_zero() -> None:
    with pytest.raises(ConfigurationError, match="timeout_s must be above 0, got 0"):
        SqlStore("sqlite:///a.db", timeout_s=0)


def test_connections_go_with_their_store_and_an_engine_that_was_given_stays(
    pg: DatabaseServer, engine: Engine
) -> None:
    opened: list[str] = []
    with engine.connect() as watching:

        def count() -> int:
            names = (
                "SELECT count(*) FROM pg_stat_activity WHERE application_name = 'us'"
            )
            watching.rollback()  # within a transaction the count stays as it is
            return int(watching.execute(text(names)).scalar_one())

        store = SqlStore(f"{pg.url}&application_name=us")
        write(store, uuid4().hex, "x")
        assert count() >= 1
        del store
        gc.collect()
        while count():  # the server needs a moment to notice
            pass

    event.listen(engine, "close", lambda *_: opened.append("closed"))
    given = SqlStore(engine)
    write(given, uuid4().hex, "x")
    del given
    gc.collect()
    assert opened == []


def test_a_fork_does_not_touch_the_connections_of_its_parent(
    pg: DatabaseServer,
) -> None:
    program = f"""
import os, sys, warnings
warnings.filterwarnings("ignore")  # of forks on Python 3.12, of the driver in the child
from rxagent.integrations.sql import SqlStore
from tests.integrations.store_writer import write

def connection():
    with store._here()._engine.connect() as connection:
        return connection.exec_driver_sql("SELECT pg_backend_pid()").scalar_one()

store, which = SqlStore({pg.url!r}), {uuid4().hex!r}
write(store, which, "parent")
before = connection()
child = os.fork()
if not child:
    write(store, which, "child")
    sys.exit(connection() == before)
print(os.waitpid(child, 0)[1], write(store, which, "again"), connection() == before)
"""
    done = subprocess.run(
        [sys.executable, "-c", program],
        cwd=Path(__file__).parents[2],
        capture_output=True,
        text=True,
        check=False,
    )
    assert (done.stdout, done.stderr) == ("0 3 True\n", "")


@pytest.mark.parametrize(
    ("dialect", "collation"),
    [(mysql.dialect(), "utf8mb4_0900_bin"), (MariaDBDialect(), "utf8mb4_nopad_bin")],
    ids=["mysql", "mariadb"],
)
def test_mysql_and_mariadb_would_compare_ids_byte_for_byte(
    dialect: Dialect, collation: str
) -> None:
    """No server of theirs runs here, so this is what they would be told."""
    tables = Tables.named("rxagent_")

    told = [
        str(CreateTable(table).compile(dialect=dialect))
        for table in (tables.conversations, tables.messages)
    ]

    assert all(f"VARCHAR(512) COLLATE {collation}" in each for each in told)
    assert all("ENGINE=InnoDB" in each for each in told)
    assert "DATETIME(6)" in told[0]
    assert "LONGTEXT" in told[1]


@contextmanager
def row_held(engine: Engine, conversation: str) -> Generator[None]:
    """Keep whoever wants to write a conversation waiting."""
    connection = engine.connect()
    held = "UPDATE rxagent_conversations SET version = version WHERE id = :id"
    connection.execute(text(held), {"id": conversation})
    try:
        yield
    finally:
        connection.invalidate()  # the server may be gone
        connection.close()


def wait_for_a_writer(engine: Engine, *, count: int = 1) -> None:
    waiting = text("SELECT count(*) FROM pg_locks WHERE NOT granted")
    with engine.connect() as connection:
        while connection.execute(waiting).scalar_one() < count:
            connection.rollback()
