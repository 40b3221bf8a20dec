from __future__ import annotations

import asyncio
import sqlite3
import subprocess
import sys
import threading
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing
from pathlib import Path

import pytest
from reactivex import Observable

from rxagent.errors import HistoryError, StoreError
from rxagent.memory import Conversation, SqliteStore
from rxagent.messages import Message, UserMessage
from rxagent.runtime import Flow, block, run
from rxagent.testing import assert_store_contract

HELLO = (UserMessage.of("hello"),)


def opened(path: Path) -> closing[sqlite3.Connection]:
    """The file, in the hands of somebody else."""
    return closing(sqlite3.connect(path, isolation_level=None))


def bytes_in(folder: Path) -> bytes:
    return b"".join(each.read_bytes() for each in folder.iterdir())


def test_the_store_in_a_file_keeps_the_contract(tmp_path: Path) -> None:
    """M-57, S001-28, S003-9."""
    with SqliteStore(tmp_path / "a.db") as store:
        assert_store_contract(store)


def test_the_store_in_a_database_in_memory_keeps_the_contract() -> None:
    with SqliteStore(":memory:") as store:
        assert_store_contract(store)


def test_a_conversation_is_there_when_the_file_is_opened_again(tmp_path: Path) -> None:
    path = tmp_path / "a.db"
    with SqliteStore(path) as store:
        run(store.append("a", HELLO))
    assert [each.name for each in tmp_path.iterdir()] == ["a.db"]  # and no log of it

    with SqliteStore(path) as store:
        expected = Conversation(id="a", messages=HELLO, version=1)
        assert run(store.load("a")) == expected


def test_nothing_is_opened_before_the_first_subscription(tmp_path: Path) -> None:
    with SqliteStore(tmp_path / "a.db") as store:
        store.append("a", HELLO)
        store.conversations()

    assert list(tmp_path.iterdir()) == []


def test_the_loop_goes_on_while_the_file_is_waited_for(tmp_path: Path) -> None:
    path = tmp_path / "a.db"
    with SqliteStore(path) as store, opened(path) as other:
        run(store.append("a", HELLO))
        other.execute("BEGIN IMMEDIATE")

        async def write_and_turn() -> int:
            writing = asyncio.ensure_future(written(store.append("a", HELLO)))
            await turns_of_the_loop()
            assert not writing.done()
            other.execute("ROLLBACK")
            return await writing

        assert asyncio.run(write_and_turn()) == 2


async def turns_of_the_loop() -> None:
    for _ in range(100):
        await asyncio.sleep(0)


async def written(source: Observable[int]) -> int:
    return await Flow[int].of(source)


def test_what_is_disposed_before_its_turn_is_not_written(tmp_path: Path) -> None:
    path = tmp_path / "a.db"
    with SqliteStore(path) as store, opened(path) as other:
        run(store.append("a", HELLO))
        other.execute("BEGIN IMMEDIATE")

        async def write_one_of_two() -> None:
            first = asyncio.ensure_future(written(store.append("a", HELLO)))
            await turns_of_the_loop()
            second = store.append("b", HELLO).subscribe()
            await turns_of_the_loop()
            second.dispose()
            await turns_of_the_loop()
            other.execute("ROLLBACK")
            assert await first == 2

        asyncio.run(write_one_of_two())
        assert run(store.load("b")).version == 0


def test_many_stores_make_the_same_file_at_once(tmp_path: Path) -> None:
    path, count = tmp_path / "a.db", 8
    start = threading.Barrier(count)

    def write(_: int) -> None:
        with SqliteStore(path) as store:
            start.wait()
            for _ in range(5):
                run(store.append("a", HELLO))

    with ThreadPoolExecutor(count) as pool:
        list(pool.map(write, range(count)))
    with SqliteStore(path) as store:
        found = run(store.load("a"))
    assert (found.version, len(found.messages)) == (5 * count, 5 * count)


def test_a_forked_child_opens_the_file_for_itself(tmp_path: Path) -> None:
    program = """
import os, sys
from rxagent.memory import SqliteStore
from rxagent.messages import UserMessage
from rxagent.runtime import run
with SqliteStore(sys.argv[1]) as store:
    run(store.append("a", [UserMessage.of("before")]))
    child = os.fork()
    run(store.append("a", [UserMessage.of("child" if child == 0 else "parent")]))
    if child == 0:
        os._exit(0)
    assert os.waitpid(child, 0)[1] == 0
"""
    path = tmp_path / "a.db"
    command = [sys.executable, "-W", "ignore", "-c", program, str(path)]
    subprocess.run(command, check=True, timeout=30)

    with SqliteStore(path) as store:
        texts = [message.text for message in run(store.load("a")).messages]
    assert texts[0] == "before"
    assert sorted(texts[1:]) == ["child", "parent"]


def test_what_is_deleted_is_in_no_byte_of_the_files(tmp_path: Path) -> None:
    """Also while the store is open, and whatever moved within the file before."""

    def secret(number: int, length: int) -> Sequence[Message]:
        return [UserMessage.of(f"secret-{number:02d}-" * length)]

    with SqliteStore(tmp_path / "a.db") as store:
        for turn in range(12):
            for number in range(10):
                length = 1 + 37 * (turn * number % 11)
                run(store.append(f"id-{number:02d}", secret(number, length)))
        run(store.replace("id-03", secret(3, 5)))
        assert bytes_in(tmp_path).count(b"secret-03-") > 5

        for number in (3, 4, 9):
            assert run(store.delete(f"id-{number:02d}"))
            assert f"secret-{number:02d}-".encode() not in bytes_in(tmp_path)
            assert f"id-{number:02d}".encode() not in bytes_in(tmp_path)
        assert len(run(store.load("id-05")).messages) == 12


def test_a_reader_that_keeps_deleted_bytes_in_the_log_is_toldwritten(
    tmp_path: Path,
) -> None:
    path = tmp_path / "a.db"
    with (
        SqliteStore(path, busy_timeout_s=0) as store,
        opened(path) as reader,
    ):
        run(store.append("a", HELLO))
        reader.execute("BEGIN")
        reader.execute("SELECT * FROM messages").fetchall()

        with pytest.raises(StoreError, match="'a' is deleted, but its bytes are still"):
            run(store.delete("a"))
        assert run(store.load("a")).version == 0

        reader.execute("COMMIT")
        assert run(store.delete("a")) is False
        assert b"hello" not in b"".join(
            each.read_bytes() for each in tmp_path.iterdir()
        )


def test_a_file_that_is_locked_is_an_error_that_says_so(tmp_path: Path) -> None:
    path = tmp_path / "a.db"
    with (
        SqliteStore(path, busy_timeout_s=0) as store,
        opened(path) as other,
    ):
        run(store.append("a", HELLO))
        other.execute("BEGIN IMMEDIATE")
        for write in (store.append, store.replace):
            with pytest.raises(StoreError, match=r"locked it for 0 s.*busy_timeout_s"):
                run(write("a", HELLO))
        assert run(store.load("a")).version == 1

        other.execute("ROLLBACK")
        assert run(store.append("a", HELLO)) == 2


def damaged(path: Path) -> None:
    with SqliteStore(path) as store:
        run(store.append("a", HELLO * 100))
    whole = path.read_bytes()
    path.write_bytes(whole[:4096] + b"\xff" * (len(whole) - 4096))


@pytest.mark.parametrize(
    ("spoil", "says"),
    [
        (lambda path: path.write_text("no database " * 99), "restore it from a copy"),
        (damaged, "restore it from a copy"),
        (Path.mkdir, "make its folder, and allow to write there"),
    ],
    ids=["text", "damaged", "a folder"],
)
def test_a_file_that_cannot_be_used_is_an_error_that_says_what_to_do(
    spoil: Callable[[Path], object], says: str, tmp_path: Path
) -> None:
    path = tmp_path / "a.db"
    spoil(path)
    with SqliteStore(path) as store:
        for use in (store.load("a"), store.append("a", HELLO)):
            with pytest.raises(StoreError, match=says) as at:
                run(use)
            assert str(path) in str(at.value)


def test_a_folder_that_is_not_there_is_not_made(tmp_path: Path) -> None:
    path = tmp_path / "folder" / "a.db"
    with SqliteStore(path) as store:
        with pytest.raises(StoreError, match="make its folder"):
            run(store.load("a"))

        path.parent.mkdir()
        assert run(store.load("a")).version == 0  # it is tried again


def test_the_database_of_another_program_is_left_alone(tmp_path: Path) -> None:
    path = tmp_path / "a.db"
    with opened(path) as other:
        other.execute("CREATE TABLE messages (text)")
    before = path.read_bytes()

    with (
        SqliteStore(path) as store,
        pytest.raises(StoreError, match="of another program; choose another path"),
    ):
        run(store.append("a", HELLO))
    assert path.read_bytes() == before


@pytest.mark.parametrize(
    ("change", "says"),
    [
        ('json = \'{"role": "robot"}\'', "message 1 of conversation 'a': .*robot"),
        ("json = substr(json, 1, 20)", "message 1 of conversation 'a': "),
        ("json = X'ff'", "message 1 of conversation 'a': "),
    ],
)
def test_a_message_that_cannot_be_read_is_named(
    change: str, says: str, tmp_path: Path
) -> None:
    path = tmp_path / "a.db"
    with SqliteStore(path) as store:
        run(store.append("a", HELLO * 3))
        run(store.append("b", HELLO))
        with opened(path) as other:
            other.execute(f"UPDATE messages SET {change} WHERE position = 1")

        with pytest.raises(HistoryError, match=says):
            run(store.load("a"))
        assert len(run(store.load("b")).messages) == 1


def test_a_list_that_cannot_be_read_is_named(tmp_path: Path) -> None:
    path = tmp_path / "a.db"
    with SqliteStore(path) as store:
        run(store.append("a", HELLO))
        with opened(path) as other:
            other.execute("UPDATE conversations SET updated_at = 'yesterday'")

        with pytest.raises(HistoryError, match=r"'a' in the list: .*yesterday"):
            list(block(store.conversations()))


def test_a_store_that_is_closed_says_so(tmp_path: Path) -> None:
    store = SqliteStore(tmp_path / "a.db")
    run(store.append("a", HELLO))
    store.close()
    store.close()

    for use in (store.load("a"), store.append("a", HELLO), store.delete("a")):
        with pytest.raises(StoreError, match=r"is closed.*open it anew"):
            run(use)
