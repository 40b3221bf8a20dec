from __future__ import annotations

from collections.abc import Callable, Iterable
from functools import partial, reduce
from itertools import groupby
from typing import Any, TypeVar

from reactivex import Observable

from rxagent.operators._transduction import InOrder, Transduction
from rxagent.types import Operator, Transducer

T = TypeVar("T")


def fuse(operators: Iterable[Operator[T, T]]) -> Operator[T, T]:
    """Compose operators, and make one of neighbours that transduce.

    ::

        --a--b--|
        [ fuse([first, second]) ]              transduce to x! and to x?
        --x--y--|                              x = a!?, y = b!?

    The items are those of ``pipe``.  Yet a pipe of n operators is a call within a call,
    n deep, for each item; CPython keeps frames in blocks of 16 KiB, and an item that
    crosses the border of one costs ten times as much.  Fused neighbours are a loop.

    Args:
        operators: The first one sees the source.

    Returns:
        An operator.
    """
    groups = groupby(operators, key=lambda each: isinstance(each, Transduction))
    steps: list[Operator[T, T]] = []
    for can_fuse, group in groups:
        members = list(group)
        if can_fuse and len(members) > 1:
            makes = [each.make for each in members if isinstance(each, Transduction)]
            steps.append(Transduction(partial(_in_order, makes)))
        else:
            steps += members

    def operator(source: Observable[T]) -> Observable[T]:
        def apply(above: Observable[T], step: Operator[T, T]) -> Observable[T]:
            return step(above)

        return reduce(apply, steps, source)

    return steps[0] if len(steps) == 1 else operator


def _in_order(makes: list[Callable[[], Transducer[Any, Any]]]) -> InOrder[Any]:
    return InOrder([make() for make in makes])
