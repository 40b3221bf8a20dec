"""How the calls of a round run: in turn, at once, in a pool or a cluster."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Protocol

from reactivex import Observable

from rxagent.errors import ConfigurationError
from rxagent.messages import ToolCall
from rxagent.tools.job import Submit
from rxagent.tools.report import ToolEvent

__all__ = ["Answer", "Executor", "check_executor"]


@dataclass(frozen=True, slots=True)
class Answer:
    """The answer to one call, not started yet.

    Args:
        call: The call.
        serial: Whether its tool wants to be alone.
        start: Makes the events of it; gets where a plain function runs.
    """

    call: ToolCall
    serial: bool
    start: Callable[[Submit], Observable[ToolEvent]]


class Executor(Protocol):
    """Runs the calls of one round; it knows nothing of rounds or limits.

    It decides how many run at once and where plain functions run, and so it may queue,
    rank or slow down calls as it likes.  One agent has one, and a sub-agent another: a
    tool that waits for a place in the pool that it holds itself would wait for ever.
    """

    @property
    def timeout_s(self) -> float | None:
        """Longest run of a tool that declares none, in seconds."""
        ...

    def __call__(self, answers: Sequence[Answer]) -> Observable[ToolEvent]:
        """Return the events of all answers: exactly one `ToolFinished` for each."""
        ...


def check_executor(given: object) -> None:
    """Refuse what is no executor, where it is given and not where it is needed.

    Args:
        given: An executor, or ``None``.

    Raises:
        ConfigurationError: If it is anything else, such as the function that makes one,
            or a pool.
    """
    if given is None or (callable(given) and hasattr(given, "timeout_s")):
        return
    raise ConfigurationError(
        f"executor takes an executor, such as concurrent() or futures(pool), and not "
        f"{given!r}"
    )
