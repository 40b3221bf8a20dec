"""The dialect of Gemini's embeddings."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime

from rxagent.errors import ModelError
from rxagent.wire.embeddings import Vector, answer_of, checked_vectors, encoded_body
from rxagent.wire.json_text import is_object
from rxagent.wire.provider_errors import error_of_response

__all__ = ["GeminiEmbeddingsDialect"]


@dataclass(frozen=True, slots=True, kw_only=True)
class GeminiEmbeddingsDialect:
    """Gemini's embeddings, of ``batchEmbedContents``.

    Args:
        name: Of the provider: stands in errors.
        dimensions: Length of the vectors, for models that can shorten them.
        extra: Members added to the request of each text as they are, such as
            ``taskType``.

    Source: https://ai.google.dev/api/embeddings
    """

    name: str = "gemini"
    dimensions: int | None = None
    extra: Mapping[str, object] = field(default_factory=dict[str, object])

    def encode(self, texts: Sequence[str], *, model: str) -> bytes:
        """Return the body of a request.

        Args:
            texts: One batch.
            model: As the path has it: ``models/...``.

        Raises:
            RequestError: If ``extra`` is not JSON.
        """
        settings: dict[str, object] = {"model": model}
        if self.dimensions is not None:
            settings["outputDimensionality"] = self.dimensions
        requests = [
            {**settings, "content": {"parts": [{"text": text}]}, **self.extra}
            for text in texts
        ]
        return encoded_body({"requests": requests})

    def decode(self, body: bytes, *, count: int) -> tuple[Vector, ...]:
        """Return the vectors of a successful response, in the order of the texts.

        Args:
            body: All of it.
            count: How many texts were in the batch.

        Raises:
            ModelError: If it reports an error, or is not what it should be.
        """
        items = answer_of(body, provider=self.name, member="embeddings")
        return checked_vectors(
            [item.get("values") if is_object(item) else None for item in items],
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
        return error_of_response(self.name, status, headers, body, now=now)
