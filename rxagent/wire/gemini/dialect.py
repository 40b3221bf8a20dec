"""The dialect of the Gemini API."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime

from rxagent.errors import ModelError
from rxagent.requests import ChatRequest
from rxagent.wire.gemini.chunks import ChunkReader
from rxagent.wire.gemini.request import RequestEncoder
from rxagent.wire.gemini.response import GeminiDecoder
from rxagent.wire.provider_errors import error_of_response

__all__ = ["GeminiDialect"]


@dataclass(frozen=True, slots=True, kw_only=True)
class GeminiDialect:
    """``generateContent`` and ``streamGenerateContent``.

    Thoughts go back only with their signature, and signatures only behind what they
    sign.  The name of a file is not sent, as there is no place for it.

    Args:
        name: Stands in errors, and marks parts that only Gemini reads.

    Source: https://ai.google.dev/api/generate-content and
    https://ai.google.dev/gemini-api/docs/thought-signatures
    """

    name: str = "gemini"

    def encode(self, request: ChatRequest, *, model: str, stream: bool) -> bytes:
        """Return the body of a request.

        Args:
            request: What to ask.
            model: Used if the request's options name none.
            stream: Whether the answer shall come in pieces; the address says so too,
                and the body is the same.

        Raises:
            RequestError: If the format cannot express the request.
        """
        del stream
        return RequestEncoder(dialect=self.name).body(request, model=model)

    def decoder(self, request: ChatRequest, *, content_type: str) -> GeminiDecoder:
        """Return what makes events of the body of a successful response.

        Args:
            request: What was asked; its origin and context are handed on.
            content_type: Of the response.
        """
        return GeminiDecoder(
            ChunkReader(request, dialect=self.name),
            provider=self.name,
            content_type=content_type.lower(),
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
