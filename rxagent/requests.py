"""What is asked of a model: messages, tools, options, and for which run."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, fields, replace
from types import MappingProxyType
from typing import Any, TypeAlias

from rxagent.context import Context
from rxagent.errors import RequestError
from rxagent.messages import Message, UserMessage

__all__ = ["ChatOptions", "ChatRequest", "Failure", "JsonSchema", "Origin", "ToolSpec"]

JsonSchema: TypeAlias = Mapping[str, object]


@dataclass(frozen=True, slots=True, kw_only=True)
class Origin:
    """Which run an event belongs to, so that merged streams can be taken apart again.

    Args:
        run_id: One for each subscription to an agent.
        path: Names of the agents, outermost first.
        round: The model request within its turn, from 0.
    """

    run_id: str = ""
    path: tuple[str, ...] = ()
    round: int = 0


@dataclass(frozen=True, slots=True, kw_only=True)
class ToolSpec:
    """What a model is told of a tool.

    Args:
        name: As the model writes it.
        description: What it does and when to use it.
        parameters: JSON Schema of an object.
    """

    name: str
    description: str
    parameters: JsonSchema


_TEXT = ((str,), "a text")
_NUMBER = ((int, float), "a number")
_WHOLE = ((int,), "a whole number")
_SWITCH = ((bool,), "true or false")
_MAPPING = ((Mapping,), "a mapping")
_KINDS: Mapping[str, tuple[tuple[type, ...], str]] = MappingProxyType(
    {
        "model": _TEXT,
        "temperature": _NUMBER,
        "top_p": _NUMBER,
        "max_tokens": _WHOLE,
        "stop": ((tuple,), "a text or a tuple of texts"),
        "seed": _WHOLE,
        "tool_choice": _TEXT,
        "parallel_tool_calls": _SWITCH,
        "response_schema": _MAPPING,
        "reasoning_effort": _TEXT,
        "stream": _SWITCH,
        "extra": _MAPPING,
    }
)
"""What each option must be."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ChatOptions:
    """How to answer.  ``None`` leaves it to the provider.

    Args:
        model: The provider's name of a model.
        temperature: 0 is the least random.
        top_p: Nucleus sampling, 0 to 1.
        max_tokens: Longest answer, in tokens.
        stop: Texts that end the answer; one alone may be a plain string.
        seed: For repeatable sampling, where the provider can.
        tool_choice: ``"auto"``, ``"none"``, ``"required"`` or the name of a tool.
        parallel_tool_calls: False asks for one call at a time.
        response_schema: JSON Schema that the answer's text must meet.
        reasoning_effort: The provider's word, such as ``"low"``.
        stream: False asks for the whole answer in one piece; only the wire differs.
        extra: Members added to the request body as they are; ``tools`` stand behind
            those of the request.

    Raises:
        RequestError: If a value is of the wrong type.
    """

    model: str | None = None
    temperature: float | None = None
    top_p: float | None = None
    max_tokens: int | None = None
    stop: tuple[str, ...] | str | None = None
    seed: int | None = None
    tool_choice: str | None = None
    parallel_tool_calls: bool | None = None
    response_schema: JsonSchema | None = None
    reasoning_effort: str | None = None
    stream: bool | None = None
    extra: Mapping[str, object] = field(default_factory=dict[str, object])

    def __post_init__(self) -> None:
        stop: object = self.stop
        if isinstance(stop, str | list):  # one text is no tuple of letters
            stop = (stop,) if isinstance(stop, str) else tuple(self.stop or ())
            object.__setattr__(self, "stop", stop)
        for name, (kinds, what) in _KINDS.items():
            value: object = getattr(self, name)
            is_wrong = isinstance(value, bool) and bool not in kinds
            if value is not None and (is_wrong or not isinstance(value, kinds)):
                raise RequestError(f"{name} must be {what}, not {value!r}")
        if self.stop and not all(isinstance(each, str) for each in self.stop):
            raise RequestError(f"stop must be texts, not {self.stop!r}")

    def merged(self, over: ChatOptions) -> ChatOptions:
        """Return these options with what ``over`` sets; ``extra`` merges by name."""
        changes: dict[str, Any] = {
            each.name: value
            for each in fields(over)
            if each.name != "extra" and (value := getattr(over, each.name)) is not None
        }
        if over.extra:
            changes["extra"] = {**self.extra, **over.extra}
        return replace(self, **changes) if changes else self


class Failure:
    """What a run has failed with, for those of its parts that are told nothing.

    An error goes outwards.  What is inside of the place where it happened, such as a
    memory inside of a guard, is disposed, as it is if the reader has left; or it runs
    on to its end, if its source is synchronous.

    Args:
        outer: Of the run that this one is a part of.
    """

    __slots__ = ("_error", "_outer")

    def __init__(self, outer: Failure | None = None) -> None:
        self._error: Exception | None = None
        self._outer = outer

    @property
    def error(self) -> Exception | None:
        """The error; ``None`` as long as the run goes on, or if it ended otherwise."""
        outer = self._outer.error if self._outer else None
        return self._error or outer

    def is_now(self, error: Exception) -> None:
        """Note the error, before anything inside is disposed."""
        self._error = error


@dataclass(frozen=True, slots=True, kw_only=True)
class ChatRequest:
    """One request, as it stands at one place of the chain.

    Args:
        messages: The conversation so far, oldest first.
        tools: What the model may call.
        options: How to answer.
        context: Values for advisors and tools; never sent to a provider.
        origin: The run this request belongs to.
        failure: What that run has failed with.
        in_loop: Whether a tool loop is around this place, so that it comes here in each
            round.
        masked: Whether `pii` has put placeholders in the place of values.
        typed: Whether the answer is asked for in a type, so that its text is JSON.
    """

    messages: tuple[Message, ...]
    tools: tuple[ToolSpec, ...] = ()
    options: ChatOptions = field(default_factory=ChatOptions)
    context: Context = field(default_factory=Context)
    origin: Origin = field(default_factory=Origin, compare=False)
    failure: Failure = field(default_factory=Failure, compare=False, repr=False)
    in_loop: bool = field(default=False, compare=False)
    masked: bool = field(default=False, compare=False)
    typed: bool = field(default=False, compare=False)

    @property
    def entry(self) -> UserMessage | None:
        """The user message to answer; ``None`` if something else is last."""
        last = self.messages[-1] if self.messages else None
        return last if isinstance(last, UserMessage) else None
