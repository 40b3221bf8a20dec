"""What `question_answer` and `rag` do: documents into the question, once a turn."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, replace
from typing import TypeAlias

from reactivex import Observable, abc
from reactivex.disposable import SingleAssignmentDisposable

from rxagent.advisors._augmented import Augmenting
from rxagent.advisors._resumption import RESUME
from rxagent.advisors._staged import OnStageFailure, staged
from rxagent.chain import around
from rxagent.choices import check_callable, check_choice
from rxagent.context import Context, Key
from rxagent.errors import AdvisorError, ContextTypeError, RxAgentError
from rxagent.events import ChatEvent, Finished, StageFinished
from rxagent.messages import Message, SystemMessage, Text, UserMessage
from rxagent.named import Order, named
from rxagent.operators import concat_each, just
from rxagent.requests import ChatRequest
from rxagent.retrieval import Document, Filter, Query, parse_filter
from rxagent.retrieval.given import check_filter
from rxagent.stages import AnyStage, Retrieval
from rxagent.tools.rules import check_count, check_switch
from rxagent.types import Advisor, Exchange, Operator
from rxagent.usage import Usage

QA_DOCUMENTS: Key[tuple[Document, ...]] = Key("qa_retrieved_documents", tuple)
"""The documents that the question was asked with, in the order of their numbers; an
empty tuple if nothing was found."""

QA_FILTER = Key("qa_filter_expression", object)
"""What documents of this call must be like: a filter, or its text."""

Mandatory: TypeAlias = Filter | Callable[[Context], Filter]
"""A filter, or a function that makes it of the context of a call."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Answering:
    """How a turn is answered from documents; the options are those of `rag`.

    Raises:
        ConfigurationError: As of `rag`.
    """

    stages: tuple[AnyStage, ...]
    top_k: int
    filter: Mandatory | None
    augmenting: Augmenting
    inject_when_empty: bool
    on_failure: OnStageFailure

    def __post_init__(self) -> None:
        check_count("top_k", self.top_k, least=1)
        if callable(self.filter):
            check_callable("filter", self.filter)
        elif self.filter is not None:
            check_filter("filter", self.filter)
        check_switch("inject_when_empty", self.inject_when_empty)
        check_choice("on_failure", self.on_failure, OnStageFailure)

    def advisor(self, name: str, *, settings: str) -> Advisor:
        """Make the advisor.

        Args:
            name: Of it.
            settings: Of it.
        """

        def handle(request: ChatRequest, inner: Exchange) -> Observable[ChatEvent]:
            entry = request.entry
            if entry is None or RESUME in request.context or not _is_plain(entry):
                return just(request).pipe(inner)
            query = Query(
                text=entry.text,
                top_k=self.top_k,
                filter=_made(name, self.filter, request.context),
                history=tuple(_spoken(request.messages[:-1])),
            ).within(_of_this_call(request.context))

            def go_on(step: StageFinished | Retrieval) -> Observable[ChatEvent]:
                if isinstance(step, StageFinished):
                    return just(step)
                asked = self._asked(request, entry, step.documents)
                return just(asked).pipe(inner, _telling(step))

            beginning = Retrieval.of(query, origin=request.origin)
            steps = staged(self.stages, beginning, on_failure=self.on_failure)
            return steps.pipe(concat_each(go_on))

        return named(name, around(handle), settings=settings, order=Order.RETRIEVAL)

    def _asked(
        self, request: ChatRequest, entry: UserMessage, documents: tuple[Document, ...]
    ) -> ChatRequest:
        if documents or self.inject_when_empty:
            text = self.augmenting.text(entry.text, documents)
            entry = replace(entry, content=(Text(text=text),))
        return replace(
            request,
            messages=(*request.messages[:-1], entry),
            context=request.context.set(QA_DOCUMENTS, documents),
        )


def _is_plain(entry: UserMessage) -> bool:
    """Whether it is text alone, and says something: blank text finds nothing."""
    is_text = all(isinstance(part, Text) for part in entry.content)
    return is_text and bool(entry.text.strip())


def _spoken(messages: Iterable[Message]) -> Iterator[Message]:
    return (each for each in messages if not isinstance(each, SystemMessage))


def _made(name: str, mandatory: Mandatory | None, context: Context) -> Filter | None:
    if mandatory is None or isinstance(mandatory, Filter):
        return mandatory
    made = mandatory(context)
    if not isinstance(made, Filter):  # without one, everything would be found
        raise AdvisorError(name, f"needs a filter, and its function returned {made!r}")
    return made


def _of_this_call(context: Context) -> Filter | None:
    wanted = context.get(QA_FILTER)
    if wanted is None or isinstance(wanted, Filter):
        return wanted
    if isinstance(wanted, str):
        return parse_filter(wanted) if wanted.strip() else None
    raise ContextTypeError(QA_FILTER.name, expected=str, found=type(wanted))


def _telling(retrieval: Retrieval) -> Operator[ChatEvent, ChatEvent]:
    """Put what was found, and what it has cost, into the end of the answer."""
    spent = retrieval.usage

    def told(event: Finished) -> Finished:
        response = event.response
        usage = response.usage if spent == Usage() else spent + response.usage
        context = response.context.set(QA_DOCUMENTS, retrieval.documents)
        return replace(event, response=replace(response, context=context, usage=usage))

    def operator(source: Observable[ChatEvent]) -> Observable[ChatEvent]:
        def subscribe(
            observer: abc.ObserverBase[ChatEvent],
            scheduler: abc.SchedulerBase | None = None,
        ) -> abc.DisposableBase:
            emit = observer.on_next

            def on_next(event: ChatEvent) -> None:
                emit(told(event) if isinstance(event, Finished) else event)

            def on_error(error: Exception) -> None:
                if isinstance(error, RxAgentError):
                    error = error.after(spent)
                observer.on_error(error)

            upstream = SingleAssignmentDisposable()
            upstream.disposable = source.subscribe(
                on_next, on_error, observer.on_completed, scheduler=scheduler
            )
            return upstream

        return Observable(subscribe)

    return operator
