from __future__ import annotations

import logging
from collections.abc import Callable
from functools import partial
from typing import Literal, TypeAlias

from reactivex import Observable, abc

from rxagent.choices import check_callable, check_choice
from rxagent.errors import ConfigurationError, GuardError
from rxagent.events import ChatEvent
from rxagent.guards._by_sentence import by_sentence
from rxagent.guards._event_guard import EventGuard
from rxagent.guards._seconds import Seconds
from rxagent.guards._text_guard import TextGuard
from rxagent.guards.moderation import Moderation, Plan
from rxagent.guards.verdicts import Answer, OnFailure, Verdict, verdict_of
from rxagent.tools.rules import check_seconds

_NAME = "moderate"
_SENTENCES = by_sentence()

_log = logging.getLogger(__name__)

Mode: TypeAlias = Literal["hold", "live"]


def moderate(
    check: Callable[[str], Answer],
    *,
    window: TextGuard | Seconds = _SENTENCES,
    overlap: int = 0,
    max_concurrency: int = 4,
    mode: Mode = "hold",
    timeout_s: float | None = 30.0,
    on_failure: OnFailure = "stop",
    final_check: bool = True,
) -> EventGuard:
    """Check the text of an answer while it streams, window by window.

    ::

        --a--b--c--------(F,|)            a, b, c = a sentence each, whose end is seen
        [ guard(moderate(check)) ]        with the next one; check takes three frames,
        --------a--#                      and does not let b pass

    Checks run beside the stream, several at once.  Text goes out in its order.  The
    first window that does not pass ends the stream with a `GuardError`, closes the
    model's stream and stops the checks of what follows; what goes out before does not
    depend on which check is faster.

    ``"hold"`` lets a window out when it and all before have passed, so nothing leaks;
    other events keep their place behind held text.  ``"live"`` lets text out at once; a
    window that does not pass is a `Retracted`, then the error.  In both, the end of
    each round, and so its tools if this stands right of the tool loop, waits for all
    checks.

    What waits is bounded by the length of the answer alone: a model is not slowed down
    by slow checks.  Reasoning and tool calls are not checked.  An answer that came in
    no pieces is checked by its response.

    Args:
        check: Says True for a text that may pass; False or a text, which says why, for
            one that may not.  An observable, whose first item counts, and a coroutine
            run beside the stream; a plain function runs on the stream's own thread and
            holds it up, so let it be quick.  See `ask` for a model as a check.
        window: What is checked at a time: each piece of a text guard that only cuts,
            such as ``by_paragraph()`` or ``by_chars(200)``, or `Seconds` of text.
        overlap: Characters before a window that its check sees, too.  What is no
            longer than that and one more character is seen whole, wherever it is cut.
        max_concurrency: Checks that run at once.
        mode: Whether text waits for its check.
        timeout_s: Longest time of a check, in seconds, on the subscription's scheduler.
        on_failure: What a check that fails or takes too long says: ``"stop"``, or
            ``"pass"``, which is logged.
        final_check: Check the whole text at the end, too, if it had several windows.

    Returns:
        An event guard, fresh for each round.  An error of the source passes at once;
        held text is dropped and checks are stopped, as they are on disposal.
        `Retracted` does the same to the text since the last boundary, and passes behind
        the other events that wait there: what is void ends no stream, and the text
        behind it is checked as if it had come alone.

    Raises:
        ConfigurationError: At the call, if an option makes no sense.
    """
    check_callable("check", check, may_be_async=True)
    check_choice("mode", mode, Mode)
    check_choice("on_failure", on_failure, OnFailure)
    check_seconds("timeout_s", timeout_s)
    if overlap < 0:
        raise ConfigurationError(f"overlap must be 0 characters or more, got {overlap}")
    if max_concurrency < 1:
        raise ConfigurationError(
            f"max_concurrency must be 1 check or more, got {max_concurrency}"
        )

    def judge(said: Verdict | Exception) -> GuardError | None:
        if isinstance(said, Exception):
            return failed(said)
        if said is True:
            return None
        why = f": {said}" if said else ""
        return GuardError(_NAME, f"has stopped the answer{why}")

    def failed(error: Exception) -> GuardError | None:
        kind = type(error).__name__
        if on_failure == "pass":
            _log.warning(
                "moderate lets a text pass: its check failed (%s)", kind, exc_info=error
            )
            return None
        stopped = GuardError(
            _NAME, f"has stopped the answer, since a check failed ({kind})"
        )
        stopped.__cause__ = error
        return stopped

    plan = Plan(
        ask=partial(verdict_of, check, timeout_s=timeout_s),
        judge=judge,
        window=window,
        overlap=overlap,
        max_concurrency=max_concurrency,
        is_live=mode == "live",
        final_check=final_check,
    )

    def operator(source: Observable[ChatEvent]) -> Observable[ChatEvent]:
        def subscribe(
            observer: abc.ObserverBase[ChatEvent],
            scheduler: abc.SchedulerBase | None = None,
        ) -> abc.DisposableBase:
            run = Moderation(plan, observer, scheduler)
            run.upstream.disposable = source.subscribe(
                run.on_next, run.on_error, run.on_completed, scheduler=scheduler
            )
            return run.all

        return Observable(subscribe)

    return EventGuard(name=_NAME, operator=operator)
