"""What a long history costs, beside sqlite3 and json by hand.

    python bench/memory.py

A conversation of 1,000 and of 10,000 messages, in turns of two: loaded, and a turn
appended to it; then put in front of a prompt that holds all of it already, as the very
messages or as equal ones of other ids.  "By hand" are the same rows in the same schema,
with `json` for plain dictionaries, on one connection and no other thread.  CPU
milliseconds of the whole process, best of several; an append waits for the disk, too.
The last column is how much ten times the history costs: 10 is linear, 1 does not depend
on it.
"""

from __future__ import annotations

import asyncio
import json
import sqlite3
import tempfile
import time
from collections.abc import Awaitable, Callable
from pathlib import Path

from rxagent import AssistantMessage, Message, UserMessage
from rxagent.history import dump_messages
from rxagent.memory import ConversationStore, MemoryStore, SqliteStore
from rxagent.memory._sqlite_file import MIGRATIONS
from rxagent.memory.recall import recall
from rxagent.runtime import Flow

SIZES = (1_000, 10_000)
ROUNDS = 7
TURN: tuple[Message, ...] = (
    UserMessage.of("What is the weather in Bern, and what shall I wear? " * 3),
    AssistantMessage.of("It is 12 degrees and it rains; take a coat. " * 10),
)
ROWS = tuple(json.loads(dump_messages(TURN)))


class ByHand:
    """What one writes without a library: no versions, no message objects."""

    def __init__(self, path: Path) -> None:
        self._database = sqlite3.connect(path, isolation_level=None)
        self._database.execute("PRAGMA journal_mode = WAL")
        for statement in MIGRATIONS[0]:
            self._database.execute(statement)
        self._database.execute("INSERT INTO conversations VALUES ('a', 0, '')")
        self._count = 0

    def load(self) -> list[object]:
        rows = self._database.execute(
            "SELECT json FROM messages WHERE conversation_id = 'a' ORDER BY position"
        )
        return [json.loads(row) for (row,) in rows]

    def append(self, messages: int) -> None:
        self._database.execute("BEGIN IMMEDIATE")
        for _ in range(messages // len(ROWS)):
            for row in ROWS:
                self._database.execute(
                    "INSERT INTO messages VALUES ('a', ?, ?)",
                    (self._count, json.dumps(row)),
                )
                self._count += 1
        self._database.execute("COMMIT")

    def close(self) -> None:
        self._database.close()


def best(act: Callable[[], object]) -> float:
    times: list[float] = []
    for _ in range(ROUNDS):
        start = time.process_time()
        act()
        times.append(time.process_time() - start)
    return min(times) * 1e3


async def best_of(act: Callable[[], Awaitable[object]]) -> float:
    times: list[float] = []
    for _ in range(ROUNDS):
        start = time.process_time()
        await act()
        times.append(time.process_time() - start)
    return min(times) * 1e3


async def store_times(store: ConversationStore, size: int) -> tuple[float, float]:
    await Flow[int].of(store.append("a", TURN * (size // len(TURN))))

    async def load() -> None:
        await Flow[object].of(store.load("a"))

    async def append() -> None:
        await Flow[int].of(store.append("a", TURN))

    return await best_of(load), await best_of(append)


def hand_times(path: Path, size: int) -> tuple[float, float]:
    hand = ByHand(path)
    hand.append(size)
    times = best(hand.load), best(lambda: hand.append(len(TURN)))
    hand.close()
    return times


def sqlite_times(path: Path, size: int) -> tuple[float, float]:
    with SqliteStore(path) as store:
        return asyncio.run(store_times(store, size))


def recall_times(size: int) -> tuple[float, float]:
    def history() -> tuple[Message, ...]:
        return tuple(
            kind.of(f"message {number}")
            for number in range(size // 2)
            for kind in (UserMessage, AssistantMessage)
        )

    kept, same, question = history(), history(), UserMessage.of("And then?")
    assert len(recall(kept, (*kept, question))) == size + 1
    assert len(recall(kept, (*same, question))) == size + 1
    return (
        best(lambda: recall(kept, (*kept, question))),
        best(lambda: recall(kept, (*same, question))),
    )


def row(what: str, costs: list[float]) -> None:
    small, large = costs
    print(f"{what:<26}{small:>10.2f}{large:>10.2f}{large / small:>8.1f}")


def main() -> None:
    print(f"{'ms':<26}{SIZES[0]:>10,}{SIZES[1]:>10,}{'growth':>8}")
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder)
        hand = [hand_times(path / f"hand-{size}.db", size) for size in SIZES]
        ours = [sqlite_times(path / f"ours-{size}.db", size) for size in SIZES]
        inside = [asyncio.run(store_times(MemoryStore(), size)) for size in SIZES]
    for place, what in enumerate(("load", "append a turn")):
        for name, times in (("by hand", hand), ("sqlite", ours), ("memory", inside)):
            row(f"{what}, {name}", [each[place] for each in times])
    recalled = [recall_times(size) for size in SIZES]
    for place, what in enumerate(("by ids", "by an equal run")):
        row(f"recall, {what}", [each[place] for each in recalled])


if __name__ == "__main__":
    main()
