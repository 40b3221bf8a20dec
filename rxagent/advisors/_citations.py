from __future__ import annotations

import logging
from collections.abc import Callable, Iterable, Sequence
from dataclasses import replace
from typing import cast

from reactivex import Observable

from rxagent.advisors._answering import QA_DOCUMENTS
from rxagent.advisors._markers import MarkerWriter, passages_of
from rxagent.chain import around
from rxagent.choices import check_callable
from rxagent.context import Context, Key
from rxagent.events import ChatEvent, Finished, StageFinished
from rxagent.guards._lift import TextLift
from rxagent.guards._text_guard import Channel
from rxagent.named import Order, named
from rxagent.operators import just, transduce
from rxagent.requests import ChatRequest
from rxagent.retrieval import Document, Passage, Source
from rxagent.stages import Retrieval
from rxagent.types import Advisor, Exchange

CITATIONS: Key[tuple[Source, ...]] = Key("citations", tuple)
"""The sources of an answer: a `rxagent.retrieval.Source` for each document, in the
order of their numbers."""

_TEXT: tuple[Channel, ...] = ("text",)

_log = logging.getLogger("rxagent.advisors.citations")


def citations(*, write: Callable[[int, Document], str] | None = None) -> Advisor:
    """Say which documents an answer rests on, and with which of its sentences.

    ::

        --q-----------|
        [ citations(write=link) ]         inner answers with --a--b--F|; a ends in "[",
        ----A--B--F---|                   b begins with "1]", which is the link in B

    The response has the sources in its context, under ``"citations"``, beside what else
    is there: every document that the question was asked with, each with the passages of
    the answer that name it.  Passages are places in ``response.text``, which stays what
    the model wrote.  Ask for the numbers with ``question_answer(..., cite=True)``; put
    this on either side of it.

    Args:
        write: How a marker is delivered: gets its number and the document, and returns
            a link, a footnote or nothing.  By default markers stay as they are.

    Returns:
        An advisor.  Without documents the response stays as it is.  A number that no
        document has stays in the text, and is logged.  Errors, completion and disposal
        pass; what is held of a marker then is dropped but on completion.

    Raises:
        ConfigurationError: If ``write`` is no function.
    """
    check_callable("write", write)

    def handle(request: ChatRequest, inner: Exchange) -> Observable[ChatEvent]:
        def make() -> _Citing:
            return _Citing(documents_of(request.context), write)

        return just(request).pipe(inner, transduce(make))

    return named("citations", around(handle), order=Order.RETRIEVAL + 10)


def documents_of(context: Context) -> tuple[Document, ...]:
    """The documents that a context holds; what else stands there is passed over."""
    found = context.get(QA_DOCUMENTS.name)
    if not isinstance(found, tuple | list):
        return ()
    items = cast("Iterable[object]", found)
    return tuple(each for each in items if isinstance(each, Document))


class _Citing:
    """The events of one answer."""

    def __init__(
        self,
        documents: tuple[Document, ...],
        write: Callable[[int, Document], str] | None,
    ) -> None:
        self._documents = documents
        self._lift: TextLift | None = None
        if write is not None:

            def marker_writer() -> MarkerWriter:
                return MarkerWriter(self._documents, write)

            self._lift = TextLift(marker_writer, name="citations", channels=_TEXT)

    def feed(self, event: ChatEvent, /) -> Sequence[ChatEvent]:
        """Take an event."""
        if isinstance(event, Finished):
            event = _with_sources(event)
        elif isinstance(event, StageFinished) and isinstance(event.value, Retrieval):
            self._documents = event.value.documents
        return (event,) if self._lift is None else self._lift.feed(event)

    def flush(self) -> Sequence[ChatEvent]:
        """Return what is held."""
        return () if self._lift is None else self._lift.flush()


def _with_sources(event: Finished) -> Finished:
    response = event.response
    documents = documents_of(response.context)
    if not documents:
        return event
    sources = _sources(response.text, documents)
    context = response.context.set(CITATIONS, sources)
    return replace(event, response=replace(response, context=context))


def _sources(text: str, documents: Sequence[Document]) -> tuple[Source, ...]:
    passages: dict[int, list[Passage]] = {}
    for marker, passage in passages_of(text):
        for number in dict.fromkeys(marker.numbers):
            passages.setdefault(number, []).append(passage)
    count = len(documents)
    if unknown := sorted(number for number in passages if not 1 <= number <= count):
        _log.warning("an answer names %s, and there are %d documents", unknown, count)
    return tuple(
        Source(number=number, document=each, passages=tuple(passages.get(number, ())))
        for number, each in enumerate(documents, start=1)
    )
