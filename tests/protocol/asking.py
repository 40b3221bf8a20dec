"""Ask a model and keep what came, whether it ended well or in an error."""

from __future__ import annotations

import asyncio
from contextlib import aclosing
from dataclasses import dataclass

from rxagent.errors import ModelError, RxAgentError
from rxagent.events import ChatEvent, Finished, TextDelta
from rxagent.messages import UserMessage
from rxagent.operators import just
from rxagent.requests import ChatOptions, ChatRequest, ToolSpec
from rxagent.responses import ChatResponse
from rxagent.runtime import Flow, iterate
from rxagent.types import Exchange

__all__ = ["Heard", "ask", "hear", "hear_in_turn", "request_of"]


@dataclass(frozen=True, slots=True)
class Heard:
    """What a reader of one flow got."""

    events: tuple[ChatEvent, ...]
    error: RxAgentError | None

    @property
    def text(self) -> str:
        """The text that was delivered."""
        return "".join(each.text for each in self.events if isinstance(each, TextDelta))

    @property
    def response(self) -> ChatResponse:
        """The end: the last event, and the only one of its kind."""
        assert self.error is None, repr(self.error)
        [end] = [each for each in self.events if isinstance(each, Finished)]
        assert end is self.events[-1]
        return end.response

    @property
    def model_error(self) -> ModelError:
        """The error that came in place of an end."""
        assert isinstance(self.error, ModelError), repr(self)
        assert not any(isinstance(each, Finished) for each in self.events)
        return self.error


async def hear(flow: Flow[ChatEvent]) -> Heard:
    """Read a flow to its end, whatever that is."""
    heard: list[ChatEvent] = []
    try:
        async with aclosing(iterate(flow)) as events:
            async for event in events:
                heard.append(event)
    except RxAgentError as error:
        return Heard(tuple(heard), error)
    return Heard(tuple(heard), None)


async def hear_in_turn(model: Exchange, *requests: ChatRequest) -> list[Heard]:
    """Ask ``model`` one thing after the other, over the connections that it has."""
    return [await hear(Flow[ChatEvent].of(just(each).pipe(model))) for each in requests]


def ask(model: Exchange, *requests: ChatRequest) -> list[Heard]:
    """Ask in turn, on a loop of its own: when it ends, nothing is left open."""
    return asyncio.run(hear_in_turn(model, *requests))


def request_of(
    text: str,
    *,
    tools: tuple[ToolSpec, ...] = (),
    options: ChatOptions | None = None,
) -> ChatRequest:
    """A request of one user message."""
    return ChatRequest(
        messages=(UserMessage.of(text),), tools=tools, options=options or ChatOptions()
    )
