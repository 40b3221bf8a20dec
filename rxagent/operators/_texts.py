from __future__ import annotations

from reactivex import Observable
from reactivex import operators as ops

from rxagent.events import ChatEvent, TextDelta
from rxagent.types import Operator


def texts() -> Operator[ChatEvent, str]:
    """Keep the text of the deltas, for those who want text alone.

    ::

        --a--R--b--(F,|)                  a, b = TextDelta; R, F = other events
        [ texts() ]
        --x-----y--|                      x, y = their text

    Returns:
        An operator.  Errors, completion and disposal pass through.
    """

    def is_text(event: ChatEvent) -> bool:
        return isinstance(event, TextDelta)

    def text(event: ChatEvent) -> str:
        assert isinstance(event, TextDelta)
        return event.text

    def operator(source: Observable[ChatEvent]) -> Observable[str]:
        return source.pipe(ops.filter(is_text), ops.map(text))

    return operator
