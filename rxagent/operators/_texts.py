from __future__ import annotations

from rxagent.errors import ConfigurationError, RetractedError
from rxagent.events import ChatEvent, Retracted, RoundFinished, TextDelta
from rxagent.operators._transduce import transduce
from rxagent.responses import ChatResponse
from rxagent.types import Operator


def texts() -> Operator[ChatEvent, str]:
    """Keep the text of the deltas, for those who want text alone.

    ::

        --a--R--b--(F,|)                  a, b = TextDelta; R, F = other events
        [ texts() ]
        --x-----y--|                      x, y = their text

    Text that is out cannot be taken back here.  So a `Retracted` that makes text void
    is a `RetractedError`; `collect_text` starts over instead.

    Returns:
        An operator.  Errors, completion and disposal pass through.  A stream of
        responses has no deltas, and is a `ConfigurationError`, not a stream of nothing.
    """
    return transduce(_Texts)


class _Texts:
    __slots__ = ("_may_be_void",)

    def __init__(self) -> None:
        self._may_be_void = False  # there is text since the last boundary

    def feed(self, event: ChatEvent | ChatResponse, /) -> tuple[str, ...]:
        if isinstance(event, TextDelta):
            self._may_be_void = self._may_be_void or bool(event.text)
            return (event.text,)
        if isinstance(event, RoundFinished):
            self._may_be_void = False
        elif isinstance(event, Retracted) and self._may_be_void:
            raise RetractedError(event.reason)
        elif isinstance(event, ChatResponse):
            raise no_deltas()
        return ()

    def flush(self) -> tuple[()]:
        return ()


def no_deltas() -> ConfigurationError:
    """What to say to one who takes the text of a stream of responses."""
    return ConfigurationError(
        "the text of a stream is taken of its events, and this one has responses; take "
        "it of agent.stream(...), or read response.text"
    )
