from __future__ import annotations

from reactivex import Observable
from reactivex import operators as ops

from rxagent.errors import ConfigurationError
from rxagent.events import ChatEvent, TextDelta
from rxagent.responses import ChatResponse
from rxagent.types import Operator


def texts() -> Operator[ChatEvent, str]:
    """Keep the text of the deltas, for those who want text alone.

    ::

        --a--R--b--(F,|)                  a, b = TextDelta; R, F = other events
        [ texts() ]
        --x-----y--|                      x, y = their text

    Returns:
        An operator.  Errors, completion and disposal pass through.  A stream of
        responses has no deltas, and is a `ConfigurationError`, not a stream of nothing.
    """

    def is_text(event: ChatEvent | ChatResponse) -> bool:
        if isinstance(event, TextDelta):
            return True
        if isinstance(event, ChatResponse):
            raise ConfigurationError(
                "the text of a stream is taken of its events, and this one has "
                "responses; take it of agent.stream(...), or read response.text"
            )
        return False

    def text(event: ChatEvent) -> str:
        assert isinstance(event, TextDelta)
        return event.text

    def operator(source: Observable[ChatEvent]) -> Observable[str]:
        return source.pipe(ops.filter(is_text), ops.map(text))

    return operator
