from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import replace
from functools import partial
from typing import TypeVar

from rxagent.events import (
    ChatEvent,
    Finished,
    ReasoningDelta,
    Retracted,
    RoundFinished,
    TextDelta,
)
from rxagent.guards._event_guard import EventGuard
from rxagent.messages import (
    AssistantMessage,
    AssistantPart,
    Message,
    Reasoning,
    Text,
)
from rxagent.operators import transduce
from rxagent.requests import Origin
from rxagent.responses import ChatResponse
from rxagent.wire.think_tags import ThinkTagPiece, ThinkTagSplitter

M = TypeVar("M", bound=Message)


def think_tags(*, starts_in_thinking: bool = False, answer: bool = False) -> EventGuard:
    """Deliver what a model writes between think tags as reasoning.

    ::

        --a--b--c--F                      a = "<thi", b = "nk>hm</think>", c = "Yes."
        [ guard(think_tags()) ]
        -----r--c--F                      r = the ReasoningDelta "hm"

    For models whose dialect does not do it; `rxagent.wire.OpenAIChatDialect` does, with
    the same rules, if its ``think_tags`` is set.  No piece of a tag is delivered, nor
    the blank space behind a closing one.

    Args:
        starts_in_thinking: The prompt has opened the first block already, so that only
            ``</think>`` comes.
        answer: Make parts of reasoning in the response, too, so that its ``text``, a
            memory and the next request hold no tags.  If not, it says what the model
            said.

    Returns:
        An event guard.  What may be the start of a tag is held, and events behind it
        wait; an error and a disposal drop them.
    """
    make = partial(_ThinkTags, starts_in_thinking=starts_in_thinking, answer=answer)
    return EventGuard(name="think_tags", operator=transduce(make))


class _ThinkTags:
    """Splits the text of each answer, and keeps what stands in it in its place."""

    __slots__ = ("_answer", "_new", "_origin", "_tags", "_waiting")

    def __init__(self, *, starts_in_thinking: bool, answer: bool) -> None:
        self._answer = answer
        self._new = partial(ThinkTagSplitter, starts_in_thinking=starts_in_thinking)
        self._tags = self._new()
        self._origin = Origin()  # of what is held
        self._waiting: list[ChatEvent] = []  # behind it

    def feed(self, event: ChatEvent, /) -> Sequence[ChatEvent]:
        if isinstance(event, TextDelta):
            return self._split(event)
        if isinstance(event, RoundFinished | Finished):
            return (*self.flush(), self._end(event))
        if isinstance(event, Retracted):
            waiting, self._waiting, self._tags = self._waiting, [], self._new()
            return (*waiting, event)
        if self._tags.held:
            self._waiting.append(event)
            return ()
        return (event,)

    def flush(self) -> Sequence[ChatEvent]:
        left = [*_deltas(self._tags.flush(), self._origin), *self._waiting]
        self._tags, self._waiting = self._new(), []
        return left

    def _split(self, event: TextDelta) -> Sequence[ChatEvent]:
        held = self._tags.held
        ready = self._tags.feed(event.text)
        if not self._waiting:
            self._origin = event.origin
            return _deltas(ready, event.origin)
        if self._tags.held == held + event.text:
            return ()  # it may still be a tag
        before: list[ChatEvent] = []
        if ready and ready[0][1].startswith(held):  # it was none
            kind, text = ready[0]
            before += _deltas([(kind, held)], self._origin)
            ready[0] = (kind, text[len(held) :])
        waiting, self._waiting = self._waiting, []
        self._origin = event.origin
        return (*before, *waiting, *_deltas(ready, event.origin))

    def _end(self, event: RoundFinished | Finished) -> RoundFinished | Finished:
        if not self._answer:
            return event
        return replace(event, response=_split_response(event.response, self._new))


def _deltas(pieces: Iterable[ThinkTagPiece], origin: Origin) -> list[ChatEvent]:
    return [
        TextDelta(text=text, origin=origin)
        if kind == "text"
        else ReasoningDelta(text=text, origin=origin)
        for kind, text in pieces
        if text
    ]


def _split_response(
    response: ChatResponse, new: Callable[[], ThinkTagSplitter]
) -> ChatResponse:
    def split(message: M) -> M:
        if not isinstance(message, AssistantMessage):
            return message
        return replace(message, content=tuple(_parts(message.content, new())))

    return replace(
        response,
        message=split(response.message),
        transcript=tuple(map(split, response.transcript)),
    )


def _parts(
    content: Iterable[AssistantPart], tags: ThinkTagSplitter
) -> Iterator[AssistantPart]:
    """The parts, with those of a text in its place; a tag may be cut between two."""
    for part in content:
        if isinstance(part, Text):
            yield from _as_parts(tags.feed(part.text))
        else:
            yield from _as_parts(tags.flush())
            yield part
    yield from _as_parts(tags.flush())


def _as_parts(pieces: Iterable[ThinkTagPiece]) -> Iterator[AssistantPart]:
    for kind, text in pieces:
        yield Text(text=text) if kind == "text" else Reasoning(text=text)
