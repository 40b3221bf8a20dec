"""What a running tool may know of its surroundings, and what it may do there."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field, fields
from datetime import datetime
from typing import TypeVar

from rxagent.context import Context, Key, Write
from rxagent.errors import ContextTypeError
from rxagent.messages import Message, ToolCall
from rxagent.requests import Origin

__all__ = ["ToolContext"]

T = TypeVar("T")


def _to_nobody(_: object) -> None:
    """What is reported where nobody listens."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ToolContext:
    """Handed to a tool that has a parameter of this type; the model never sees it.

    Args:
        context: The request's context; every call of a batch sees the same one.
        call: The call that is answered.
        origin: The run and the round that it belongs to, and the path of agents.
        messages: The conversation, as the model saw it, with its calls.
        deadline: When the turn has to end; ``None`` if it has no limit on time.
        writes: What `set` has collected.
        progress: Takes what is reported, from any thread.
    """

    context: Context
    call: ToolCall
    origin: Origin
    messages: tuple[Message, ...] = ()
    deadline: datetime | None = None
    writes: list[Write] = field(default_factory=list[Write], repr=False, compare=False)
    progress: Callable[[object], None] = field(
        default=_to_nobody, repr=False, compare=False
    )

    def set(self, key: Key[T], value: T) -> None:
        """Set a value in the context of the turn, once all calls of the round are done.

        Writes fold in the order of the calls, by the key's ``reduce``; those of a call
        that fails count for nothing, and no call of the round sees them.

        Raises:
            ContextTypeError: If ``value`` is not of the key's type.
        """
        if value is not None and not isinstance(value, key.type):
            raise ContextTypeError(key.name, expected=key.type, found=type(value))
        self.writes.append(Write(key, value))

    def report(self, value: object) -> None:
        """Report progress, from any thread: a `ToolProgress` with ``value``."""
        self.progress(value)

    def __getstate__(self) -> tuple[object, ...]:
        # For another process, where nobody listens to progress.
        return tuple(getattr(self, each.name) for each in fields(self)[:-1])

    def __setstate__(self, state: tuple[object, ...]) -> None:
        for each, value in zip(fields(self), state, strict=False):
            object.__setattr__(self, each.name, value)
        object.__setattr__(self, "progress", _to_nobody)
