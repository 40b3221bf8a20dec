from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field

from rxagent.guards._match import Match


@dataclass(frozen=True, slots=True, kw_only=True)
class Pattern:
    """What to look for, if an expression alone does not say it.

    Args:
        expression: Of the `regex` package; it may look ahead and behind.  It
            is not shown, as it may be the secret itself.
        name: What is found, such as ``"email"``.
        check: Looks at the text of a match; where it returns false, there is no match
            of this pattern at that place, not a shorter one either.
        replacement: In place of `redact`'s.
    """

    expression: str = field(repr=False)
    name: str = ""
    check: Callable[[str], bool] | None = field(default=None, repr=False)
    replacement: str | Callable[[Match], str] | None = None
