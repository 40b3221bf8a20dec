"""A guard that a user has written, in any of its forms, as what makes a transducer."""

from __future__ import annotations

from collections.abc import Callable, Generator, Iterable, Sequence
from dataclasses import dataclass
from inspect import Signature, isgenerator, signature
from typing import TypeAlias, cast

from reactivex import Observable, abc
from reactivex.disposable import Disposable
from reactivex.scheduler import ImmediateScheduler

from rxagent.errors import ConfigurationError, GuardError
from rxagent.guards._text_guard import TextGuard
from rxagent.named import name_of
from rxagent.types import Operator, Transducer

__all__ = ["GeneratorGuard", "OwnGuard", "guard_name", "text_guard"]

_Out: TypeAlias = str | Iterable[str] | None

GeneratorGuard: TypeAlias = Callable[[], Generator[_Out, str | None, _Out]]
"""``text = yield out``: it gets a piece and gives what is ready, which may be ``None``,
a text or several.  At the end it gets ``None``, and what it yields then, or returns, is
the last.  To return earlier says that it wants no more."""

OwnGuard: TypeAlias = TextGuard | GeneratorGuard | Operator[str, str]


def guard_name(guard: object) -> str:
    """The name of a guard, as errors and ``describe`` show it."""
    name: object = getattr(guard, "name", None)
    if isinstance(name, str):
        return name
    return name_of(cast("Callable[..., object]", getattr(guard, "func", guard)))


def text_guard(own: OwnGuard) -> TextGuard:
    """Make a text guard of a guard in any form.

    Args:
        own: A class with ``feed`` and ``flush``, or another function of no arguments
            that makes a transducer; a generator function; or an Rx operator over text.

    Raises:
        ConfigurationError: If it is none of them.
    """
    if hasattr(own, "feed") and not isinstance(own, type):
        raise ConfigurationError(
            f"{own!r} is one transducer, and each text needs a fresh one; "
            "pass the class, or a function that makes it"
        )
    try:
        found = signature(own)
    except (TypeError, ValueError):
        raise _no_guard(own) from None
    if _takes(found):
        return _Made(cast("Callable[[], object]", own))
    if _takes(found, None):
        return _Operated(cast("Operator[str, str]", own))
    raise _no_guard(own)


def _takes(found: Signature, *arguments: None) -> bool:
    try:
        found.bind(*arguments)
    except TypeError:
        return False
    return True


def _no_guard(own: object) -> ConfigurationError:
    return ConfigurationError(
        f"{own!r} is no guard; pass a class with feed and flush, a generator function, "
        "or an operator over text"
    )


@dataclass(frozen=True, slots=True)
class _Made:
    """What makes a transducer, or starts a generator."""

    make: Callable[[], object]

    def __call__(self) -> Transducer[str, str]:
        made = self.make()
        if isgenerator(made):
            return _Generated(cast("Generator[_Out, str | None, _Out]", made))
        if not (hasattr(made, "feed") and hasattr(made, "flush")):
            raise GuardError(
                guard_name(self.make), f"made a {type(made).__name__}, no transducer"
            )
        return cast("Transducer[str, str]", made)


class _Generated:
    """A generator as a transducer."""

    def __init__(self, generator: Generator[_Out, str | None, _Out]) -> None:
        self._generator = generator
        self.is_done = False
        self._first = self._sent(None)  # it runs up to its first yield

    def feed(self, text: str, /) -> Sequence[str]:
        first, self._first = self._first, ()
        return (*first, *self._sent(text))

    def flush(self) -> Sequence[str]:
        last = (*self._first, *(() if self.is_done else self._sent(None)))
        self._generator.close()  # it may go on for ever
        return last

    def _sent(self, text: str | None) -> Sequence[str]:
        try:
            out = self._generator.send(text)
        except StopIteration as end:
            self.is_done = True
            out = end.value
        return (out,) if out and isinstance(out, str) else tuple(out or ())


@dataclass(frozen=True, slots=True)
class _Operated:
    """An operator, for each text."""

    operator: Operator[str, str]

    def __call__(self) -> Transducer[str, str]:
        return _Pushed(self.operator)


class _Pushed:
    """An operator as a transducer: what it emits is ready, its end is the end."""

    def __init__(self, operator: Operator[str, str]) -> None:
        self.is_done = False
        self._name = guard_name(operator)
        self._observers: list[abc.ObserverBase[str]] = []
        self._ready: list[str] = []
        self._errors: list[Exception] = []
        operator(Observable(self._subscribe)).subscribe(
            self._ready.append,
            self._errors.append,
            self._complete,
            # Nothing waits for its turn, and what wants to wait for a time fails.
            scheduler=ImmediateScheduler.singleton(),
        )

    def feed(self, text: str, /) -> Sequence[str]:
        for observer in tuple(self._observers):
            observer.on_next(text)
        return self._taken()

    def flush(self) -> Sequence[str]:
        for observer in tuple(self._observers):
            observer.on_completed()
        ready = self._taken()
        if not self.is_done:
            raise GuardError(
                self._name,
                "did not complete with the text; an operator that needs time, or other "
                "streams, is an EventGuard",
            )
        return ready

    def _subscribe(
        self, observer: abc.ObserverBase[str], _: abc.SchedulerBase | None = None
    ) -> abc.DisposableBase:
        self._observers.append(observer)
        return Disposable(lambda: self._observers.remove(observer))

    def _complete(self) -> None:
        self.is_done = True

    def _taken(self) -> Sequence[str]:
        if self._errors:
            raise self._errors[0]
        ready = tuple(self._ready)
        self._ready.clear()
        return ready
