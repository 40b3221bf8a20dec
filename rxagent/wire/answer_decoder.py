"""What the decoders of event streams have in common."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterable
from typing import Generic, Protocol, TypeVar

from rxagent.errors import ModelError
from rxagent.events import ChatEvent
from rxagent.usage import Usage
from rxagent.wire.answer_body import AnswerFaults, Opening, and_raise
from rxagent.wire.repeated_chunk import RepeatedChunk
from rxagent.wire.sse import SseDecoder, SseEvent

__all__ = ["AnswerDecoder", "AnswerReader"]


class AnswerReader(Protocol):
    """Makes events of what a provider says, one JSON object at a time."""

    def again(self, piece: str, out: list[ChatEvent]) -> None:
        """Take a piece of what came last."""
        ...

    def finish(self, out: list[ChatEvent]) -> None:
        """Append what waited, and the response."""
        ...

    def text(self) -> str:
        """All text that has come so far."""
        ...

    def usage(self) -> Usage | None:
        """What the answer has cost so far."""
        ...


R = TypeVar("R", bound=AnswerReader)


class AnswerDecoder(ABC, Generic[R]):
    """Decode an event stream, or one JSON object where a stream was not sent.

    `feed` and `flush` return what an error lets be delivered, and then raise it: while
    they are iterated, or at once if there is nothing to deliver before.  After an error
    neither may be called again.

    Args:
        reader: Of the JSON.
        provider: Named in errors.
        content_type: Of the response.  The first bytes overrule it.
        repeated: Knows a chunk that repeats the one before it.
    """

    def __init__(
        self, reader: R, *, provider: str, content_type: str, repeated: RepeatedChunk
    ) -> None:
        self._reader = reader
        self._provider = provider
        self._faults = AnswerFaults(provider=provider, content_type=content_type)
        self._repeated = repeated
        self._opening = Opening(self._faults)
        self._sse: SseDecoder | None = None

    def feed(self, item: bytes, /) -> Iterable[ChatEvent]:
        """Take the bytes of one read.

        Raises:
            ModelError: If the provider reports an error, or sends what it should not.
        """
        out: list[ChatEvent] = []
        try:
            if (piece := self._repeated.piece_of_read(item)) is not None:
                self._again(piece, item, out)  # the common case
            elif self._sse:
                self._events(self._sse, item, out)
            elif (data := self._opening.feed(item)) is not None:
                self._sse = SseDecoder()
                self._events(self._sse, data, out)
        except ModelError as error:
            return self._and_raise(out, error)
        return out

    def flush(self) -> Iterable[ChatEvent]:
        """Return what waited and the response.

        Raises:
            ModelError: If the answer is not complete.
        """
        out: list[ChatEvent] = []
        try:
            if self._sse:
                for event in self._sse.flush():
                    self._event(event, out, at_end=True)
                self._check_end(self._sse)
            else:
                self._whole(self._opening.text(), out)
            self._finish(out)
        except ModelError as error:
            return self._and_raise(out, error)
        return out

    def note_progress(self, error: ModelError) -> None:
        """Keep in ``error`` what came before it: the text, and what it cost."""
        error.text = self._reader.text()
        error.usage = self._reader.usage()

    def _and_raise(
        self, out: list[ChatEvent], error: ModelError
    ) -> Iterable[ChatEvent]:
        self.note_progress(error)
        return and_raise(out, error)

    def _events(self, sse: SseDecoder, read: bytes, out: list[ChatEvent]) -> None:
        for event in sse.feed(read):
            self._event(event, out)
        self._repeated.learn_read(read, alone=sse.is_alone)

    def _again(self, piece: str, read: bytes, out: list[ChatEvent]) -> None:
        """Take a read that repeats the one before it, but for its piece."""
        del read
        self._reader.again(piece, out)

    def _finish(self, out: list[ChatEvent]) -> None:
        """Append what waited, and the response."""
        self._reader.finish(out)

    @property
    @abstractmethod
    def is_over(self) -> bool:
        """Whether the mark came that ends an answer; what follows is not looked at."""

    @abstractmethod
    def _event(
        self, event: SseEvent, out: list[ChatEvent], *, at_end: bool = False
    ) -> None:
        """Read an event; ``at_end`` if the stream has ended within it."""

    @abstractmethod
    def _whole(self, text: str, out: list[ChatEvent]) -> None:
        """Read a body that is JSON."""

    @abstractmethod
    def _check_end(self, sse: SseDecoder) -> None:
        """Raise if the stream has not ended where an answer ends."""
