from __future__ import annotations

from collections.abc import Sequence
from typing import TypeVar, cast, overload

from rxagent.entities._answers import answer_of
from rxagent.entities._growing_text import GrowingText, is_boundary
from rxagent.errors import InvalidAnswerError
from rxagent.events import ChatEvent, Finished
from rxagent.operators import transduce
from rxagent.output import WRAP, OutputType, list_of, output_type
from rxagent.requests import JsonSchema
from rxagent.types import Operator
from rxagent.wire.json_reader import JsonReader, JsonValue

T = TypeVar("T")


@overload
def elements(kind: type[T] | OutputType[T]) -> Operator[ChatEvent, T]: ...
@overload
def elements(kind: JsonSchema) -> Operator[ChatEvent, object]: ...
@overload
def elements(kind: object) -> Operator[ChatEvent, object]: ...
def elements(kind: object) -> Operator[ChatEvent, object]:
    """Read an answer that is a list, element by element, while it streams.

    ::

        --a----b----F|                    a = [{"title": "Alien"}, {"ti
        [ elements(Film) ]                b = tle": "Brazil"}]
        --x----y----|                     x = Film("Alien"), y = Film("Brazil")

    Each element is validated by itself as soon as it is complete.  What was delivered
    cannot be taken back: after `Retracted` the elements come again from the first.

    Args:
        kind: Of an element: a type or a JSON Schema; see `rxagent.output.output_type`.

    Returns:
        An operator.  An element that does not fit is an `InvalidAnswerError`, and those
        before it have been delivered.  Where the answer had to be mended to be read,
        the rest comes at the end.  Other errors are those of `entity`.

    Raises:
        ConfigurationError: If the type cannot be checked.
    """
    one = output_type(kind)
    all_of_them = list_of(one)
    return transduce(lambda: _Elements(one, all_of_them))


class _Elements:
    """The elements of one subscription."""

    def __init__(
        self, one: OutputType[object], all_of_them: OutputType[list[object]]
    ) -> None:
        self._one = one
        self._all = all_of_them
        self._begin()

    def _begin(self) -> None:
        self._text = GrowingText()
        self._reader = JsonReader(depth=2)
        self._seen: list[object] = []  # as JSON

    def feed(self, event: ChatEvent, /) -> Sequence[object]:
        if isinstance(event, Finished):
            return self._rest(event)
        if is_boundary(event):
            self._begin()
            return ()
        return [
            self._element(value)
            for text in self._text.feed(event)
            for value in self._reader.feed(text)
            if _is_element(value)
        ]

    def flush(self) -> Sequence[object]:
        return ()

    def _element(self, found: JsonValue) -> object:
        try:
            element = self._one.load(found.value)
        except InvalidAnswerError as error:
            raise InvalidAnswerError(
                f"element {len(self._seen)} of the answer: {error.problem}",
                texts=error.texts,
            ) from None
        self._seen.append(found.value)
        return element

    def _rest(self, event: Finished) -> Sequence[object]:
        response = event.response
        whole, found = answer_of(response, self._all)
        count = len(self._seen)
        if cast("list[object]", found)[:count] != self._seen:
            raise InvalidAnswerError(
                "the answer holds several lists; answer with one alone",
                texts=(response.text,),
                usage=response.usage,
            )
        return whole[count:]


def _is_element(value: JsonValue) -> bool:
    *above, last = value.path or ("",)
    return isinstance(last, int) and above in ([], [WRAP])
