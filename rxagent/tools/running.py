"""Running a tool for one call: its time, its repetitions, and what is told of it."""

from __future__ import annotations

import asyncio
import contextvars
import threading
from collections.abc import Sequence
from dataclasses import replace
from functools import partial

from reactivex import abc
from reactivex.disposable import (
    Disposable,
    SerialDisposable,
    SingleAssignmentDisposable,
)
from reactivex.scheduler import CurrentThreadScheduler

from rxagent.context import Write
from rxagent.events import ToolFinished
from rxagent.runtime import LoopScheduler, call_on, loop_for
from rxagent.tools.body import (
    Began,
    BodyEvent,
    Raised,
    Reported,
    Returned,
    run_body,
)
from rxagent.tools.call_settings import CallSettings
from rxagent.tools.failure import failure_kind
from rxagent.tools.job import Submit
from rxagent.tools.report import Report, ToolEvent
from rxagent.tools.spending import Spending
from rxagent.tools.tool import AnyTool
from rxagent.tools.tool_context import ToolContext

__all__ = ["ToolRun"]


class ToolRun(abc.DisposableBase):
    """One call of a tool, with its repetitions, for one subscription.

    Args:
        tool: What runs.
        arguments: Checked, by name.
        context: For a tool that takes it; each attempt has writes of its own.
        report: Makes the events.
        settings: How.
        submit: Where a plain function runs.
        observer: Gets the tool's start, its progress and its end.
        scheduler: Of the subscription.
    """

    def __init__(
        self,
        tool: AnyTool,
        arguments: dict[str, object],
        *,
        context: ToolContext,
        report: Report,
        settings: CallSettings,
        submit: Submit,
        observer: abc.ObserverBase[ToolEvent],
        scheduler: abc.SchedulerBase | None,
    ) -> None:
        self._tool = tool
        self._arguments = arguments
        self._context = context
        self._report = report
        self._settings = settings
        self._submit = submit
        self._observer = observer
        self._scheduler = scheduler
        # Now, since whoever asks later may be on another thread.
        self._clock = LoopScheduler(loop_for(None)) if scheduler is None else scheduler
        self._variables = contextvars.copy_context()
        self._attempt = 0
        self._open = False  # an attempt runs, and has not ended
        # An observable may emit on any thread, and so may what reports progress.
        self._gate = threading.RLock()
        self._writes: list[Write] = []
        self._spending = Spending()
        self._running = SerialDisposable()
        self._timer = SerialDisposable()
        declared = tool.rules.timeout_s
        self._longest_s = settings.timeout_s if declared is None else declared

    def start(self) -> None:
        """Begin, once whoever is subscribing can dispose."""
        # On the trampoline of this thread, as `reactivex.of` does it, so that who
        # leaves at the start leaves no tool running.
        self._running.disposable = CurrentThreadScheduler.singleton().schedule(
            self._begin
        )

    def dispose(self) -> None:
        """Stop what runs, and what would run next."""
        self._running.dispose()
        self._timer.dispose()

    def _begin(self, _: abc.SchedulerBase, __: object = None) -> None:
        left_s = self._left_s()
        if left_s is not None and left_s <= 0:
            self._end(
                self._report.refused("the turn has no time left, so it did not run")
            )
            return
        self._observer.on_next(self._report.started())
        self._try()

    def _try(self, *_: object) -> None:
        if self._running.is_disposed:
            return
        # In its place before it is subscribed: it may end, and another take its place,
        # meanwhile.
        slot = SingleAssignmentDisposable()
        self._running.disposable = slot
        self._attempt += 1
        self._open = True
        self._start_clock(self._attempt, self._left_s())
        body = run_body(
            self._tool,
            self._with_context(),
            self._submit,
            timed=self._longest_s is not None,
        )
        subscribe = partial(
            body.subscribe,
            partial(self._hear, self._attempt),
            self._fail,
            scheduler=self._scheduler,
        )
        slot.disposable = self._variables.copy().run(subscribe)

    def _hear(self, attempt: int, event: BodyEvent) -> None:
        with self._gate:
            match event:
                case Began():
                    self._start_clock(attempt, self._shortest_s())
                case Reported(value):
                    self._progress(attempt, value)
                case Returned(value, writes):
                    if self._close(attempt):
                        self._returned(value, writes)
                case Raised(error):
                    if self._close(attempt):
                        self._raised(error)

    def _returned(self, value: object, writes: Sequence[Write] | None) -> None:
        written = tuple(self._writes if writes is None else writes)
        report = self._report
        if self._tool.rules.return_direct:
            # An answer is for a person: nothing of it may be left out.
            report = replace(report, max_chars=None)
        event = report.finished(value, attempts=self._attempt, writes=written)
        self._spending.end(event.value)
        self._end(event)

    def _with_context(self) -> dict[str, object]:
        name = self._tool.context_parameter
        if name is None:
            return self._arguments
        self._writes = []
        seen = replace(
            self._context,
            writes=self._writes,
            progress=partial(self._report_from_anywhere, self._attempt),
        )
        return {**self._arguments, name: seen}

    def _report_from_anywhere(self, attempt: int, value: object) -> None:
        tell = partial(self._tell, attempt, value)
        if self._tool.runs == "as_stream":
            tell()  # it runs wherever its scheduler does
        else:
            call_on(loop_for(self._clock), tell)

    def _tell(self, attempt: int, value: object) -> None:
        """Emit what a tool reports by itself, perhaps from within its own task."""
        was_disposed = self._running.is_disposed
        try:
            with self._gate:
                self._progress(attempt, value)
        except Exception as error:  # noqa: BLE001 - the subscriber's, not the tool's
            self._fail(error)
        if self._running.is_disposed and not was_disposed:
            _cancel_current_task()

    def _progress(self, attempt: int, value: object) -> None:
        if self._is_open(attempt):
            self._spending.hear(value)
            self._observer.on_next(self._report.progress(value))

    def _is_open(self, attempt: int) -> bool:
        return self._open and attempt == self._attempt

    def _close(self, attempt: int) -> bool:
        """End an attempt; whether nobody else had."""
        if not self._is_open(attempt):
            return False
        self._open = False
        self._timer.disposable = Disposable()
        return True

    def _start_clock(self, attempt: int, seconds: float | None) -> None:
        if seconds is not None and self._is_open(attempt):
            self._timer.disposable = self._clock.schedule_relative(
                seconds, partial(self._time_out, attempt, seconds)
            )

    def _time_out(self, attempt: int, seconds: float, *_: object) -> None:
        with self._gate:
            if self._close(attempt):
                self._running.disposable = Disposable()
                self._raised(
                    TimeoutError(
                        f"no result after {round(seconds, 3):g} s; nobody waits for it "
                        "any more, though it may still have its effect"
                    )
                )

    def _raised(self, error: Exception) -> None:
        if isinstance(error, self._settings.raises):
            self._fail(error)
            return
        self._spending.end(error)
        kind = failure_kind(error, self._settings.failures)
        rules = self._tool.rules
        if kind == "transient" and self._attempt <= rules.retries:
            delay_s = rules.retry_delay_s * 2 ** (self._attempt - 1)
            left_s = self._left_s()
            if left_s is None or delay_s < left_s:
                self._running.disposable = self._clock.schedule_relative(
                    delay_s, self._try
                )
                return
        self._end(self._report.failed(error, kind, attempts=self._attempt))

    def _end(self, event: ToolFinished) -> None:
        self._observer.on_next(replace(event, usage=self._spending.total))
        self._observer.on_completed()

    def _fail(self, error: Exception) -> None:
        self._observer.on_error(self._spending.charged(error))

    def _left_s(self) -> float | None:
        """Until the deadline."""
        deadline = self._settings.deadline
        if deadline is None:
            return None
        return (deadline - self._clock.now).total_seconds()

    def _shortest_s(self) -> float | None:
        limits = [s for s in (self._longest_s, self._left_s()) if s is not None]
        return min(limits, default=None)


def _cancel_current_task() -> None:
    """Cancel the task that left itself: its stream could not, from within it."""
    try:
        task = asyncio.current_task()
    except RuntimeError:
        return  # a thread without a loop
    if task is not None:
        task.cancel()
