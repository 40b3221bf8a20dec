"""How any dialect embeds texts over HTTP; what differs is in ``wire``."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from datetime import UTC, datetime
from itertools import starmap
from typing import Protocol, TypeAlias

from reactivex import Observable
from reactivex import operators as ops

from rxagent.errors import (
    ConfigurationError,
    MalformedResponseError,
    ModelError,
    RequestError,
)
from rxagent.models._answer import patiently
from rxagent.models._http import Http, chunks_of, error_body, is_answer
from rxagent.operators import just
from rxagent.runtime import Sink, from_producer

__all__ = ["Embedding", "EmbeddingsDialect"]

_Vectors: TypeAlias = tuple[tuple[float, ...], ...]

_HEADERS = {
    "content-type": "application/json",
    "accept": "application/json",
    "accept-encoding": "identity",
}


class EmbeddingsDialect(Protocol):
    """A vendor's format: texts to bytes, bytes to vectors."""

    @property
    def dimensions(self) -> int | None:
        """Length of the vectors that is asked for."""
        ...

    def encode(self, texts: Sequence[str], *, model: str) -> bytes:
        """Return the body of a request."""
        ...

    def decode(self, body: bytes, *, count: int) -> _Vectors:
        """Return the vectors of ``count`` texts, in their order."""
        ...

    def error(
        self, status: int, headers: Mapping[str, str], body: bytes, *, now: datetime
    ) -> ModelError:
        """Return the error that a response of ``status`` reports."""
        ...


class Embedding:
    """Ask a provider for vectors, batch by batch.

    Args:
        dialect: The provider's format.
        http: The way to it, and the patience with it: its clocks and its retries are
            those of each request.
        path: Appended to the base URL.
        model: The provider's name of the model.
        batch_size: Most texts in a request.
        max_concurrency: Most requests at once.

    Raises:
        ConfigurationError: If there is no model, or a number is below 1.
    """

    def __init__(
        self,
        *,
        dialect: EmbeddingsDialect,
        http: Http,
        path: str,
        model: str,
        batch_size: int,
        max_concurrency: int,
    ) -> None:
        if not model:
            raise ConfigurationError("embeddings need the name of a model")
        numbers = {
            "batch_size": batch_size,
            "max_concurrency": max_concurrency,
            "dimensions": dialect.dimensions,
        }
        for name, number in numbers.items():
            if number is not None and number < 1:
                raise ConfigurationError(f"{name} must be 1 or more, got {number}")
        self._dialect = dialect
        self._http = http
        self._path = path
        self._model = model
        self._batch_size = batch_size
        self._max_concurrency = max_concurrency
        self.shown = f"model={model!r}, base_url={http.shown_url!r}"

    def of(self, texts: Sequence[str]) -> Observable[_Vectors]:
        """Return a cold observable of one tuple, in the order of ``texts``.

        Raises:
            RequestError: If ``texts`` is one text, or one of them is no text.
        """
        if isinstance(texts, str):  # its letters would be texts
            raise RequestError("pass a list of texts, not one text")
        texts = tuple(texts)
        for number, text in enumerate(texts):
            if not isinstance(text, str):  # pyright: ignore[reportUnnecessaryIsInstance]
                raise RequestError(f"text {number} is no str but {type(text).__name__}")
        batches = [
            texts[start : start + self._batch_size]
            for start in range(0, len(texts), self._batch_size)
        ]
        return just(*starmap(self._ask, enumerate(batches))).pipe(
            ops.merge(max_concurrent=self._max_concurrency),
            ops.to_list(),
            ops.map(self._in_order),
        )

    def _ask(
        self, number: int, batch: tuple[str, ...]
    ) -> Observable[tuple[int, _Vectors]]:
        async def produce(sink: Sink[tuple[int, _Vectors]]) -> None:
            body = self._dialect.encode(batch, model=self._model)
            async with self._http.post(self._path, body, headers=_HEADERS) as response:
                if not is_answer(response):
                    raise self._dialect.error(
                        response.status_code,
                        response.headers,
                        await error_body(response),
                        now=datetime.now(UTC),
                    )
                answer = b"".join([chunk async for chunk in chunks_of(response)])
                vectors = self._dialect.decode(answer, count=len(batch))
            sink.emit((number, vectors))

        return patiently(from_producer(produce), self._http)

    def _in_order(self, batches: list[tuple[int, _Vectors]]) -> _Vectors:
        vectors = tuple(each for _, batch in sorted(batches) for each in batch)
        lengths = sorted({len(vector) for vector in vectors})
        if len(lengths) > 1:
            raise MalformedResponseError(
                f"{self._http.provider} sent vectors of {lengths[0]} and of "
                f"{lengths[-1]} dimensions for texts of one request",
                provider=self._http.provider,
            )
        return vectors
