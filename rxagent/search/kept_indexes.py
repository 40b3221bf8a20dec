"""Making an index once for each list of tools."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TypeAlias

from reactivex import Observable, abc
from reactivex import operators as ops
from reactivex.disposable import Disposable, SingleAssignmentDisposable

from rxagent.errors import ConfigurationError
from rxagent.operators import just
from rxagent.requests import ToolSpec
from rxagent.runtime import loop_for
from rxagent.search.tool_index import Search, ToolIndex

__all__ = ["KeptIndexes"]

_KEPT = 16
"""Lists whose index is kept.  A tenant has one, or one for each state of a server."""

_Listed: TypeAlias = tuple[tuple[str, str, object], ...]


class KeptIndexes:
    """The indexes of the lists of tools that were searched last.

    A list is the same as long as its names, descriptions and parameters are, in any
    order.  Searches that need the same new index wait for one that is being made; any
    threads may search.

    Args:
        index: Makes them.
    """

    def __init__(self, index: ToolIndex) -> None:
        self._index = index
        self._kept: list[tuple[_Listed, _Making]] = []  # what was used last is last
        self._lock = threading.Lock()

    def over(self, tools: Sequence[ToolSpec]) -> Observable[Search]:
        """The search over ``tools``, made if there is none yet."""
        in_order = sorted(tools, key=lambda tool: tool.name)
        # Not a hash: parameters have none, and equal objects are compared at once.
        listed = tuple((t.name, t.description, t.parameters) for t in in_order)
        with self._lock:
            for at, (each, making) in enumerate(self._kept):
                if each == listed:
                    self._kept.append(self._kept.pop(at))
                    return making
            making = _Making(self._index.index(in_order))
            self._kept.append((listed, making))
            del self._kept[:-_KEPT]
        return making


class _Making(Observable[Search]):
    """A search that is made once for all who wait for it, and kept.

    If making it fails, that is the error of who began it, and the next who waits begins
    anew; if all leave before it is made, the making is disposed.
    """

    def __init__(self, source: Observable[Search]) -> None:
        super().__init__()
        self._source = source
        self._made: Search | None = None
        self._waiting: list[_Waiting] = []  # the first of them has begun it
        self._lock = threading.Lock()
        self._running = SingleAssignmentDisposable()  # of the making under way

    def _subscribe_core(
        self,
        observer: abc.ObserverBase[Search],
        scheduler: abc.SchedulerBase | None = None,
    ) -> abc.DisposableBase:
        waiting = _Waiting(observer, scheduler, loop_for(scheduler))
        with self._lock:
            made, others = self._made, list(self._waiting)
            # Nobody waits for another loop, which may end at any time.
            joins = not others or others[0].loop is waiting.loop
            if made is None and joins:
                self._waiting.append(waiting)
            if made is None and not others:
                self._running = SingleAssignmentDisposable()
            running = self._running
        if made is not None:
            return just(made).subscribe(observer)
        if not joins:
            alone = self._source.pipe(ops.do_action(self._keep))
            return alone.subscribe(observer, scheduler=scheduler)
        if not others:
            self._begin(running, scheduler)
        return Disposable(lambda: self._leave(waiting))

    def _begin(
        self,
        running: SingleAssignmentDisposable,
        scheduler: abc.SchedulerBase | None,
    ) -> None:
        running.disposable = self._source.subscribe(
            self._end, self._fail, self._complete, scheduler=scheduler
        )

    def _keep(self, made: Search) -> None:
        self._made = made

    def _end(self, made: Search) -> None:
        with self._lock:
            self._made = made
            waiting, self._waiting = self._waiting, []
        for each in waiting:
            just(made).subscribe(each.observer)

    def _fail(self, error: Exception) -> None:
        with self._lock:
            if not self._waiting:  # all have left, in other threads
                return
            first, *others = self._waiting
            self._waiting = others
            # In its place before it is subscribed: it may fail, and another begin.
            running = self._running = SingleAssignmentDisposable()
        first.observer.on_error(error)
        if others:
            self._begin(running, others[0].scheduler)

    def _complete(self) -> None:
        if self._made is None:
            self._fail(ConfigurationError("the index completed without a search"))

    def _leave(self, waiting: _Waiting) -> None:
        with self._lock:
            if waiting not in self._waiting:
                return
            self._waiting.remove(waiting)
            is_last = not self._waiting
            running = self._running  # not that of who begins anew meanwhile
        if is_last:
            running.dispose()


@dataclass(frozen=True, slots=True, eq=False)
class _Waiting:
    observer: abc.ObserverBase[Search]
    scheduler: abc.SchedulerBase | None
    loop: asyncio.AbstractEventLoop
