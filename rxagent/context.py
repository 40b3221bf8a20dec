"""An immutable mapping with typed keys, carried by requests and responses."""

from __future__ import annotations

from collections.abc import Callable, Iterator, KeysView, Mapping
from dataclasses import dataclass, field
from typing import Any, Generic, TypeVar, get_origin, overload

from rxagent.errors import (
    ConfigurationError,
    ContextTypeError,
    MissingContextError,
)

__all__ = ["Context", "Key", "Write"]

T = TypeVar("T")


@dataclass(frozen=True, slots=True)
class Key(Generic[T]):
    """The name of a value in a `Context`, and its type.

    Args:
        name: Prefixed by who owns it: ``"rxagent.conversation_id"``.
        type: What reading must find; ``None`` is always a legal value.
        hint: How a caller sets it; shown when it is missing.
        reduce: Folds what several tools write: gets what is there and what is written.
            Without it the last write counts.
    """

    name: str
    type: type[T]
    hint: str = ""
    reduce: Callable[[T, T], T] | None = field(default=None, compare=False)

    def __post_init__(self) -> None:
        origin: type | None = get_origin(self.type)
        if origin is not None:
            raise ConfigurationError(
                f"the key {self.name!r} is of {self.type}, which no value can be "
                f"checked against; use {origin.__name__}"
            )


@dataclass(frozen=True, slots=True)
class Write:
    """A value that a tool sets, once all calls of its round are done.

    Args:
        key: Where.
        value: What.
    """

    key: Key[Any]
    value: object = field(repr=False)  # it may be a secret


class Context:
    """Values that travel with a request and come back on its response.

    Never changes: ``context | {...}`` and `set` make a new one.  ``context[key]`` with
    a `Key` is typed and checked; with a ``str`` it is any object.  Its ``repr`` shows
    names only, since values may be secrets.

    Args:
        values: By name; copied.

    Raises:
        MissingContextError: On ``context[key]``, if nothing is there.
        ContextTypeError: On reading with a `Key` of another type.
    """

    __slots__ = ("_values",)

    def __init__(self, values: Mapping[str, object] | Context | None = None) -> None:
        self._values: dict[str, object] = dict(values) if values else {}
        for name in self._values:
            if not isinstance(name, str):
                raise ConfigurationError(
                    f"a context is keyed by text, not by {name!r}; "
                    "use the name of a Key, or set(key, value)"
                )

    @overload
    def __getitem__(self, key: Key[T]) -> T: ...
    @overload
    def __getitem__(self, key: str) -> object: ...
    def __getitem__(self, key: Key[T] | str) -> T | object:
        name, hint = (key, "") if isinstance(key, str) else (key.name, key.hint)
        if name not in self._values:
            raise MissingContextError(name, hint=hint)
        value = self._values[name]
        if not isinstance(key, str) and not isinstance(value, key.type):
            raise ContextTypeError(name, expected=key.type, found=type(value))
        return value

    @overload
    def get(self, key: Key[T], /) -> T | None: ...
    @overload
    def get(self, key: Key[T], default: T, /) -> T: ...
    @overload
    def get(self, key: str, default: object = None, /) -> object: ...
    def get(self, key: Key[T] | str, default: object = None, /) -> object:
        """Return what is there, ``None`` too; ``default`` if nothing is."""
        if isinstance(key, str):
            return self._values.get(key, default)
        if key.name not in self._values:
            return default
        return None if self._values[key.name] is None else self[key]

    def set(self, key: Key[T], value: T | None) -> Context:
        """Return a context in which ``key`` is ``value``."""
        if value is not None and not isinstance(value, key.type):
            raise ContextTypeError(key.name, expected=key.type, found=type(value))
        return Context({**self._values, key.name: value})

    def without(self, key: Key[T]) -> Context:
        """Return a context that does not hold ``key``."""
        return Context({k: v for k, v in self._values.items() if k != key.name})

    def keys(self) -> KeysView[str]:
        """The names that are set; ``dict(context)`` works."""
        return self._values.keys()

    def __or__(self, other: Mapping[str, object] | Context) -> Context:
        return Context({**self._values, **dict(other)}) if other else self

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Context) and self._values == other._values

    __hash__ = None  # type: ignore[assignment]  # values may be unhashable

    def __contains__(self, key: object) -> bool:
        return (key.name if isinstance(key, Key) else key) in self._values

    def __iter__(self) -> Iterator[str]:
        return iter(self._values)

    def __len__(self) -> int:
        return len(self._values)

    def __repr__(self) -> str:
        return f"Context({', '.join(self._values)})"
