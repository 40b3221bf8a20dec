from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import ClassVar, Literal, NoReturn

from rxagent.choices import check_choice
from rxagent.errors import GuardError
from rxagent.guards._engine import Found
from rxagent.guards._matching import Matching
from rxagent.guards._pattern import Pattern
from rxagent.guards._rules import rules_of
from rxagent.guards._scan import Rule
from rxagent.guards._text_guard import TextGuard

_OnHold = Literal["release", "stop"]


def block(
    patterns: str | Pattern | Iterable[str | Pattern],
    *,
    max_hold_chars: int = 4096,
    on_hold: _OnHold = "stop",
    timeout_s: float = 1.0,
) -> TextGuard:
    r"""Stop an answer that holds a match, before any part of it gets out.

    ::

        --a--b--c-----
        [ block(r"code is \d+") ]         a = "The code", b = " is 77", c = "31. Bye"
        --x-----#                         x = "The "

    Args:
        patterns: As `redact` takes them.
        max_hold_chars: How much text may be held, in characters.
        on_hold: What to do with a longer text that may still become a match:
            ``"stop"`` stops the answer, ``"release"`` lets it out.
        timeout_s: How long one search may take, in seconds; more is a `GuardError`.

    Returns:
        A text guard, for `guard`.  A match is a `GuardError` that names the pattern,
        and not the text.

    Raises:
        ConfigurationError: As `redact` does.
    """
    check_choice("on_hold", on_hold, _OnHold)
    rules = rules_of(
        "block", patterns, max_hold_chars=max_hold_chars, timeout_s=timeout_s
    )
    return _Block(rules=rules, max_hold_chars=max_hold_chars, on_hold=on_hold)


@dataclass(frozen=True, slots=True, kw_only=True, repr=False)
class _Block:
    name: ClassVar[str] = "block"

    rules: tuple[Rule, ...]
    max_hold_chars: int
    on_hold: _OnHold

    def __repr__(self) -> str:
        return f"{self.name}({', '.join(rule.name for rule in self.rules)})"

    def __call__(self) -> Matching:
        return Matching(
            self.rules,
            replace=_stop,
            max_hold_chars=self.max_hold_chars,
            on_hold=self.on_hold,
        )


def _stop(rule: Rule, found: Found) -> NoReturn:
    del found  # the error must not tell what is kept in
    raise GuardError(rule.guard, f"found what it must not let out: {rule.name}")
