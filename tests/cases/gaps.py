"""What the library cannot do yet, by kind, protocol or name, each with its reason.

An entry fails when its cases start to pass, so none stays longer than it is true.
"""

from __future__ import annotations

from tests.cases.case import Case

__all__ = ["GAPS", "NotSupportedError", "gap"]


class NotSupportedError(Exception):
    """A case asks for what the library, or this reader of cases, cannot do yet."""


GAPS: dict[str, str] = {}


def gap(case: Case) -> str | None:
    """Why ``case`` is expected to fail; ``None`` if it must pass."""
    for name in (case.id, case.protocol, case.kind):
        if name in GAPS:
            return GAPS[name]
    return None
