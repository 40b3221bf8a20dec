"""One text of an answer, on its way through a guard."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence

from rxagent.events import (
    Delta,
    TextDelta,
)
from rxagent.guards._text_guard import Placing, Span
from rxagent.types import Transducer

__all__ = ["Lane"]


class Lane:
    """A guard's transducer, and where its text stands while events wait for it.

    Args:
        transducer: A fresh one.
        last: The piece that went in last.
    """

    __slots__ = (
        "_placing",
        "_transducer",
        "decided",
        "fed",
        "feed",
        "is_text",
        "last",
    )

    feed: Callable[[str], Iterable[str]]

    def __init__(self, transducer: Transducer[str, str], last: Delta) -> None:
        if not hasattr(transducer, "held"):
            transducer = _Counted(transducer)
        if hasattr(transducer, "is_done"):
            transducer = _Stopping(transducer)
        self.last = last
        self.is_text = isinstance(last, TextDelta)
        self._transducer = transducer
        self._placing = transducer if isinstance(transducer, Placing) else None
        self.feed = transducer.feed
        self.fed = 0  # counted while events wait
        self.decided = 0

    @property
    def held(self) -> int:
        """How many characters of the input are not decided."""
        held: object = getattr(self._transducer, "held", 0)
        return held if isinstance(held, int) and held > 0 else 0

    def measure(self) -> None:
        """Begin to count: what is held is all that was fed."""
        self.fed, self.decided = self.held, 0

    def flush(self) -> Sequence[str]:
        """Flush, where no event waits."""
        return tuple(self._transducer.flush())

    def feed_placed(self, text: str) -> Sequence[Span]:
        """Take a piece; return what is ready, and what it stands for."""
        self.fed += len(text)
        if self._placing is not None:
            return tuple(self._placing.feed_placed(text))
        return tuple(self._spans(tuple(self.feed(text)), self.fed - self.held))

    def flush_placed(self) -> Sequence[Span]:
        """Return what is still held, and what it stands for."""
        if self._placing is not None:
            return tuple(self._placing.flush_placed())
        return tuple(self._spans(self.flush(), self.fed))

    def _spans(self, pieces: Sequence[str], end: int) -> Iterator[Span]:
        """Text of the same length is taken to be the same text."""
        width = max(0, end - self.decided)
        if sum(map(len, pieces)) == width:
            yield from (Span(piece, len(piece), is_kept=True) for piece in pieces)
        else:
            yield Span("".join(pieces), width, is_kept=False)


class _Counted:
    """A transducer that does not say what it holds: what went in and did not come out.

    One that drops text is taken to hold it, so what follows waits until the end.
    """

    def __init__(self, transducer: Transducer[str, str]) -> None:
        self._transducer = transducer
        self._balance = 0
        self.flush = transducer.flush

    @property
    def held(self) -> int:
        return 0 if self.is_done else max(0, self._balance)

    @property
    def is_done(self) -> bool:
        return bool(getattr(self._transducer, "is_done", False))

    def feed(self, text: str, /) -> Sequence[str]:
        pieces = tuple(self._transducer.feed(text))
        self._balance += len(text) - sum(map(len, pieces))
        return pieces


class _Stopping:
    """A transducer that may want no more: what comes then is gone."""

    def __init__(self, transducer: Transducer[str, str]) -> None:
        self._transducer = transducer
        self.flush = transducer.flush

    @property
    def held(self) -> int:
        return int(getattr(self._transducer, "held", 0))

    def feed(self, text: str, /) -> Iterable[str]:
        is_done = getattr(self._transducer, "is_done", False)
        return () if is_done else self._transducer.feed(text)
