"""What is stored must not hold placeholders, whose values nobody else knows."""

from __future__ import annotations

from rxagent.errors import AdvisorError
from rxagent.requests import ChatRequest

__all__ = ["check_unmasked"]


def check_unmasked(name: str, request: ChatRequest) -> None:
    """Refuse to keep a request in which `pii` has put placeholders.

    They are numbered anew in each turn, so those of two turns would be mixed up, and a
    value given back in place of another one.

    Args:
        name: Of the advisor that keeps it.
        request: As it came.

    Raises:
        AdvisorError: If it holds placeholders.
    """
    if request.masked:
        raise AdvisorError(
            name,
            "stands right of pii, where it would keep placeholders in place of values; "
            "name it first, as in advisors=[memory(store), tool_loop(), pii(...)]",
        )
