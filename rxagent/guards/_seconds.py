from __future__ import annotations

from dataclasses import dataclass

from rxagent.tools.rules import check_seconds


@dataclass(frozen=True, slots=True)
class Seconds:
    """A window for each ``seconds`` of text, from its first character on.

    Args:
        seconds: On the scheduler of the subscription.
    """

    seconds: float

    def __post_init__(self) -> None:
        check_seconds("Seconds", self.seconds, or_none=False)
