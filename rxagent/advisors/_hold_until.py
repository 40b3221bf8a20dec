from __future__ import annotations

import logging
import threading
from collections import deque
from collections.abc import Callable

from reactivex import Observable, abc
from reactivex.disposable import CompositeDisposable, SingleAssignmentDisposable

from rxagent.advisors._blocked import blocked
from rxagent.advisors._safeguard import REFUSAL
from rxagent.chain import around
from rxagent.choices import check_callable, check_choice
from rxagent.errors import AdvisorError
from rxagent.events import (
    ChatEvent,
    Delta,
    Finished,
    Retracted,
    RoundFinished,
)
from rxagent.guards.verdicts import Answer, OnFailure, Verdict, verdict_of
from rxagent.named import Order, named
from rxagent.operators import just
from rxagent.requests import ChatRequest
from rxagent.tools.rules import check_seconds
from rxagent.types import Advisor, Exchange
from rxagent.usage import Usage

_NAME = "hold_until"

_log = logging.getLogger(__name__)


def hold_until(
    check: Callable[[ChatRequest], Answer],
    *,
    refusal: str = REFUSAL,
    timeout_s: float | None = 30.0,
    on_failure: OnFailure = "stop",
) -> Advisor:
    """Ask the model at once, and let nothing out before the request is checked.

    ::

        --q---------------|
        [ hold_until(check) ]             inner answers --a--b--------F|, and check(q)
        --------(a,b)---F-|               says True after six frames

    The check races the answer, so a request that may pass loses no time.  What comes
    before the verdict is held; behind it the rest flows as it comes.  A request that
    does not pass closes the model's stream, and is answered with the refusal.

    Put it right of the tool loop: there the end of a round is held, so no tool runs
    before the verdict.  It asks once a turn: about the request that a user message
    ends, and not where tool results do.  Left of the loop, or around an agent that runs
    tools of its own, it could not hold them back; so there it is an `AdvisorError`,
    before the first of them runs.

    Args:
        check: Says True for a request that may pass; False, or the text to answer with,
            for one that may not.  An observable, whose first item counts, or a
            coroutine; a plain function is asked before the model is.
        refusal: The answer's text, if the check says none.
        timeout_s: Longest time of the check, in seconds, on the subscription's
            scheduler.
        on_failure: What a check that fails or takes too long says: ``"stop"``, or
            ``"pass"``.  Both are logged.

    Returns:
        An advisor.  A blocked turn is a normal answer with ``finish_reason="blocked"``
        and nothing in its transcript.  An error of the model passes at once, without
        what is held, and `Retracted` drops the pieces that are; disposing stops the
        check and the model.

    Raises:
        ConfigurationError: At the call, if an option makes no sense.
    """
    check_callable("check", check, may_be_async=True)
    check_choice("on_failure", on_failure, OnFailure)
    check_seconds("timeout_s", timeout_s)

    def on_failed(error: Exception) -> Verdict:
        does = "blocks" if on_failure == "stop" else "lets pass"
        kind = type(error).__name__
        _log.warning("hold_until %s: its check failed (%s)", does, kind, exc_info=error)
        return on_failure == "pass"

    def handle(request: ChatRequest, inner: Exchange) -> Observable[ChatEvent]:
        events = just(request).pipe(inner)
        if request.entry is None:
            return events

        def subscribe(
            observer: abc.ObserverBase[ChatEvent],
            scheduler: abc.SchedulerBase | None = None,
        ) -> abc.DisposableBase:
            race = _Race(request, refusal, observer, scheduler)
            asking = SingleAssignmentDisposable()
            both = CompositeDisposable(asking, race.upstream)
            asking.disposable = verdict_of(
                check, request, timeout_s=timeout_s
            ).subscribe(
                race.decide,
                lambda error: race.decide(on_failed(error)),
                scheduler=scheduler,
            )
            race.start(events)
            return both

        return Observable(subscribe)

    return named(_NAME, around(handle), order=Order.IN_LOOP)


class _Race:
    """The model's stream of one request, and the verdict.

    The verdict may come on another thread.  An event that waits takes no lock all the
    same: only the source's thread lets the stream flow, after it has seen the verdict
    and has let out, or seen out, what was held.
    """

    def __init__(
        self,
        request: ChatRequest,
        refusal: str,
        observer: abc.ObserverBase[ChatEvent],
        scheduler: abc.SchedulerBase | None,
    ) -> None:
        self.upstream = SingleAssignmentDisposable()
        self._request = request
        self._refusal = refusal
        self._observer = observer
        self._scheduler = scheduler
        self._held: deque[ChatEvent] = deque()
        self._usage = Usage()
        self._has_passed = False
        self._flows = False
        self._is_over = False
        self._is_completed = False
        self._lock = threading.RLock()

    def start(self, events: Observable[ChatEvent]) -> None:
        """Ask the model, unless the verdict is there and says no."""
        if self._is_over:
            return
        if self._has_passed:  # before any tool could run, wherever it stands
            self.upstream.disposable = events.subscribe(
                self._observer, scheduler=self._scheduler
            )
            return
        self._usage = Usage(requests=1, sure=False)
        self.upstream.disposable = events.subscribe(
            self._on_next, self._on_error, self._on_completed, scheduler=self._scheduler
        )

    def decide(self, verdict: Verdict) -> None:
        """Take the verdict."""
        with self._lock:
            if self._is_over:
                return
            if verdict is True:
                self._has_passed = True
                self._release()
            else:
                self._block(verdict or self._refusal)

    def _on_next(self, event: ChatEvent) -> None:
        if self._is_over:
            return
        if isinstance(event, RoundFinished):
            self._refuse_place()
        elif self._flows:
            self._observer.on_next(event)
        else:
            if isinstance(event, Retracted):
                self._void()
            self._held.append(event)
            if self._has_passed:
                with self._lock:
                    self._release()
                self._flows = True

    def _void(self) -> None:
        """Drop the pieces that are held; nobody has seen them."""
        with self._lock:
            held = [each for each in self._held if not isinstance(each, Delta)]
            self._held.clear()
            self._held.extend(held)

    def _on_error(self, error: Exception) -> None:
        with self._lock:
            if not self._is_over:
                self._is_over = True
                self._observer.on_error(error)

    def _on_completed(self) -> None:
        with self._lock:
            self._is_completed = True
            if self._has_passed:
                self._release()

    def _release(self) -> None:
        while self._held:
            self._observer.on_next(self._held.popleft())
        if self._is_completed and not self._is_over:
            self._is_over = True
            self._observer.on_completed()

    def _block(self, text: str) -> None:
        self._is_over = True
        self.upstream.dispose()
        last = self._held[-1] if self._held else None
        usage = last.response.usage if isinstance(last, Finished) else self._usage
        self._held.clear()
        blocked(self._request, by=_NAME, text=text, usage=usage).subscribe(
            self._observer
        )

    def _refuse_place(self) -> None:
        self.upstream.dispose()
        self._on_error(
            AdvisorError(
                _NAME,
                "cannot hold back tools that run right of it; write "
                "advisors=[tool_loop(), hold_until(check)]",
            )
        )
