"""One run of `moderate`: from a stream of events to a line of windows."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

from reactivex import Observable, Observer, abc
from reactivex.disposable import (
    CompositeDisposable,
    Disposable,
    SerialDisposable,
    SingleAssignmentDisposable,
)

from rxagent.events import (
    ChatEvent,
    Finished,
    Retracted,
    RoundFinished,
    TextDelta,
)
from rxagent.guards._seconds import Seconds
from rxagent.guards._text_guard import TextGuard
from rxagent.guards.line import Line
from rxagent.guards.live import Live
from rxagent.guards.verdicts import Verdict
from rxagent.guards.windows import Window, Windows
from rxagent.operators._clock import clock_of

__all__ = ["Moderation", "Plan"]

_ENDS = (RoundFinished, Finished, Retracted)


@dataclass(frozen=True, slots=True, kw_only=True)
class Plan:
    """See `moderate`.

    Args:
        ask: Emits the verdict on a text, or fails.
        judge: The error of a text by its verdict, or by the failure of its check;
            ``None`` if it passes.
        window: What is checked at a time.
        overlap: Characters before a window that its check sees, too.
        max_concurrency: Checks that run at once.
        is_live: Text goes out before it has passed.
        final_check: The whole text is checked, too.
    """

    ask: Callable[[str], Observable[Verdict]]
    judge: Callable[[Verdict | Exception], Exception | None]
    window: TextGuard | Seconds
    overlap: int
    max_concurrency: int
    is_live: bool
    final_check: bool

    def windows(self) -> Windows:
        """Windows for one text."""
        cut = None if isinstance(self.window, Seconds) else self.window
        return Windows(cut, overlap=self.overlap, whole=self.final_check)


class Moderation:
    """What one subscription knows.

    A piece of text that is held takes no lock.  Nobody but the source opens a window
    and makes the line longer; a timer that closes a window says that it does.  So where
    the source finds nothing that waits, nothing does.

    Args:
        plan: What to do.
        observer: Gets the events.
        scheduler: Of the subscription.
    """

    def __init__(
        self,
        plan: Plan,
        observer: abc.ObserverBase[ChatEvent],
        scheduler: abc.SchedulerBase | None,
    ) -> None:
        self.upstream = SingleAssignmentDisposable()
        self._plan = plan
        self._observer = observer
        self._scheduler = scheduler
        self._windows = plan.windows()
        self._seconds = plan.window.seconds if isinstance(plan.window, Seconds) else 0.0
        self._end_waits = False  # the end of a text, and so all behind it
        self._timer = SerialDisposable()
        self._is_timed = False  # a timer runs, or closes its window
        self._live = Live(observer)
        self._line = Line(
            plan.ask,
            plan.judge,
            Observer(
                observer.on_next,
                self._live.retract if plan.is_live else observer.on_error,
                observer.on_completed,
            ),
            stop=self._stop,
            max_concurrency=plan.max_concurrency,
            at_once=plan.is_live,
            scheduler=scheduler,
        )
        self.all = CompositeDisposable(self.upstream, self._timer, self._line.running)

    def on_next(self, event: ChatEvent) -> None:
        """Take an event of the source."""
        if self._line.is_over:
            return
        if isinstance(event, _ENDS):
            with self._line.lock:
                if self._line.is_over:  # a verdict has come first
                    return
                if isinstance(event, Retracted):
                    self._void(event)
                else:
                    self._end(event)
        elif self._plan.is_live:
            self._deliver(event)
        elif isinstance(event, TextDelta) and event.text:
            self._cut(event)
        else:
            self._keep_place(event)

    def on_error(self, error: Exception) -> None:
        """Drop everything: what did not pass does not go out."""
        with self._line.lock:
            if not self._line.is_over:
                self._line.drop()
                self._observer.on_error(error)

    def on_completed(self) -> None:
        """Check what is left, and complete when all has passed."""
        with self._line.lock:
            if not self._line.is_over:
                self._end(None)
                self._line.close()

    def _stop(self) -> None:
        self.upstream.dispose()
        self._timer.dispose()

    def _break(self, error: Exception) -> None:
        self._stop()
        self.on_error(error)

    def _deliver(self, event: ChatEvent) -> None:
        if self._end_waits:
            with self._line.lock:
                self._line.push("", (event,))
                self._end_waits = not self._line.is_empty
        else:
            self._live.emit(event)
        if isinstance(event, TextDelta) and event.text:
            self._cut(event)

    def _cut(self, delta: TextDelta) -> None:
        try:
            closed = self._windows.feed(delta)
        except Exception as error:  # noqa: BLE001 - a user's transducer
            self._break(error)
            return
        if closed:
            self._push(closed)
        if self._seconds and not self._is_timed:
            with self._line.lock:
                self._start_timer()

    def _push(self, windows: Sequence[Window]) -> None:
        with self._line.lock:
            for text, events in windows:
                if not self._line.is_over:
                    self._line.push(text, () if self._plan.is_live else events)

    def _keep_place(self, event: ChatEvent) -> None:
        windows, line = self._windows, self._line
        if not (self._is_timed or windows.is_open) and line.is_empty:
            self._observer.on_next(event)
            return
        with line.lock:
            if windows.is_open:
                windows.hold(event)
            else:
                line.push("", (event,))

    def _end(self, event: Finished | RoundFinished | None) -> None:
        """End a text; ``event`` waits for the checks."""
        windows = self._begun_anew()
        try:
            closed = windows.flush()
        except Exception as error:  # noqa: BLE001 - a user's transducer
            self._break(error)
            return
        self._push(closed)
        if self._line.is_over:
            return
        whole = windows.whole()
        if event is not None and windows.is_empty:
            whole = event.response.text.strip()  # it did not come in pieces
        self._push_end(whole, () if event is None else (event,))

    def _void(self, event: Retracted) -> None:
        """Drop a text; ``event`` waits for the checks of those before it alone."""
        held = (*self._line.void(), *self._begun_anew().void())
        others = [each for each in held if not isinstance(each, TextDelta)]
        self._push_end("", (*others, event))

    def _begun_anew(self) -> Windows:
        """Begin another text; return the windows of the one before."""
        windows, self._windows = self._windows, self._plan.windows()
        self._timer.disposable = Disposable()
        self._is_timed = False
        return windows

    def _push_end(self, whole: str, events: Sequence[ChatEvent]) -> None:
        self._line.push(whole, events, is_end=True)
        self._end_waits = not self._line.is_empty

    def _start_timer(self) -> None:
        self._is_timed = True
        clock = clock_of(self._scheduler)
        self._timer.disposable = clock.schedule_relative(self._seconds, self._run_out)

    def _run_out(self, *_: object) -> None:
        with self._line.lock:
            self._push([self._windows.close()])
            self._is_timed = False
            if self._windows.is_open:  # again, meanwhile
                self._start_timer()
