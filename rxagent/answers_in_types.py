"""What an agent answers in types: the methods, over one that asks."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterable, Mapping
from typing import Any, TypedDict, TypeVar, Unpack, overload

from rxagent.entities import Partial, elements, entity, partials
from rxagent.events import ChatEvent
from rxagent.output import OutputType, list_of, output_type
from rxagent.prompt import Prompt
from rxagent.requests import ChatOptions, JsonSchema, ToolSpec
from rxagent.runtime import Flow
from rxagent.types import Advisor, AnswerMode

__all__ = ["AnswersInTypes", "CallOptions"]

T = TypeVar("T")


class CallOptions(TypedDict, total=False):
    """What a single call adds to an agent; see `rxagent.Agent.stream`."""

    context: Mapping[str, object] | None
    tools: Iterable[ToolSpec]
    options: ChatOptions | None
    advisors: Iterable[Advisor]


class AnswersInTypes(ABC):
    """Answers as values of a type: whole, growing, or element by element."""

    @abstractmethod
    def asking(
        self,
        kind: object,
        prompt: Prompt,
        *,
        mode: AnswerMode | None = None,
        max_retries: int = 3,
        live: bool = False,
        **call: Unpack[CallOptions],
    ) -> Flow[ChatEvent]:
        """Answer ``prompt`` as a stream of events, in the form of a type.

        For operators that read typed answers, such as `rxagent.entities.fields`.

        Args:
            kind: A type or JSON Schema; see `rxagent.output.output_type`.
            prompt: See `Prompt`.
            mode: How the model is told; see `AnswerMode`.  Default: as the model says
                of itself, and in words if it says nothing.
            max_retries: How often a bad answer is asked for again.  An advisor
                `validate` in the agent's list stands in place of this.
            live: Let text out before it is checked, and void it with `Retracted`.
            **call: As for `rxagent.Agent.stream`.

        Returns:
            A cold flow, whose response has a ``verdict``.  If the last answer is still
            bad, its error is an `InvalidAnswerError`, so that memory keeps nothing.

        Raises:
            RequestError: If there is nothing to answer.
            ConfigurationError: If the type cannot be checked.
        """

    @overload
    def entity(
        self,
        kind: type[T] | OutputType[T],
        prompt: Prompt,
        *,
        mode: AnswerMode | None = None,
        max_retries: int = 3,
        **call: Unpack[CallOptions],
    ) -> Flow[T]: ...
    @overload
    def entity(
        self,
        kind: JsonSchema,
        prompt: Prompt,
        *,
        mode: AnswerMode | None = None,
        max_retries: int = 3,
        **call: Unpack[CallOptions],
    ) -> Flow[object]: ...
    @overload
    def entity(
        self,
        kind: object,
        prompt: Prompt,
        *,
        mode: AnswerMode | None = None,
        max_retries: int = 3,
        **call: Unpack[CallOptions],
    ) -> Flow[Any]: ...
    def entity(
        self,
        kind: object,
        prompt: Prompt,
        *,
        mode: AnswerMode | None = None,
        max_retries: int = 3,
        **call: Unpack[CallOptions],
    ) -> Flow[Any]:
        """Answer ``prompt`` with one value of a type.

        ::

            film = agent.entity(Film, "A film about a ship?").run()

        Args:
            kind: A pydantic model, dataclass, TypedDict, list, union, enum, literal or
                plain type; or a JSON Schema as a mapping, whose values are plain JSON.
            prompt: See `Prompt`.
            mode: How the model is told; see `AnswersInTypes.asking`.
            max_retries: How often a bad answer is asked for again.
            **call: As for `rxagent.Agent.stream`.

        Returns:
            A cold flow of one value.  Its error is an `InvalidAnswerError` if the last
            answer is still bad, and a `NoAnswerError` if there is none to read.

        Raises:
            RequestError: If there is nothing to answer.
            ConfigurationError: If the type cannot be checked.
        """
        wanted = output_type(kind)
        asked = self.asking(wanted, prompt, mode=mode, max_retries=max_retries, **call)
        return asked.pipe(entity(wanted))

    @overload
    def partials(
        self,
        kind: type[T] | OutputType[T],
        prompt: Prompt,
        *,
        mode: AnswerMode | None = None,
        max_retries: int = 3,
        **call: Unpack[CallOptions],
    ) -> Flow[Partial[T]]: ...
    @overload
    def partials(
        self,
        kind: object,
        prompt: Prompt,
        *,
        mode: AnswerMode | None = None,
        max_retries: int = 3,
        **call: Unpack[CallOptions],
    ) -> Flow[Partial[Any]]: ...
    def partials(
        self,
        kind: object,
        prompt: Prompt,
        *,
        mode: AnswerMode | None = None,
        max_retries: int = 3,
        **call: Unpack[CallOptions],
    ) -> Flow[Partial[Any]]:
        """Answer ``prompt`` with a value that grows; the last one is validated.

        Args:
            kind: As for `entity`.
            prompt: See `Prompt`.
            mode: How the model is told; see `AnswersInTypes.asking`.
            max_retries: How often a bad answer is asked for again; then the values
                begin anew.
            **call: As for `rxagent.Agent.stream`.

        Returns:
            A cold flow; see `rxagent.entities.partials`.

        Raises:
            RequestError: If there is nothing to answer.
            ConfigurationError: If the type cannot be checked.
        """
        wanted = output_type(kind)
        return self.asking(
            wanted, prompt, mode=mode, max_retries=max_retries, live=True, **call
        ).pipe(partials(wanted))

    @overload
    def elements(
        self,
        kind: type[T] | OutputType[T],
        prompt: Prompt,
        *,
        mode: AnswerMode | None = None,
        **call: Unpack[CallOptions],
    ) -> Flow[T]: ...
    @overload
    def elements(
        self,
        kind: object,
        prompt: Prompt,
        *,
        mode: AnswerMode | None = None,
        **call: Unpack[CallOptions],
    ) -> Flow[Any]: ...
    def elements(
        self,
        kind: object,
        prompt: Prompt,
        *,
        mode: AnswerMode | None = None,
        **call: Unpack[CallOptions],
    ) -> Flow[Any]:
        """Answer ``prompt`` with a list, and emit each element when it is complete.

        What was emitted cannot be taken back, so a bad answer is not asked for again.

        Args:
            kind: Of an element, as for `entity`.
            prompt: See `Prompt`.
            mode: How the model is told; see `AnswersInTypes.asking`.
            **call: As for `rxagent.Agent.stream`.

        Returns:
            A cold flow; see `rxagent.entities.elements`.

        Raises:
            RequestError: If there is nothing to answer.
            ConfigurationError: If the type cannot be checked.
        """
        one = output_type(kind)
        return self.asking(
            list_of(one), prompt, mode=mode, max_retries=0, live=True, **call
        ).pipe(elements(one))
