"""The dialect of Ollama's own embeddings."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime

from rxagent.errors import ModelError
from rxagent.wire.embeddings import Vector, answer_of, checked_vectors, encoded_body
from rxagent.wire.ollama.errors import ollama_error

__all__ = ["OllamaEmbeddingsDialect"]


@dataclass(frozen=True, slots=True, kw_only=True)
class OllamaEmbeddingsDialect:
    """Ollama's embeddings, of ``/api/embed``.

    Args:
        name: Of the provider: stands in errors.
        dimensions: Length of the vectors, for models that can shorten them.
        extra: Members added to the request body as they are, such as ``keep_alive``, or
            ``truncate``: False makes a text that is too long an error.

    Source: https://github.com/ollama/ollama/blob/main/docs/api.md
    """

    name: str = "ollama"
    dimensions: int | None = None
    extra: Mapping[str, object] = field(default_factory=dict[str, object])

    def encode(self, texts: Sequence[str], *, model: str) -> bytes:
        """Return the body of a request.

        Args:
            texts: One batch.
            model: The server's name of the model.

        Raises:
            RequestError: If ``extra`` is not JSON.
        """
        body: dict[str, object] = {"model": model, "input": list(texts)}
        if self.dimensions is not None:
            body["dimensions"] = self.dimensions
        return encoded_body({**body, **self.extra})

    def decode(self, body: bytes, *, count: int) -> tuple[Vector, ...]:
        """Return the vectors of a successful response, in the order of the texts.

        Args:
            body: All of it.
            count: How many texts were in the batch.

        Raises:
            ModelError: If it reports an error, or is not what it should be.
        """
        return checked_vectors(
            answer_of(body, provider=self.name, member="embeddings"),
            provider=self.name,
            count=count,
            dimensions=self.dimensions,
        )

    def error(
        self, status: int, headers: Mapping[str, str], body: bytes, *, now: datetime
    ) -> ModelError:
        """Return the error that an unsuccessful response reports.

        Args:
            status: 400 or more.
            headers: Of the response.
            body: All of it.
            now: The present, for a date in ``Retry-After``.
        """
        return ollama_error(self.name, status, headers, body, now=now)
