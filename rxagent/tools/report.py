"""The events of one call."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TypeAlias

from rxagent.context import Write
from rxagent.errors import FailureKind
from rxagent.events import ToolFinished, ToolProgress, ToolStarted
from rxagent.messages import ToolCall, ToolMessage
from rxagent.requests import Origin
from rxagent.tools.failure import is_group
from rxagent.tools.result import content_of, described
from rxagent.tools.tool_result import ToolResult
from rxagent.wire.tool_results import ERROR_MARK

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

    def finished(
        self, value: object, *, attempts: int = 1, writes: tuple[Write, ...] = ()
    ) -> ToolFinished:
        """The tool returned ``value``, at the last of its ``attempts``."""
        shown = value
        if isinstance(value, ToolResult):
            shown, value = value.content, value.value
        return ToolFinished(
            call=self.call,
            message=self._message(shown, is_error=False),
            value=value,
            attempts=attempts,
            writes=writes,
            origin=self.origin,
        )

    def refused(self, reason: str) -> ToolFinished:
        """The tool did not run; ``reason`` is for the model to act on."""
        return self._failed(reason, "semantic", attempts=0)

    def failed(
        self, error: Exception, kind: FailureKind, *, attempts: int
    ) -> ToolFinished:
        """The tool raised ``error``, at the last of its ``attempts``."""
        return self._failed(_said(error), kind, attempts=attempts)

    def _failed(self, text: str, kind: FailureKind, *, attempts: int) -> ToolFinished:
        return ToolFinished(
            call=self.call,
            message=self._message(text, is_error=True),
            failure=kind,
            attempts=attempts,
            origin=self.origin,
        )

    def _message(self, value: object, *, is_error: bool) -> ToolMessage:
        most = self.max_chars
        if is_error and most is not None:
            most -= len(ERROR_MARK)  # some formats will put it in front
        content = content_of(value, max_chars=most)
        return ToolMessage.of(*content, call=self.call, is_error=is_error)


def _said(error: Exception) -> str:
    if is_group(error):
        return "; ".join(_said(each) for each in error.exceptions)
    try:
        reason = str(error)
    except Exception:  # noqa: BLE001 - it is the exception's own code
        reason = described(error)
    kind = type(error).__name__
    return f"{kind}: {reason}" if reason else kind
