from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import TypeVar

from rxagent.types import Transducer

__all__ = ["assert_cut_anywhere", "every_cut"]

S = TypeVar("S", str, bytes)
Out = TypeVar("Out")


def every_cut(data: S) -> Iterator[Sequence[S]]:
    """Cut ``data`` whole, into single items, and in two at every place.

    Args:
        data: Text or bytes.

    Yields:
        The pieces of one way to cut it; joined, they are ``data``.
    """
    yield [data]
    yield [data[index : index + 1] for index in range(len(data))]
    for index in range(1, len(data)):
        yield [data[:index], data[index:]]


def assert_cut_anywhere(
    make: Callable[[], Transducer[S, Out]],
    data: S,
    *,
    aggregate: Callable[[Sequence[Out]], object] = list,
) -> None:
    """Check that what comes out does not depend on where the input is cut.

    Args:
        make: Makes a fresh transducer.
        data: What it reads, whole.
        aggregate: What must be equal, if the items themselves may differ.
    """
    expected: object = None
    for number, pieces in enumerate(every_cut(data)):
        transducer = make()
        out = [item for piece in pieces for item in transducer.feed(piece)]
        out += transducer.flush()
        found = aggregate(out)
        if number == 0:
            expected = found
        assert found == expected, (
            f"cut into {[len(piece) for piece in pieces]}, it gave {found!r}; "
            f"whole, {expected!r}"
        )
