from __future__ import annotations

from reactivex import Observable
from reactivex import operators as ops

from rxagent.events import ChatEvent, Finished
from rxagent.responses import ChatResponse
from rxagent.types import Operator


def responses() -> Operator[ChatEvent, ChatResponse]:
    """Keep the response of each turn.

    ::

        --a--b--(F,|)                     F = Finished(r)
        [ responses() ]
        --------(r,|)

    Returns:
        An operator.  Errors, completion and disposal pass through.
    """

    def is_finished(event: ChatEvent) -> bool:
        return isinstance(event, Finished)

    def response(event: ChatEvent) -> ChatResponse:
        assert isinstance(event, Finished)
        return event.response

    def operator(source: Observable[ChatEvent]) -> Observable[ChatResponse]:
        return source.pipe(ops.filter(is_finished), ops.map(response))

    return operator
