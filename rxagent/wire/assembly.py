"""Make a message of the pieces of one answer."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

from rxagent.events import ToolCallDelta
from rxagent.messages import (
    AssistantMessage,
    AssistantPart,
    Opaque,
    Reasoning,
    Refusal,
    Text,
)
from rxagent.requests import Origin
from rxagent.wire.tool_calls import ToolCallAssembler

__all__ = ["AnswerAssembler"]


class AnswerAssembler:
    """Make a message of the pieces of one answer: parts in the order they came.

    Adjacent pieces of one kind become one part.  A call stands where it began.
    """

    def __init__(self, origin: Origin) -> None:
        self._calls = ToolCallAssembler(origin)
        self._parts: list[Opaque | _Growing | None] = []  # None: the next call
        self._last: _Growing | None = None

    def text(self, piece: str) -> None:
        """Take a piece of the answer's text."""
        self._grow(_text, piece)

    def reasoning(self, piece: str) -> None:
        """Take a piece of what the model thought."""
        self._grow(_reasoning, piece)

    def signature(self, piece: str, *, dialect: str) -> None:
        """Take a piece of the signature of the reasoning that was last."""
        if self._last is None or self._last.make is not _reasoning:
            self.reasoning("")
        assert self._last is not None
        self._last.signature.append(piece)
        self._last.dialect = dialect

    def again(self, piece: str) -> None:
        """Take one more piece of what the last one belongs to."""
        assert self._last is not None
        self._last.pieces.append(piece)

    def close_part(self) -> None:
        """Let the next piece begin a part of its own, though its kind be the same."""
        self._last = None

    def refusal(self, piece: str) -> None:
        """Take a piece of a refusal."""
        self._grow(_refusal, piece)

    def opaque(self, part: Opaque) -> None:
        """Take a part that only the provider understands."""
        self._parts.append(part)
        self._last = None

    def call(
        self,
        *,
        index: int | None = None,
        id: str | None = None,  # noqa: A002 - the name on the wire
        name: str | None = None,
        arguments: str = "",
    ) -> ToolCallDelta | None:
        """Take a piece of a call; see `ToolCallAssembler.feed`."""
        before = len(self._calls)
        delta = self._calls.feed(index=index, id=id, name=name, arguments=arguments)
        if len(self._calls) > before:
            self._parts.append(None)
            self._last = None
        return delta

    def text_so_far(self) -> str:
        """All text that has come, though the stream has not ended."""
        return "".join(
            piece
            for part in self._parts
            if isinstance(part, _Growing) and part.make is _text
            for piece in part.pieces
        )

    def message(self, *, truncated: bool) -> AssistantMessage:
        """Return the message, once the stream has ended and not before.

        Args:
            truncated: Whether the answer was cut off; its last call must not run.
        """
        calls = iter(self._calls.calls(truncated=truncated))
        content = tuple(
            part if isinstance(part, Opaque) else part.whole() if part else next(calls)
            for part in self._parts
        )
        return AssistantMessage(content=content)

    def _grow(self, make: Callable[[str], AssistantPart], piece: str) -> None:
        if self._last is None or self._last.make is not make:
            self._last = _Growing(make)
            self._parts.append(self._last)
        self._last.pieces.append(piece)


class _Growing:
    """A part that adjacent pieces still join."""

    __slots__ = ("dialect", "make", "pieces", "signature")

    def __init__(self, make: Callable[[str], AssistantPart]) -> None:
        self.make = make
        self.pieces: list[str] = []
        self.signature: list[str] = []
        self.dialect = ""

    def whole(self) -> AssistantPart:
        part = self.make("".join(self.pieces))
        if self.signature and isinstance(part, Reasoning):
            return replace(
                part, signature="".join(self.signature), dialect=self.dialect
            )
        return part


def _text(text: str) -> Text:
    return Text(text=text)


def _reasoning(text: str) -> Reasoning:
    return Reasoning(text=text)


def _refusal(text: str) -> Refusal:
    return Refusal(text=text)
