"""The events of one call."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TypeAlias, TypeGuard

from rxagent.events import ToolFinished, ToolProgress, ToolStarted
from rxagent.messages import ToolCall, ToolMessage
from rxagent.requests import Origin
from rxagent.tools.result import content_of, described

__all__ = ["Report", "ToolEvent"]

ToolEvent: TypeAlias = ToolStarted | ToolProgress | ToolFinished
"""What happens to a call: it may start and progress, and it finishes."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Report:
    """Makes the events of a call.

    Args:
        call: The call.
        origin: The run and the round that it belongs to.
        max_chars: Longest result for the model, in characters.
    """

    call: ToolCall
    origin: Origin
    max_chars: int | None

    def started(self) -> ToolStarted:
        """The tool begins to run."""
        return ToolStarted(call=self.call, origin=self.origin)

    def progress(self, value: object) -> ToolProgress:
        """The tool reports ``value``."""
        return ToolProgress(call=self.call, value=value, origin=self.origin)

    def finished(self, value: object) -> ToolFinished:
        """The tool returned ``value``."""
        return self._finished(value, is_error=False)

    def refused(self, reason: str) -> ToolFinished:
        """The tool did not run; ``reason`` is for the model to act on."""
        return self._finished(reason, is_error=True)

    def failed(self, error: Exception) -> ToolFinished:
        """The tool raised ``error``."""
        return self._finished(_said(error), is_error=True)

    def _finished(self, value: object, *, is_error: bool) -> ToolFinished:
        return ToolFinished(
            call=self.call,
            message=ToolMessage.of(
                *content_of(value, max_chars=self.max_chars),
                call=self.call,
                is_error=is_error,
            ),
            value=None if is_error else value,
            origin=self.origin,
        )


def _is_group(error: Exception) -> TypeGuard[ExceptionGroup[Exception]]:
    return isinstance(error, ExceptionGroup)  # as task groups raise them


def _said(error: Exception) -> str:
    if _is_group(error):
        return "; ".join(_said(each) for each in error.exceptions)
    try:
        reason = str(error)
    except Exception:  # noqa: BLE001 - it is the exception's own code
        reason = described(error)
    kind = type(error).__name__
    return f"{kind}: {reason}" if reason else kind
