from __future__ import annotations

from rxagent.events import ChatEvent, Retracted, RoundFinished, TextDelta
from rxagent.operators._texts import no_deltas
from rxagent.operators._transduce import transduce
from rxagent.responses import ChatResponse
from rxagent.types import Operator


def collect_text() -> Operator[ChatEvent, str]:
    """Emit the whole text so far, each time it changes: a sink shows the last one.

    ::

        --a--b--V--c--(F,|)               a, b, c = TextDelta; V = Retracted
        [ collect_text() ]
        --x--y--z--w--|                   x = a, y = ab, z = nothing, w = c

    `Retracted` clears it.  A round of tools begins it anew with its next text, since
    text before tools is no part of the answer.  It is what was delivered; what the
    model said is in the response.

    Every item is a text of its own, so on long answers put `coalesce` before it.

    Returns:
        An operator.  The last item is the text of the answer; without any there is one
        item, the empty text.  Errors and disposal pass through.  A stream of responses
        is a `ConfigurationError`.
    """
    return transduce(_Collected)


class _Collected:
    __slots__ = ("_shown", "_text")

    def __init__(self) -> None:
        self._text = ""
        self._shown: str | None = None

    def feed(self, event: ChatEvent | ChatResponse, /) -> tuple[str, ...]:
        if isinstance(event, TextDelta):
            self._text += event.text
            return self.flush() if event.text else ()
        if isinstance(event, RoundFinished):
            self._text = ""
        elif isinstance(event, Retracted) and self._text:
            self._text = ""
            return self.flush()
        elif isinstance(event, ChatResponse):
            raise no_deltas()
        return ()

    def flush(self) -> tuple[str, ...]:
        if self._shown == self._text:
            return ()
        self._shown = self._text
        return (self._text,)
