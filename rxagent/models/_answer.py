"""How any dialect answers over HTTP; what differs is in ``wire``."""

from __future__ import annotations

from collections import deque
from collections.abc import Iterable, Mapping
from dataclasses import replace
from datetime import UTC, datetime
from typing import Protocol, TypeVar

from reactivex import Observable, abc, defer

from rxagent.errors import ModelError
from rxagent.events import ChatEvent
from rxagent.models._http import Http, chunks_of, error_body, is_answer, read_rest
from rxagent.operators import retry_backoff, timeouts
from rxagent.requests import ChatRequest
from rxagent.runtime import Sink, from_producer
from rxagent.types import Transducer

__all__ = ["Decoder", "Dialect", "answer", "patiently"]

T = TypeVar("T")


class Decoder(Transducer[bytes, ChatEvent], Protocol):
    """Makes events of the bytes of one answer."""

    @property
    def is_over(self) -> bool:
        """Whether the answer is complete, though its body may go on."""
        ...

    def note_progress(self, error: ModelError) -> None:
        """Keep in ``error`` what came before it."""
        ...


class Dialect(Protocol):
    """A vendor's format: requests to bytes, bytes to events."""

    def encode(self, request: ChatRequest, *, model: str, stream: bool) -> bytes:
        """Return the body of a request."""
        ...

    def decoder(self, request: ChatRequest, *, content_type: str) -> Decoder:
        """Return what makes events of the response's body."""
        ...

    def error(
        self, status: int, headers: Mapping[str, str], body: bytes, *, now: datetime
    ) -> ModelError:
        """Return the error that a response of ``status`` reports."""
        ...


def answer(
    request: ChatRequest, *, dialect: Dialect, http: Http, path: str, model: str
) -> Observable[ChatEvent]:
    """Ask a provider.

    Args:
        request: Encoded when subscribed.
        dialect: The provider's format.
        http: The way to it, and the patience with it.
        path: Appended to the base URL.
        model: Used if the request's options name none.

    Returns:
        A cold observable of one answer.  Its errors are of the ``ModelError`` family,
        with ``delivered`` telling whether an event came before, ``text`` what text it
        was, and ``attempts`` how often the provider was asked.  Disposing closes the
        response, and asks no more.
    """
    stream = request.options.stream is not False
    headers = {
        "content-type": "application/json",
        "accept": "text/event-stream" if stream else "application/json",
        # A compressed stream comes in lumps; tokens are small anyway.
        "accept-encoding": "identity",
    }

    async def produce(sink: Sink[ChatEvent]) -> None:
        delivered = False
        decoder: Decoder | None = None

        def emit(events: Iterable[ChatEvent]) -> None:
            nonlocal delivered
            for event in events:
                sink.emit(event)
                delivered = True

        body = dialect.encode(request, model=model, stream=stream)
        try:
            async with http.post(path, body, headers=headers) as response:
                if not is_answer(response):
                    raise dialect.error(
                        response.status_code,
                        response.headers,
                        await error_body(response),
                        now=datetime.now(UTC),
                    )
                decoder = dialect.decoder(
                    request, content_type=response.headers.get("content-type", "")
                )
                chunks = chunks_of(response)
                async for chunk in chunks:
                    emit(decoder.feed(chunk))
                    if sink.stopped:
                        return
                    if decoder.is_over:
                        break
                    if sink.paused:
                        await sink.resumed()
                emit(decoder.flush())
                await read_rest(chunks)
        except ModelError as error:
            error.delivered = delivered
            if decoder:
                decoder.note_progress(error)
            raise

    return patiently(from_producer(produce), http)


def patiently(answers: Observable[T], http: Http) -> Observable[T]:
    """Wait for a provider, and ask it again, as its ``http`` says.

    Args:
        answers: Asks once for each subscription.
        http: Whose timeouts and retries hold.
    """
    limits, provider = http.timeouts, http.provider
    attempt = answers.pipe(timeouts(first_s=limits.first_s, provider=provider))
    if limits.turn_s is None:
        return attempt.pipe(retry_backoff(http.retry))

    def turn(_: abc.SchedulerBase) -> Observable[T]:
        failures: deque[ModelError] = deque(maxlen=1)

        def on_retry(error: ModelError, delay_s: float) -> None:
            failures.append(error)
            if http.retry.on_retry is not None:
                http.retry.on_retry(error, delay_s)

        return attempt.pipe(
            retry_backoff(replace(http.retry, on_retry=on_retry)),
            timeouts(turn_s=limits.turn_s, provider=provider, failures=failures),
        )

    return defer(turn)
