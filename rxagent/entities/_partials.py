from __future__ import annotations

from collections.abc import Sequence
from typing import TypeVar, overload

from rxagent.entities._answers import answer_of
from rxagent.entities._growing_text import GrowingText, is_boundary
from rxagent.entities._partial import Partial
from rxagent.events import ChatEvent, Finished
from rxagent.operators import transduce
from rxagent.output import WRAP, OutputType, output_type
from rxagent.requests import JsonSchema
from rxagent.types import Operator
from rxagent.wire.json_text import is_object
from rxagent.wire.partial import PartialJson

T = TypeVar("T")


@overload
def partials(kind: type[T] | OutputType[T]) -> Operator[ChatEvent, Partial[T]]: ...
@overload
def partials(kind: JsonSchema) -> Operator[ChatEvent, Partial[object]]: ...
@overload
def partials(kind: object) -> Operator[ChatEvent, Partial[object]]: ...
def partials(kind: object) -> Operator[ChatEvent, Partial[object]]:
    """Read an answer while it grows.

    ::

        --a-----b-----F|                  a = {"title": "Al   b = ien", "year": 1979}
        [ partials(Film) ]
        --x-----y-----(z,|)               x, y = what there is; z has the Film, too

    Each value is a beginning of the next one, until `Retracted` voids them all; a round
    of tools begins anew.  No two neighbours are the same.  For fewer, put RxPY's own
    ``sample`` or ``throttle_first`` behind it.

    Args:
        kind: A type or a JSON Schema; see `rxagent.output.output_type`.

    Returns:
        An operator.  The last item alone is validated and has the ``entity``; its value
        may differ from the ones before where the text had to be mended.  Errors are
        those of `entity`.

    Raises:
        ConfigurationError: If the type cannot be checked.
    """
    wanted = output_type(kind)
    return transduce(lambda: _Partials(wanted))


class _Partials:
    """The growing value of one subscription."""

    def __init__(self, wanted: OutputType[object]) -> None:
        self._wanted = wanted
        self._text = GrowingText()
        self._json = PartialJson()
        self._last: list[object] = []  # the last value, if there is one

    def feed(self, event: ChatEvent, /) -> Sequence[Partial[object]]:
        if isinstance(event, Finished):
            return self._end(event)
        if is_boundary(event):
            self._text, self._json, self._last = GrowingText(), PartialJson(), []
            return ()
        return [
            Partial(value=value)
            for text in self._text.feed(event)
            for whole in self._json.feed(text)
            for value in self._inner(whole)
        ]

    def flush(self) -> Sequence[Partial[object]]:
        return ()

    def _inner(self, whole: object) -> Sequence[object]:
        """What is wrapped, if it is there and another one than before."""
        value = [whole]
        if self._wanted.is_wrapped and is_object(whole):
            value = [inner for name, inner in whole.items() if name == WRAP]
        news = value if value != self._last else []
        self._last = value
        return news

    def _end(self, event: Finished) -> Sequence[Partial[object]]:
        entity, value = answer_of(event.response, self._wanted)
        return (Partial(value=value, entity=entity),)
