"""A value of the context cannot be read."""

from __future__ import annotations

from rxagent.errors._root import RxAgentError

__all__ = [
    "ContextError",
    "ContextTypeError",
    "MissingContextError",
]


class ContextError(RxAgentError):
    """A value of the context cannot be read."""


class MissingContextError(ContextError, KeyError):
    """Nothing is there under the key."""

    def __init__(self, key: str, *, hint: str = "") -> None:
        how = hint or f"pass context={{{key!r}: ...}} with the call"
        super().__init__(f"the context has no {key!r}; {how}")
        self.key = key

    def __str__(self) -> str:  # KeyError would show the repr of the message
        return str(self.args[0])


class ContextTypeError(ContextError, TypeError):
    """Something of another type is there under the key."""

    def __init__(self, key: str, *, expected: type, found: type) -> None:
        super().__init__(
            f"context key {key!r} holds {found.__name__}, not {expected.__name__}"
        )
        self.key = key
        self.expected = expected
        self.found = found
