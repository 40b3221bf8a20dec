from __future__ import annotations

import asyncio
import json
from collections.abc import Iterator
from pathlib import Path

import pytest
from reactivex import Observable

from rxagent.errors import ConflictError, HistoryError
from rxagent.memory import (
    Conversation,
    MemoryStore,
    SqliteStore,
    all_conversations,
    export_lines,
    import_lines,
)
from rxagent.messages import UserMessage
from rxagent.runtime import Flow, block, iterate, run
from rxagent.testing._hard_to_keep import EVERY_KIND

HELLO = (UserMessage.of("hello"),)


def store_of(count: int) -> MemoryStore:
    store = MemoryStore()
    for number in range(count):
        run(store.append(f"{number:04d}", [UserMessage.of(str(number))]))
    return store


def test_a_store_comes_back_from_its_lines(tmp_path: Path) -> None:
    source = MemoryStore()
    run(source.append("a\n", EVERY_KIND))
    run(source.append("ü", HELLO))
    run(source.replace("empty", ()))
    lines = list(block(export_lines(source)))

    with SqliteStore(tmp_path / "a.db") as target:
        stored = list(block(import_lines(target, [line.encode() for line in lines])))

        assert stored == [run(target.load(each)) for each in ("a\n", "empty", "ü")]
        assert stored[0].messages == EVERY_KIND
        for read, wrote in zip(stored[0].messages, EVERY_KIND, strict=True):
            assert (read.id, read.mark) == (wrote.id, wrote.mark)
        assert list(block(export_lines(target))) == lines


def test_a_line_is_a_conversation_that_other_programs_can_read() -> None:
    store = MemoryStore()
    run(store.append("a", HELLO))

    [line] = block(export_lines(store))

    read = json.loads(line)
    assert "\n" not in line
    assert read["id"] == "a"
    assert read["messages"][0]["content"] == [{"type": "text", "text": "hello"}]


@pytest.mark.parametrize("count", [0, 1, 99, 100, 101, 250])
def test_every_page_is_read(count: int) -> None:
    store = store_of(count)

    assert len(list(block(all_conversations(store)))) == count
    assert len(list(block(export_lines(store)))) == count


def test_what_is_deleted_meanwhile_is_left_out() -> None:
    class Forgetful(MemoryStore):
        def load(self, conversation_id: str) -> Observable[Conversation]:
            self.delete("1").subscribe()
            return super().load(conversation_id)

    store = Forgetful()
    for name in "012":
        run(store.append(name, HELLO))

    lines = [json.loads(line)["id"] for line in block(export_lines(store))]

    assert lines == ["0", "2"]


def test_a_reader_that_is_behind_is_waited_for() -> None:
    """One conversation at a time is loaded, and not the store."""
    loaded: list[str] = []

    class Seen(MemoryStore):
        def load(self, conversation_id: str) -> Observable[Conversation]:
            loaded.append(conversation_id)
            return super().load(conversation_id)

    store = Seen()
    for number in range(50):
        run(store.append(f"{number:02d}", HELLO))

    async def read() -> None:
        lines = iterate(export_lines(store), maxsize=2)
        await anext(lines)
        for _ in range(1000):
            await asyncio.sleep(0)
        assert len(loaded) < 10
        await lines.aclose()

    asyncio.run(read())


@pytest.mark.parametrize(
    ("line", "says"),
    [
        ('{"id": "b", "messages": [{"role"', "line 2: .*cut off"),
        ("[" * 100_000, "line 2: .*nested too deeply"),
        ("[]", 'line 2: it is no {"id"'),
        ('{"id": "b"}', 'line 2: it is no {"id"'),
        ('{"id": 1, "messages": []}', "line 2: its id is no text"),
        ('{"id": "b", "messages": [{"role": "robot"}]}', "line 2: 0: .*robot"),
    ],
    ids=["cut off", "deep", "an array", "no messages", "a number", "a robot"],
)
def test_a_line_that_is_none_is_named_and_what_came_before_stays(
    line: str, says: str
) -> None:
    source, target = MemoryStore(), MemoryStore()
    run(source.append("a", HELLO))
    lines = [*block(export_lines(source)), line]
    stored: list[Conversation] = []

    with pytest.raises(HistoryError, match=says):
        stored.extend(block(import_lines(target, lines)))

    assert run(target.load("a")).messages == HELLO
    assert run(target.load("b")).version == 0


def test_an_import_takes_the_place_of_nothing_unless_it_is_told_to() -> None:
    source, target = MemoryStore(), MemoryStore()
    run(source.append("a", HELLO))
    run(target.append("a", [UserMessage.of("other")]))
    lines = list(block(export_lines(source)))

    with pytest.raises(ConflictError):
        run(import_lines(target, lines))
    assert run(target.load("a")).messages != HELLO

    run(import_lines(target, lines, overwrite=True))
    assert run(target.load("a")) == Conversation(id="a", messages=HELLO, version=2)


def test_a_file_is_read_line_by_line() -> None:
    source, target = store_of(3), MemoryStore()
    given = iter([*block(export_lines(source)), "\n"])
    taken: list[str] = []

    def file() -> Iterator[str]:
        for line in given:
            taken.append(line)
            yield line + "\n"

    async def first() -> None:
        stored = iterate(import_lines(target, file()), maxsize=1)
        await anext(stored)
        await stored.aclose()

    asyncio.run(first())
    assert len(taken) < 4

    rest = Flow[Conversation].of(import_lines(target, file(), overwrite=True))
    assert len(taken) + len(list(rest)) >= 3
    assert len(list(block(all_conversations(target)))) == 3
