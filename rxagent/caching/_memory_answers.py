from __future__ import annotations

import threading
from collections import OrderedDict
from collections.abc import Callable
from datetime import datetime, timedelta
from typing import TypeVar

import reactivex
from reactivex import Observable, abc

from rxagent.caching.answer import KeptAnswer
from rxagent.memory.versions import write_time
from rxagent.operators import just
from rxagent.tools.rules import check_count

__all__ = ["MemoryAnswers"]

T = TypeVar("T")


class MemoryAnswers:
    """Answers in this process; see `AnswerStore`.

    Safe from several threads.  Everything happens while subscribing.

    Args:
        max_entries: How many are kept; the one that was not looked up for longest has
            to go.

    Raises:
        ConfigurationError: If that is less than 1.
    """

    def __init__(self, *, max_entries: int = 1_000) -> None:
        check_count("max_entries", max_entries, least=1)
        self._max_entries = max_entries
        # The last one was looked up last.
        self._kept: OrderedDict[str, tuple[KeptAnswer, datetime | None]] = OrderedDict()
        self._lock = threading.Lock()

    def get(self, key: str) -> Observable[KeptAnswer | None]:
        """Look an answer up; see `AnswerStore.get`."""

        def get(now: datetime) -> KeptAnswer | None:
            answer, until = self._kept.get(key, (None, None))
            if answer is None or _is_over(until, now):
                return None
            self._kept.move_to_end(key)
            return answer

        return self._use(get)

    def put(
        self, key: str, answer: KeptAnswer, *, ttl_s: float | None
    ) -> Observable[tuple[str, ...]]:
        """Keep an answer; see `AnswerStore.put`."""

        def put(now: datetime) -> tuple[str, ...]:
            until = None if ttl_s is None else now + timedelta(seconds=ttl_s)
            self._kept[key] = answer, until
            self._kept.move_to_end(key)
            gone: list[str] = []
            while len(self._kept) > self._max_entries:
                gone.append(self._kept.popitem(last=False)[0])
            return tuple(gone)

        return self._use(put)

    def clear(self) -> Observable[int]:
        """Forget everything; see `AnswerStore.clear`."""

        def clear(_: datetime) -> int:
            count = len(self._kept)
            self._kept.clear()
            return count

        return self._use(clear)

    def __repr__(self) -> str:
        return f"MemoryAnswers({len(self._kept)} of {self._max_entries})"

    def _use(self, act: Callable[[datetime], T]) -> Observable[T]:
        def use(scheduler: abc.SchedulerBase) -> Observable[T]:
            with self._lock:
                return just(act(write_time(scheduler)))

        return reactivex.defer(use)


def _is_over(until: datetime | None, now: datetime) -> bool:
    return until is not None and until <= now
