"""The stored answer, rewritten by the guards that its delivery goes through."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator, Sequence
from dataclasses import dataclass, replace
from typing import cast

from rxagent.events import (
    ChatEvent,
    Delta,
    Finished,
    ReasoningDelta,
    RoundFinished,
    TextDelta,
    ToolCallDelta,
)
from rxagent.guards._lift import TextLift
from rxagent.guards._pieces import text_of
from rxagent.guards._text_guard import Channel
from rxagent.messages import (
    AssistantMessage,
    AssistantPart,
    Message,
    Reasoning,
    Text,
    ToolCall,
)
from rxagent.operators._transduction import InOrder
from rxagent.responses import ChatResponse

__all__ = ["AnswerRewriter"]


@dataclass(frozen=True, slots=True)
class _Border:
    """An event that no guard knows: here a part of the message ends."""

    part: int


class AnswerRewriter:
    """Rewrites the messages of `RoundFinished` and `Finished`.

    Each message goes through guards of its own, part by part.  Reasoning that a
    provider has signed stays: it would be refused if it were changed.

    Args:
        make_lifts: Make the guards.
        channels: Which texts they see.
    """

    def __init__(
        self,
        make_lifts: Sequence[Callable[[], TextLift]],
        channels: Collection[Channel],
    ) -> None:
        self._make_lifts = make_lifts
        self._channels = channels

    def feed(self, event: ChatEvent, /) -> Sequence[ChatEvent]:
        """Take an event; return it with its response rewritten."""
        if not isinstance(event, RoundFinished | Finished):
            return (event,)
        return (replace(event, response=self._response(event.response)),)

    def flush(self) -> Sequence[ChatEvent]:
        """Return nothing: nothing is held."""
        return ()

    def _response(self, response: ChatResponse) -> ChatResponse:
        known: dict[str, AssistantMessage] = {}

        def rewritten(message: Message) -> Message:
            if not isinstance(message, AssistantMessage):
                return message
            if message.id not in known:
                known[message.id] = self._message(message)
            return known[message.id]

        return replace(
            response,
            message=cast("AssistantMessage", rewritten(response.message)),
            transcript=tuple(map(rewritten, response.transcript)),
        )

    def _message(self, message: AssistantMessage) -> AssistantMessage:
        guards = InOrder([make() for make in self._make_lifts])
        texts: dict[int, list[str]] = {}
        last: dict[type, int] = {}  # which part had a text of that kind
        part = 0
        for event in (*self._guarded(message, guards, last), *guards.flush()):
            if isinstance(event, _Border):
                part = event.part + 1
            elif isinstance(event, Delta):
                # What the end adds stands after the last border.
                where = part if part < len(message.content) else last[type(event)]
                texts.setdefault(where, []).append(text_of(event))
        content = tuple(
            new
            for number, old in enumerate(message.content)
            if (new := self._part(old, "".join(texts.get(number, ())))) is not None
        )
        return (
            message if content == message.content else replace(message, content=content)
        )

    def _guarded(
        self,
        message: AssistantMessage,
        guards: InOrder[ChatEvent],
        last: dict[type, int],
    ) -> Iterator[ChatEvent]:
        for number, part in enumerate(message.content):
            piece = self._piece(number, part)
            if piece is not None:
                last[type(piece)] = number
                yield from guards.feed(piece)
            yield from guards.feed(cast("ChatEvent", _Border(number)))

    def _piece(self, number: int, part: AssistantPart) -> Delta | None:
        """The part as an event; ``None`` if no guard sees it."""
        match part:
            case Text(text=text) if "text" in self._channels:
                return TextDelta(text=text)
            case Reasoning(text=text, signature=None) if "reasoning" in self._channels:
                return ReasoningDelta(text=text)
            case ToolCall(arguments=text) if "tool_arguments" in self._channels:
                return ToolCallDelta(index=number, arguments=text)
            case _:
                return None

    def _part(self, part: AssistantPart, text: str) -> AssistantPart | None:
        if self._piece(0, part) is None:
            return part
        if isinstance(part, ToolCall):
            return replace(part, arguments=text)
        assert isinstance(part, Text | Reasoning)
        return replace(part, text=text) if text else None
