from __future__ import annotations

from collections.abc import Callable
from typing import TypeVar

from rxagent.operators._transduction import Transduction
from rxagent.types import Operator, Transducer

A = TypeVar("A")
B = TypeVar("B")


def transduce(make: Callable[[], Transducer[A, B]]) -> Operator[A, B]:
    """Run a stream through a `Transducer`, and flush it on completion.

    ::

        --a--b--c----|
        [ transduce(make) ]                    make makes one that joins two items
        -----x-------(y,|)                     x = ab, y = c

    Args:
        make: Makes the transducer; called once for each subscription.

    Returns:
        An operator.  Completion flushes once; an error, of the source or of the
        transducer, and a disposal drop what is held.  `fuse` makes neighbours one.
    """
    return Transduction(make)
