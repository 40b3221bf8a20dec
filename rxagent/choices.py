"""Options that are one of a few words, a function, or an object of some kind."""

from __future__ import annotations

from inspect import iscoroutinefunction
from typing import get_args

from rxagent.errors import ConfigurationError

__all__ = ["check_callable", "check_choice", "check_has", "check_text"]


def check_choice(name: str, word: object, choices: object) -> None:
    """Refuse a word that is none of an option's: a typo must not pass for a default.

    Args:
        name: Of the option.
        word: What was given.
        choices: The option's ``Literal``.

    Raises:
        ConfigurationError: With the right words.
    """
    words = get_args(choices)
    if word not in words:
        raise ConfigurationError(
            f"{name} must be one of {', '.join(map(repr, words))}, got {word!r}"
        )


def check_text(name: str, given: object) -> None:
    """Refuse what is no text.

    Args:
        name: Of the option.
        given: Anything.

    Raises:
        ConfigurationError: If it is none.
    """
    if not isinstance(given, str):
        raise ConfigurationError(f"{name} takes a text, not {given!r}")


def check_callable(
    name: str,
    given: object,
    *,
    may_be_async: bool = False,
    may_be_class: bool = True,
    may_be_none: bool = True,
) -> None:
    """Refuse what cannot be called, where it is given and not where it is needed.

    Args:
        name: Of the option.
        given: A function, or ``None``.
        may_be_async: Whether what an ``async def`` returns is awaited.
        may_be_class: Whether to call it, and get an object, is what is wanted.
        may_be_none: Whether ``None`` stands for something else.

    Raises:
        ConfigurationError: If it is anything else.
    """
    if not callable(given) and not (given is None and may_be_none):
        raise ConfigurationError(f"{name} takes a function, not {given!r}")
    if isinstance(given, type) and not may_be_class:
        kind = given.__name__
        raise ConfigurationError(
            f"{name} takes a function, not the class {kind}; write {kind}(...)"
        )
    if iscoroutinefunction(given) and not may_be_async:
        raise ConfigurationError(
            f"{name} takes a plain function, and {given!r} is an async one: nobody "
            "would await what it returns"
        )


def check_has(name: str, given: object, method: str, *, such_as: str) -> None:
    """Refuse what is not of the kind that an option takes.

    Args:
        name: Of the option.
        given: An object; its kind is told by a method.
        method: The name of that.
        such_as: What would do.

    Raises:
        ConfigurationError: If it has no such method, or is a class.  It tells the type
            alone: an address may have a password in it.
    """
    if isinstance(given, type) or not callable(getattr(given, method, None)):
        kind = given if isinstance(given, type) else type(given)
        what = f"the class {kind.__name__}" if kind is given else f"a {kind.__name__}"
        raise ConfigurationError(f"{name} takes {such_as}, not {what}")
