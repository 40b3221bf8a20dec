from __future__ import annotations

from collections.abc import Sequence

from rxagent.entities._growing_text import GrowingText, is_boundary
from rxagent.events import ChatEvent
from rxagent.operators import transduce
from rxagent.types import Operator
from rxagent.wire.json_reader import JsonReader, JsonValue


def fields(*, depth: int = 2) -> Operator[ChatEvent, JsonValue]:
    """Read each value of an answer as soon as it is complete.

    ::

        --a----b----F|                    a = {"cast": ["Ann", "B   b = ob"]}
        [ fields() ]
        --x----(y,z)-|                    x = cast[0], y = cast[1], z = cast

    So work on the first item of a list can begin while the second one streams.  Inner
    values come before the outer ones.  A round of tools and `Retracted` begin anew.

    Args:
        depth: How deep values are reported: 1 are the members of the answer.

    Returns:
        An operator.  Its values are JSON that nobody has validated.  What is no JSON
        gives no more values; the end of the answer, `entity`, says what is wrong.
    """
    return transduce(lambda: _Fields(depth))


class _Fields:
    """The values of one subscription."""

    def __init__(self, depth: int) -> None:
        self._depth = depth
        self._text = GrowingText()
        self._reader = JsonReader(depth=depth)

    def feed(self, event: ChatEvent, /) -> Sequence[JsonValue]:
        if is_boundary(event):
            self._text, self._reader = GrowingText(), JsonReader(depth=self._depth)
            return ()
        return [
            value
            for text in self._text.feed(event)
            for value in self._reader.feed(text)
            if value.path
        ]

    def flush(self) -> Sequence[JsonValue]:
        return ()
