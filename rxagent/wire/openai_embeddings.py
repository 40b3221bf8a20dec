"""The dialect of OpenAI's embeddings, which most servers speak."""

from __future__ import annotations

import binascii
from base64 import b64decode
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from struct import unpack
from typing import Literal, TypeAlias

from rxagent.choices import check_choice
from rxagent.errors import ModelError
from rxagent.wire.embeddings import (
    Vector,
    answer_of,
    checked_vectors,
    encoded_body,
    malformed,
)
from rxagent.wire.json_text import is_object
from rxagent.wire.provider_errors import error_of_response

__all__ = ["OpenAIEmbeddingsDialect"]

EncodingFormat: TypeAlias = Literal["float", "base64"]

_FLOAT_BYTES = 4


@dataclass(frozen=True, slots=True, kw_only=True)
class OpenAIEmbeddingsDialect:
    """OpenAI's embeddings.

    Args:
        name: Of the provider: stands in errors.
        dimensions: Length of the vectors, for models that can shorten them.
        encoding_format: ``"base64"`` is a third of the bytes; not every server has it.
        extra: Members added to the request body as they are.

    Raises:
        ConfigurationError: If there is no such ``encoding_format``.

    Source: https://platform.openai.com/docs/api-reference/embeddings
    """

    name: str = "openai"
    dimensions: int | None = None
    encoding_format: EncodingFormat = "float"
    extra: Mapping[str, object] = field(default_factory=dict[str, object])

    def __post_init__(self) -> None:
        check_choice("encoding_format", self.encoding_format, EncodingFormat)

    def encode(self, texts: Sequence[str], *, model: str) -> bytes:
        """Return the body of a request.

        Args:
            texts: One batch.
            model: The provider's name of the model.

        Raises:
            RequestError: If ``extra`` is not JSON.
        """
        body: dict[str, object] = {
            "model": model,
            "input": list(texts),
            "encoding_format": self.encoding_format,
        }
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
        rows: dict[int, object] = {}
        items = answer_of(body, provider=self.name, member="data")
        for place, item in enumerate(items):
            if not is_object(item):
                raise malformed(self.name, f"item {place} that is no object")
            # Where there is none, the place is all there is to go by.
            index = item.get("index", place)
            if not isinstance(index, int) or not 0 <= index < len(items):
                raise malformed(
                    self.name, f"index {index!r} among {len(items)} embeddings"
                )
            if index in rows:
                raise malformed(self.name, f"two embeddings with index {index}")
            rows[index] = self._row(item.get("embedding"), index)
        return checked_vectors(
            [rows[index] for index in range(len(rows))],
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

    def _row(self, embedding: object, index: int) -> object:
        """Numbers, whichever of the two formats the server chose."""
        if not isinstance(embedding, str):
            return embedding
        try:
            data = b64decode(embedding, validate=True)
        except (binascii.Error, ValueError):
            raise malformed(
                self.name, f"embedding {index} as text that is no base64"
            ) from None
        if len(data) % _FLOAT_BYTES:
            raise malformed(
                self.name,
                f"embedding {index} as {len(data)} bytes, which are no numbers of "
                f"{_FLOAT_BYTES} bytes",
            )
        return list(unpack(f"<{len(data) // _FLOAT_BYTES}f", data))
