"""Pieces of an answer: delivered as they come, and kept for its message."""

from __future__ import annotations

from typing import Literal, TypeAlias

from rxagent.events import ChatEvent, ReasoningDelta, TextDelta
from rxagent.messages import AssistantMessage, Opaque
from rxagent.requests import Origin
from rxagent.wire.assembly import AnswerAssembler
from rxagent.wire.surrogates import SurrogateJoiner, join_surrogates

__all__ = ["Delivery"]

_Channel: TypeAlias = Literal["text", "reasoning"]


class Delivery:
    """Append an event for each piece that is fit to be read, and make the message.

    Args:
        origin: Of the events.
        provider: The dialect of parts that only it understands.
    """

    def __init__(self, origin: Origin, *, provider: str) -> None:
        self._origin = origin
        self._provider = provider
        self._answer = AnswerAssembler(origin)
        self._calls = 0
        self._kind: type[TextDelta | ReasoningDelta] = TextDelta  # the last
        # Calls by their number.
        self._joiner: SurrogateJoiner[_Channel | int] | None = None

    def expect_surrogates(self) -> None:
        """From now on, a string may end or begin with half of a pair."""
        self._joiner = self._joiner or SurrogateJoiner()

    def name(self, value: object) -> str | None:
        """A string that is never cut; ``None`` if it is none, or empty."""
        if not isinstance(value, str) or not value:
            return None
        return join_surrogates(value) if self._joiner else value

    def piece(self, channel: _Channel, piece: object, out: list[ChatEvent]) -> None:
        """Take a piece of the text, or of what the model thought."""
        if isinstance(piece, str):
            if self._joiner:
                piece = self._joiner.feed(channel, piece)
            self._say(channel, piece, out)

    def again(self, piece: str, out: list[ChatEvent]) -> None:
        """Take one more piece of what the last one belongs to."""
        if piece:
            self._answer.again(piece)
            out.append(self._kind(text=piece, origin=self._origin))

    def signature(self, piece: object) -> None:
        """Take a piece of the signature of the thought that was last."""
        if text := self.name(piece):
            self._answer.signature(text, dialect=self._provider)

    def call(self, id_: object, name: object, out: list[ChatEvent]) -> int | None:
        """Begin a call; return its number, or ``None`` if it has no id and no name."""
        delta = self._answer.call(
            index=self._calls, id=self.name(id_), name=self.name(name)
        )
        if delta is None:
            return None
        out.append(delta)
        self._calls += 1
        return delta.index

    def arguments(self, number: int, piece: str, out: list[ChatEvent]) -> None:
        """Take a piece of the arguments of a call."""
        if self._joiner:
            piece = self._joiner.feed(number, piece)
        self._argue(number, piece, out)

    def opaque(self, data: str) -> None:
        """Take a block that only the provider understands, as JSON text."""
        self._answer.opaque(Opaque(dialect=self._provider, data=data))

    def refusal(self, text: object) -> None:
        """Take the reason why the model did not answer."""
        if reason := self.name(text):
            self._answer.refusal(reason)

    def text_so_far(self) -> str:
        """All text that has come."""
        return self._answer.text_so_far()

    def close_part(self, out: list[ChatEvent]) -> None:
        """Let the next piece begin a part of its own."""
        for channel, piece in self._joiner.flush() if self._joiner else ():
            if isinstance(channel, int):
                self._argue(channel, piece, out)
            else:
                self._say(channel, piece, out)
        self._answer.close_part()

    def message(self, *, truncated: bool) -> AssistantMessage:
        """Return the message, once the stream has ended and not before."""
        return self._answer.message(truncated=truncated)

    def _argue(self, number: int, piece: str, out: list[ChatEvent]) -> None:
        if piece and (delta := self._answer.call(index=number, arguments=piece)):
            out.append(delta)

    def _say(self, channel: _Channel, piece: str, out: list[ChatEvent]) -> None:
        if not piece:
            return
        if channel == "text":
            self._answer.text(piece)
            self._kind = TextDelta
            out.append(TextDelta(text=piece, origin=self._origin))
        else:
            self._answer.reasoning(piece)
            self._kind = ReasoningDelta
            out.append(ReasoningDelta(text=piece, origin=self._origin))
