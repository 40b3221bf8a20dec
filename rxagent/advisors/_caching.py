"""What an exact and a semantic cache have in common: the turn around them."""

from __future__ import annotations

import logging
from collections.abc import Callable
from typing import TypeAlias, TypeVar

import reactivex
from reactivex import Observable, abc
from reactivex import operators as ops
from reactivex.disposable import SerialDisposable, SingleAssignmentDisposable

from rxagent.advisors._answer_record import AnswerRecord, replayed
from rxagent.advisors._flights import Flights, Land
from rxagent.advisors._resumption import RESUME
from rxagent.caching import KeptAnswer
from rxagent.caching.fingerprint import Fingerprint, KeyOf, context_of, fingerprint
from rxagent.chain import around
from rxagent.choices import check_callable, check_has, check_text
from rxagent.errors import RequestError, StreamCancelledError
from rxagent.events import ChatEvent, Finished
from rxagent.operators import concat_each, just
from rxagent.requests import ChatRequest
from rxagent.retrieval.once import one
from rxagent.tools.rules import check_switch
from rxagent.types import Advisor, Exchange, Operator

T = TypeVar("T")

Look: TypeAlias = Callable[[Fingerprint], Observable[KeptAnswer | None]]
Keep: TypeAlias = Callable[[Fingerprint, KeptAnswer], Observable[object]]

_log = logging.getLogger("rxagent.advisors.cache")


def caching(
    *, look: Look, keep: Keep, namespace: str, key: KeyOf | None, tools: bool
) -> Advisor:
    """Answer from what is kept; else ask the rest, once for all who ask the same.

    Args:
        look: Finds an answer; emits ``None`` if there is none.
        keep: Keeps one; completes when that is done.
        namespace: What answers, as far as the request does not say it.
        key: What else tells requests apart; by default the whole context.
        tools: Whether answers are kept though tools have run for them.

    Returns:
        An advisor.  If looking or keeping fails that is logged, and the rest is asked.
    """
    check_callable("key", key)
    check_text("namespace", namespace)
    check_switch("tools", tools)
    flights = Flights[KeptAnswer, ChatEvent]()

    def handle(request: ChatRequest, inner: Exchange) -> Observable[ChatEvent]:
        if RESUME in request.context:  # the middle of a turn
            return just(request).pipe(inner)
        try:
            asked = fingerprint(request, namespace=namespace, key=key or context_of)
        except RequestError as error:
            _log.warning(
                "a request passes the cache by: %s; of its context, name what shapes "
                "the answer with key=...",
                error,
            )
            return just(request).pipe(inner)

        def lead(land: Land[KeptAnswer]) -> Observable[ChatEvent]:
            def go_on(found: KeptAnswer | None) -> Observable[ChatEvent]:
                if found is None:
                    record = AnswerRecord(tools=tools)
                    kept = _kept_at_end(record, lambda a: keep(asked, a), land)
                    return just(request).pipe(inner, kept)
                land(found)
                return replayed(found, request)

            found = _or_none(lambda: look(asked), "cannot be looked up")
            return found.pipe(concat_each(go_on))

        def follow(answer: KeptAnswer) -> Observable[ChatEvent]:
            return replayed(answer, request)

        return flights.board(asked.key, lead=lead, follow=follow)

    return around(handle)


def check_store(store: object) -> None:
    """Refuse what keeps no answers.

    Raises:
        ConfigurationError: If it is none.
    """
    check_has("store", store, "put", such_as="a store, such as MemoryAnswers()")


def _or_none(make: Callable[[], Observable[T]], what: str) -> Observable[T | None]:
    """What ``make`` makes; ``None``, and a line in the log, if it fails."""

    def failed(error: Exception, _: object) -> Observable[T | None]:
        if isinstance(error, StreamCancelledError):  # the loop is ending
            raise error
        _log.warning("an answer %s: %s", what, error, exc_info=error)
        return just(None)

    def start(_: abc.SchedulerBase) -> Observable[T | None]:
        return one("the store", make())  # without an item the turn would have no end

    source = reactivex.defer(start)
    return source.pipe(ops.catch(failed))


def _kept_at_end(
    record: AnswerRecord,
    keep: Callable[[KeptAnswer], Observable[object]],
    land: Land[KeptAnswer],
) -> Operator[ChatEvent, ChatEvent]:
    """Hold `Finished` back until the answer is kept, if it is a good one.

    ::

        --a--b--F|
        [ kept_at_end(record, ...) ]      keeping takes 2
        --a--b----F|

    An error of the source, or leaving it, keeps nothing.
    """

    def operator(source: Observable[ChatEvent]) -> Observable[ChatEvent]:
        def subscribe(
            observer: abc.ObserverBase[ChatEvent],
            scheduler: abc.SchedulerBase | None = None,
        ) -> abc.DisposableBase:
            emit = observer.on_next
            stream = SerialDisposable()
            ends: list[Finished] = []

            def on_next(event: ChatEvent) -> None:
                if isinstance(event, Finished):
                    ends.append(event)
                    return
                record.note(event)
                emit(event)

            def on_completed() -> None:
                good = record.answer(ends[-1].response) if ends else None

                def tell() -> None:
                    land(good)
                    for event in ends:
                        emit(event)
                    observer.on_completed()

                if good is None:
                    tell()
                    return
                slot = SingleAssignmentDisposable()
                stream.disposable = slot
                slot.disposable = _or_none(
                    lambda: keep(good), "cannot be kept"
                ).subscribe(
                    on_error=observer.on_error, on_completed=tell, scheduler=scheduler
                )

            slot = SingleAssignmentDisposable()
            stream.disposable = slot
            slot.disposable = source.subscribe(
                on_next, observer.on_error, on_completed, scheduler=scheduler
            )
            return stream

        return Observable(subscribe)

    return operator
