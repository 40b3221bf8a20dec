from __future__ import annotations

from typing import TypeVar, overload

from reactivex import Observable
from reactivex import operators as ops

from rxagent.entities._answers import answer_of
from rxagent.events import ChatEvent
from rxagent.operators import responses
from rxagent.output import OutputType, output_type
from rxagent.requests import JsonSchema
from rxagent.responses import ChatResponse
from rxagent.types import Operator

T = TypeVar("T")


@overload
def entity(kind: type[T] | OutputType[T]) -> Operator[ChatEvent, T]: ...
@overload
def entity(kind: JsonSchema) -> Operator[ChatEvent, object]: ...
@overload
def entity(kind: object) -> Operator[ChatEvent, object]: ...
def entity(kind: object) -> Operator[ChatEvent, object]:
    """Read the answer of a turn as a value of a type.

    ::

        --a--b--F|
        [ entity(Film) ]
        --------(x,|)                     x = the Film that F says

    Args:
        kind: A type or a JSON Schema; see `rxagent.output.output_type`.

    Returns:
        An operator.  A turn that ended without an answer (blocked, refused, limited,
        paused, cut off) is a `NoAnswerError`; an answer that does not fit is an
        `InvalidAnswerError`, with the attempts of `validate`.

    Raises:
        ConfigurationError: If the type cannot be checked.
    """
    wanted = output_type(kind)

    def value(response: ChatResponse) -> object:
        return answer_of(response, wanted)[0]

    def operator(source: Observable[ChatEvent]) -> Observable[object]:
        return source.pipe(responses(), ops.map(value))

    return operator
