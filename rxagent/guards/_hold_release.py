from __future__ import annotations

import logging
from collections.abc import Awaitable, Callable
from inspect import isawaitable
from typing import TypeAlias

from reactivex import Observable, abc
from reactivex import operators as ops

from rxagent.choices import check_callable, check_choice
from rxagent.errors import GuardError
from rxagent.events import ChatEvent
from rxagent.guards._event_guard import EventGuard
from rxagent.guards._held_answer import HeldAnswer, Judged
from rxagent.guards.verdicts import Answer, OnFailure, Verdict, verdict_of
from rxagent.operators import just
from rxagent.tools.rules import check_seconds

_NAME = "hold_release"

_log = logging.getLogger("rxagent.guards.hold_release")

_Answer: TypeAlias = (
    Verdict | Observable[Verdict | None] | Awaitable[Verdict | None] | None
)


def hold_release(
    check: Callable[[str], _Answer],
    *,
    replacement: str | None = None,
    timeout_s: float | None = 30.0,
    on_failure: OnFailure = "stop",
) -> EventGuard:
    """Hold an answer until it is whole, and deliver it if its text passes a check.

    ::

        --a--b--(F,|)                     check takes two frames, and says None of ab
        [ guard(hold_release(check)) ]
        ----------(a,b,F,|)

    Nothing of a model's answer is seen before its end; that is the price, and no
    mechanism avoids it.  If it passes, its events leave as they came, thoughts too.  If
    not, one piece of text leaves in their place.  Either way the response says what the
    model said: asking again for a better answer is another advisor's work.

    Each round has its own check, before its tools run if this stands right of the tool
    loop.  A round without text passes.  An answer that came in no pieces is checked by
    its response.

    Args:
        check: Gets the text alone, without reasoning.  None or True let it pass; a text
            is delivered in its place; False is a `GuardError`.  An observable, whose
            first item counts, and a coroutine are waited for.
        replacement: Is delivered in place of every text that does not pass.  Needed by
            a check whose text says why not, such as `ask` makes.
        timeout_s: Longest time of the check, in seconds, on the subscription's
            scheduler; a plain function cannot be stopped.
        on_failure: What is done if the check raises, says nothing or takes too long:
            ``"stop"`` is a `GuardError`; ``"pass"`` lets the text pass, and is logged.

    Returns:
        An event guard.  An error of the source passes at once and drops what is held;
        so does a disposal, which stops the check too.

    Raises:
        ConfigurationError: At the call, if an option makes no sense.
    """
    check_callable("check", check, may_be_async=True)
    check_choice("on_failure", on_failure, OnFailure)
    check_seconds("timeout_s", timeout_s)

    def judged(verdict: Verdict) -> Judged:
        if verdict is True:
            return True
        text = verdict if replacement is None else replacement
        return text or GuardError(_NAME, "has stopped the answer: it did not pass")

    def failed(error: Exception, _: object) -> Observable[Judged]:
        problem = f"its check failed ({type(error).__name__})"
        if on_failure == "pass":
            _log.warning("a text passes unchecked: %s", problem)
            return just(True)
        stopped = GuardError(_NAME, f"has stopped the answer: {problem}")
        stopped.__cause__ = error
        return just(stopped)

    def ask(text: str) -> Observable[Judged]:
        verdict = verdict_of(_none_passes(check), text, timeout_s=timeout_s)
        return verdict.pipe(ops.map(judged), ops.catch(failed))

    def operator(source: Observable[ChatEvent]) -> Observable[ChatEvent]:
        def subscribe(
            observer: abc.ObserverBase[ChatEvent],
            scheduler: abc.SchedulerBase | None = None,
        ) -> abc.DisposableBase:
            run = HeldAnswer(ask, observer, scheduler)
            run.upstream.disposable = source.subscribe(
                run.on_next, run.on_error, run.on_completed, scheduler=scheduler
            )
            return run.all

        return Observable(subscribe)

    return EventGuard(name=_NAME, operator=operator)


def _none_passes(check: Callable[[str], _Answer]) -> Callable[[str], Answer]:
    async def awaited(answer: Awaitable[Verdict | None]) -> Verdict:
        return _true_if_none(await answer)

    def asked(text: str) -> Answer:
        answer = check(text)
        if isinstance(answer, Observable):
            return answer.pipe(ops.map(_true_if_none))
        return awaited(answer) if isawaitable(answer) else _true_if_none(answer)

    return asked


def _true_if_none(verdict: Verdict | None) -> Verdict:
    return True if verdict is None else verdict
