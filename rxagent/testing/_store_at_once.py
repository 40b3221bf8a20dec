"""What a store promises to several callers at once, and to those who leave."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from typing import TypeVar

from rxagent.errors import ConflictError
from rxagent.memory import Conversation
from rxagent.runtime import Flow
from rxagent.testing._store_case import Case, one, same, texts, turn

__all__ = [
    "any_loop_will_do",
    "disposed_is_whole_or_nothing",
    "one_of_several_wins",
    "writers_at_once_lose_nothing",
]

T = TypeVar("T")

_THREADS = 8


def writers_at_once_lose_nothing(case: Case) -> None:
    which = case.new_id()
    names = [str(number) for number in range(5 * _THREADS)]

    def write(name: str) -> int:
        return one(case.store.append(which, turn(name)))

    versions = _at_once(write, names)
    same("the versions", sorted(versions), list(range(1, len(names) + 1)))
    in_order = [name for _, name in sorted(zip(versions, names, strict=True))]
    expected = [f"{name}{end}" for name in in_order for end in "?."]
    same("the messages", texts(one(case.store.load(which))), expected)


def one_of_several_wins(case: Case) -> None:
    which = case.new_id()
    one(case.store.append(which, turn("first")))
    start = threading.Barrier(_THREADS)

    def race(name: str) -> str | None:
        source = case.store.append(which, turn(name), expected_version=1)
        start.wait()
        try:
            one(source)
        except ConflictError:
            return None
        return name

    raced = _at_once(race, [str(number) for number in range(_THREADS)])
    winners = [name for name in raced if name is not None]
    assert len(winners) == 1, f"{len(winners)} writers wrote version 2"
    found = one(case.store.load(which))
    same("the messages", texts(found)[2:], [f"{winners[0]}?", f"{winners[0]}."])
    same("the version", found.version, 2)


def _at_once(act: Callable[[str], T], names: Sequence[str]) -> list[T]:
    with ThreadPoolExecutor(_THREADS) as pool:
        return list(pool.map(act, names))


def disposed_is_whole_or_nothing(case: Case) -> None:
    which = case.new_id()
    for number in range(20):
        case.store.append(which, turn(str(number))).subscribe().dispose()
        found = one(case.store.load(which))
        same("messages of whole writes", len(found.messages), 2 * found.version)
        asked, said = texts(found)[::2], texts(found)[1::2]
        answers = [text.replace("?", ".") for text in asked]
        same("the second messages of writes", said, answers)
    one(case.store.append(which, turn("end")))


def any_loop_will_do(case: Case) -> None:
    which = case.new_id()

    async def converse(name: str) -> Conversation:
        await Flow[int].of(case.store.append(which, turn(name)))
        return await Flow[Conversation].of(case.store.load(which))

    # In threads, for the caller may run a loop already.
    found = _at_once(lambda name: asyncio.run(converse(name)), ["a", "b"])
    same("the last version", max(each.version for each in found), 2)
