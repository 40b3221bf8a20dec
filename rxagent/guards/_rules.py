"""What a guard is told to look for, made ready."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from rxagent.errors import ConfigurationError
from rxagent.guards._pattern import Pattern
from rxagent.guards._scan import Rule

__all__ = ["rules_of"]


def rules_of(
    guard: str,
    patterns: str | Pattern | Iterable[str | Pattern],
    *,
    max_hold_chars: int,
    timeout_s: float,
) -> tuple[Rule, ...]:
    """Make patterns ready, and refuse what cannot work.

    Args:
        guard: Its name; for errors.
        patterns: One, or several.
        max_hold_chars: At least 1.
        timeout_s: More than 0.

    Raises:
        ConfigurationError: If a number is too small, there is no pattern, or one cannot
            be followed in a stream.
    """
    if max_hold_chars < 1:
        raise ConfigurationError(
            f"{guard}: max_hold_chars must be 1 or more, got {max_hold_chars}"
        )
    if not timeout_s > 0:
        raise ConfigurationError(
            f"{guard}: timeout_s must be more than 0, got {timeout_s}"
        )
    return tuple(
        Rule(guard, pattern, number, timeout_s=timeout_s)
        for number, pattern in enumerate(_several(guard, patterns), start=1)
    )


def _several(
    guard: str, patterns: str | Pattern | Iterable[str | Pattern]
) -> Iterator[Pattern]:
    if isinstance(patterns, str | Pattern):
        patterns = (patterns,)
    elif not isinstance(patterns, Iterable):
        raise _no_pattern(guard, patterns)
    is_empty = True
    for each in patterns:
        is_empty = False
        if isinstance(each, str):
            yield Pattern(expression=each)
        elif isinstance(each, Pattern):
            yield each
        else:
            raise _no_pattern(guard, each)
    if is_empty:
        raise ConfigurationError(f"{guard} needs a pattern at least")


def _no_pattern(guard: str, found: object) -> ConfigurationError:
    # What it is, and not what it holds: that may be the secret.
    kind = type(found).__name__
    return ConfigurationError(
        f"{guard} takes texts of expressions and Patterns, and got one {kind}"
    )
