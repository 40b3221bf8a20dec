"""The `regex` package, in the few words that guards need of it.

The standard library's ``re`` cannot say that a match may still come; `regex` can.
"""

from __future__ import annotations

from importlib import import_module
from typing import Protocol, cast

from rxagent.errors import ConfigurationError
from rxagent.guards._expression import followed, leading_flags
from rxagent.guards._head import Head
from rxagent.guards._match import Match

__all__ = ["Compiled", "Engine", "Found"]


class Found(Match, Protocol):
    """What a search finds."""

    @property
    def partial(self) -> bool:
        """Whether the text ended before the match did."""
        ...


class Engine(Protocol):
    """An expression of the `regex` package."""

    @property
    def flags(self) -> int:
        """Those of the expression itself, too."""
        ...

    def search(
        self,
        text: str,
        at: int = 0,
        /,
        *,
        partial: bool = False,
        timeout: float | None = None,
    ) -> Found | None:
        """Find the first match."""
        ...

    def match(
        self,
        text: str,
        at: int = 0,
        /,
        *,
        partial: bool = False,
        timeout: float | None = None,
    ) -> Found | None:
        """Find a match that starts at ``at``."""
        ...


class _Regex(Protocol):
    """The package."""

    FULLCASE: int
    IGNORECASE: int
    REVERSE: int
    VERBOSE: int
    WORD: int
    POSIX: int
    BESTMATCH: int
    VERSION1: int

    @property
    def error(self) -> type[Exception]: ...

    def compile(self, expression: str) -> Engine: ...


class Compiled:
    """An expression in the three forms in which a stream asks it.

    Args:
        expression: As the `regex` package takes it.
        name: Of the pattern; for errors, which do not repeat the expression: it may be
            the secret itself.

    Raises:
        ConfigurationError: If it is not valid, or its matches cannot be found in
            a text that goes on; or if the package is not there.
    """

    __slots__ = (
        "_prefix",
        "head",
        "is_tame",
        "look_back",
        "open",
        "sees_one",
        "start",
        "touches",
        "whole",
    )

    whole: Engine
    """Finds matches in a text that is complete."""
    open: Engine
    """Finds the same, and, where there is none, what may become one."""
    touches: Engine
    """Finds, partially, where the engine looks beyond the end before it decides.

    What the engine finds first is made atomic and then fails.  So it matches nothing,
    and it is partial only where the text that will come can change the decision.
    """
    start: Engine | None
    """Finds all that ``open`` does, and does not care what stands before it."""
    look_back: int
    """Characters before a match that decide on it, at most."""
    is_tame: bool
    """It cannot match one text in very many ways."""
    sees_one: bool
    """Of the text before a match, at most one character decides on it."""
    head: Head | None
    """The run of characters with which it starts, if it does."""

    def __init__(self, expression: str, *, name: str) -> None:
        regex = _package()
        try:
            self.whole = regex.compile(expression)
        except regex.error as error:
            raise ConfigurationError(
                f"{name} is no expression of the regex package: {error}"
            ) from None
        if self.whole.flags & (
            regex.REVERSE | regex.WORD | regex.POSIX | regex.BESTMATCH
        ):
            raise ConfigurationError(
                f"{name} has a flag (r, w, p or b) that a stream cannot follow"
            )
        self._prefix = prefix = leading_flags(expression)
        flags = regex.compile(prefix).flags
        folds = regex.FULLCASE | regex.IGNORECASE
        if flags & folds == folds:
            raise ConfigurationError(
                f"{name} has full case folding, by the flag f or V1; a stream cannot "
                "follow that"
            )
        way = followed(
            expression[len(prefix) :],
            name=name,
            is_verbose=bool(flags & regex.VERBOSE),
            has_nested_sets=bool(flags & regex.VERSION1),
            folds_fully=bool(flags & regex.FULLCASE),
        )
        self.look_back = way.look_back
        self.is_tame = way.is_tame
        self.sees_one = way.sees_one
        self.head = way.head
        self.open = regex.compile(prefix + way.expression)
        lead = way.without_lead
        self.start = None if lead is None else regex.compile(prefix + lead)
        # A comment at the end of a verbose expression would hide what follows it.
        end = "\n" if flags & regex.VERBOSE else ""
        self.touches = regex.compile(f"{prefix}(?>{way.expression}{end})(?!)")

    def members(self, expression: str) -> str:
        """The characters of ASCII that a part of the expression matches."""
        engine = _package().compile(self._prefix + expression)
        return "".join(char for char in map(chr, range(128)) if engine.match(char))


def _package() -> _Regex:
    try:
        return cast("_Regex", import_module("regex"))
    except ImportError:
        raise ConfigurationError(
            "patterns that hold across pieces need the regex package; "
            "install rxagent[guards]"
        ) from None
