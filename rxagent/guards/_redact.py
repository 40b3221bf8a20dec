from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import ClassVar

from rxagent.choices import check_choice
from rxagent.guards._engine import Found
from rxagent.guards._match import Match
from rxagent.guards._matching import Matching, OnHold
from rxagent.guards._pattern import Pattern
from rxagent.guards._rules import rules_of
from rxagent.guards._scan import Rule
from rxagent.guards._text_guard import TextGuard


def redact(
    patterns: str | Pattern | Iterable[str | Pattern],
    replacement: str | Callable[[Match], str] = "[REDACTED]",
    *,
    max_hold_chars: int = 4096,
    on_hold: OnHold = "redact",
    timeout_s: float = 1.0,
) -> TextGuard:
    r"""Replace what matches, wherever the text is cut: nothing of a match gets out.

    ::

        --a--b--c------|
        [ redact("sk-[a-z]{4,}") ]        a = "key sk", b = "-abcd", c = " ok"
        --x-----y------|                  x = "key ", y = "[REDACTED] ok"

    What comes out, joined, is what the whole text would give: of all matches the
    leftmost, then the longest, then that of the pattern given first; each text once.
    One pattern's match at a place is what the engine finds there.  After an empty match
    the next character passes.  Only what a text that may still come can change is held.

    Args:
        patterns: Expressions of the `regex` package, or `Pattern` for more.  What a
            stream cannot follow is refused: ``\G``, ``\K``, ``(?R)``, ``(*SKIP)``,
            approximate matching, full case folding, and the flags r, w, p and b.
        replacement: A text, as it is; or a function of the match.
        max_hold_chars: How much text may be held, in characters.
        on_hold: What to do with a longer text that may still become a match.
            ``"redact"`` puts the replacement in its place before it is known, and lets
            out nothing until it is; ``"release"`` lets it out, and so perhaps a part of
            a match; ``"stop"`` is a `GuardError`.
        timeout_s: How long one search may take, in seconds; more is a `GuardError`.

    Returns:
        A text guard, for `guard`.

    Raises:
        ConfigurationError: If a pattern cannot be used; or without the regex package,
            which is in the extra ``guards``.
    """
    check_choice("on_hold", on_hold, OnHold)
    rules = rules_of(
        "redact", patterns, max_hold_chars=max_hold_chars, timeout_s=timeout_s
    )
    return _Redact(
        rules=rules,
        replacement=replacement,
        max_hold_chars=max_hold_chars,
        on_hold=on_hold,
    )


@dataclass(frozen=True, slots=True, kw_only=True, repr=False)
class _Redact:
    name: ClassVar[str] = "redact"

    rules: tuple[Rule, ...]
    replacement: str | Callable[[Match], str]
    max_hold_chars: int
    on_hold: OnHold

    def __repr__(self) -> str:
        return f"{self.name}({', '.join(rule.name for rule in self.rules)})"

    def __call__(self) -> Matching:
        return Matching(
            self.rules,
            replace=self._replace,
            max_hold_chars=self.max_hold_chars,
            on_hold=self.on_hold,
        )

    def _replace(self, rule: Rule, found: Found) -> str:
        own = rule.pattern.replacement
        replacement = self.replacement if own is None else own
        return replacement if isinstance(replacement, str) else replacement(found)
