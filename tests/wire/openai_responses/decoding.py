"""Decode an answer, and keep what came out whether it ended well or not."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from rxagent.context import Context
from rxagent.errors import ModelError
from rxagent.events import ChatEvent, Finished
from rxagent.messages import UserMessage
from rxagent.requests import ChatRequest, Origin
from rxagent.responses import ChatResponse
from rxagent.wire import OpenAIResponsesDialect

__all__ = ["REQUEST", "SSE", "Outcome", "decode", "failure"]

REQUEST = ChatRequest(
    messages=(UserMessage.of("hi"),),
    context=Context({"k": "v"}),
    origin=Origin(run_id="r", round=3),
)
SSE = "text/event-stream; charset=utf-8"


@dataclass(frozen=True, slots=True)
class Outcome:
    """What came out, and how it ended."""

    events: list[ChatEvent]
    error: ModelError | None

    @property
    def response(self) -> ChatResponse:
        """Of the end, which is the last event."""
        assert self.error is None, self.error
        *_, end = self.events
        assert isinstance(end, Finished)
        return end.response


def decode(data: bytes | Iterable[bytes], *, content_type: str = SSE) -> Outcome:
    """Decode bytes, whole or as they are cut."""
    decoder = OpenAIResponsesDialect().decoder(REQUEST, content_type=content_type)
    events: list[ChatEvent] = []
    try:
        for piece in [data] if isinstance(data, bytes) else data:
            events.extend(each for each in decoder.feed(piece))
        events.extend(each for each in decoder.flush())
    except ModelError as error:
        return Outcome(events, error)
    return Outcome(events, None)


def failure(data: bytes | Iterable[bytes], *, content_type: str = SSE) -> ModelError:
    """The error that the bytes come to."""
    error = decode(data, content_type=content_type).error
    assert error is not None
    return error
