from __future__ import annotations

import logging
from collections import deque
from dataclasses import replace
from typing import TypeGuard

from reactivex import Observable, abc

from rxagent.entities.asking import mode_of
from rxagent.errors import ConfigurationError, ModelError, RxAgentError
from rxagent.events import (
    ChatEvent,
    Delta,
    Finished,
    Retracted,
    RoundFinished,
    ToolStarted,
)
from rxagent.operators import concat_each, just
from rxagent.operators._serial import Serial
from rxagent.requests import ChatRequest
from rxagent.types import AnswerMode, Exchange
from rxagent.usage import Usage

__all__ = ["Fallback"]

_MODES: tuple[AnswerMode, ...] = ("prompt", "tool", "native")  # all to few know it

_log = logging.getLogger("rxagent.models.fallback")


class Fallback:
    """Several models as one: when a model fails, the next one is asked.

    ::

        --q-----------|
        [ Fallback(a, b) ]                a answers --x--#, then b --y--z--F|
        ----x--V-y--z--F|                 V = Retracted

    It is a model and no advisor, so that whatever advisors do, a guard for example, is
    done around each of them.  In a tool loop each request begins with the first one.

    The next one is asked after a `ModelError` whose kind may pass: too many requests, a
    busy or a broken provider, a clock that ran out, a lost connection, an answer that
    broke off.  Nothing else is a reason: a blocked answer, a wrong key, a bad request
    and any error of another type, such as a `GuardError`, pass as they are.

    A chain or an agent may stand in a model's place.  Such a `ModelError` counts
    whoever in there raises it, an advisor that asks a model of its own, too: a type
    does not say.  Once a tool was called or a round has ended, all errors pass, for
    another one would do again what the tool did.

    What makes sense to the first one alone stays there: the ``model`` and the ``extra``
    of the options.

    Args:
        models: In the order in which they are asked; two or more.  Each retries by its
            own policy before the next one is asked.

    Raises:
        ConfigurationError: If there are fewer than two, or one is no model.

    What a model has delivered before it failed is void, by a `Retracted`.  Each switch
    is logged, level warning; ``response.model`` says who has answered, and its usage
    counts what is known of the answers that broke off.  If all fail, the error is that
    of the last one, with the one before in its ``__context__``, and so on.  Disposing
    closes the model that is at work, and asks no other.
    """

    def __init__(self, *models: Exchange) -> None:
        if len(models) < 2:
            raise ConfigurationError(
                f"Fallback needs a model and another one, got {len(models)}; "
                "write Fallback(first, second)"
            )
        for each in models:
            if not callable(each) or isinstance(each, type):
                raise ConfigurationError(
                    f"Fallback takes models, and {each!r} is none; "
                    "pass an exchange, such as OpenAIChat(model=...)"
                )
        self._first, *self._others = models

    def answer_mode(self, request: ChatRequest) -> AnswerMode:
        """The way that is open to all of them; words are open to any."""
        other = _for_another(request)
        modes = {mode_of(each, other) for each in self._others}
        modes.add(mode_of(self._first, request))
        return next(each for each in _MODES if each in modes)

    def __call__(self, requests: Observable[ChatRequest]) -> Observable[ChatEvent]:
        """Answer each request in turn."""
        return concat_each(self._answer)(requests)

    def __repr__(self) -> str:
        return f"Fallback({', '.join(map(repr, (self._first, *self._others)))})"

    def _answer(self, request: ChatRequest) -> Observable[ChatEvent]:
        def subscribe(
            observer: abc.ObserverBase[ChatEvent],
            scheduler: abc.SchedulerBase | None = None,
        ) -> abc.DisposableBase:
            emit = observer.on_next
            left = deque(self._others)
            spent = Usage()
            failed: ModelError | None = None

            def start(current: Observable[ChatEvent]) -> abc.DisposableBase:
                has_shown = False  # deltas, since the last boundary
                is_settled = False  # it is too late for another model

                def on_next(event: ChatEvent) -> None:
                    nonlocal has_shown, is_settled
                    if isinstance(event, Delta):
                        has_shown = True
                    elif isinstance(event, Retracted):
                        has_shown = False
                    elif isinstance(event, RoundFinished | ToolStarted | Finished):
                        is_settled = True
                        event = _charged(event, spent)
                    emit(event)

                def on_error(error: Exception) -> None:
                    nonlocal failed, spent
                    if is_settled or not left or not _another_may_answer(error):
                        if isinstance(error, RxAgentError):
                            error = error.after(spent, failed=failed)
                        observer.on_error(error)
                        return
                    model = left.popleft()
                    _log.warning("a model failed, so %r is asked: %s", model, error)
                    failed = error.after(Usage(), failed=failed)
                    if error.usage is not None:
                        spent += error.usage
                    elif has_shown:
                        spent += Usage(requests=1, sure=False)
                    if has_shown:
                        emit(Retracted(reason=str(error), origin=request.origin))
                    answers.push(_ask(model, _for_another(request)))
                    answers.release()

                return current.subscribe(
                    on_next, on_error, observer.on_completed, scheduler=scheduler
                )

            answers = Serial(start)
            answers.push(_ask(self._first, request))
            return answers

        return Observable(subscribe)


def _ask(model: Exchange, request: ChatRequest) -> Observable[ChatEvent]:
    """Its answer; what goes wrong when it is called is an error of the stream, too."""

    def answer(asked: ChatRequest) -> Observable[ChatEvent]:
        return just(asked).pipe(model)

    return just(request).pipe(concat_each(answer))


def _another_may_answer(error: Exception) -> TypeGuard[ModelError]:
    """Whether it is of a kind that may pass, though it may not for this model."""
    return isinstance(error, ModelError) and (
        error.retryable or error.default_retryable
    )


def _for_another(request: ChatRequest) -> ChatRequest:
    """The request without what only the first model understands."""
    options = replace(request.options, model=None, extra={})
    return replace(request, options=options)


def _charged(event: ChatEvent, spent: Usage) -> ChatEvent:
    """The end, with what the answers that broke off have cost."""
    if not isinstance(event, Finished) or spent == Usage():
        return event
    usage = spent + event.response.usage
    return replace(event, response=replace(event.response, usage=usage))
