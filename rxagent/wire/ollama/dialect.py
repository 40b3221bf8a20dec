"""The dialect of Ollama's own chat endpoint."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime

from rxagent.errors import ModelError
from rxagent.requests import ChatRequest
from rxagent.wire.answer_body import AnswerFaults
from rxagent.wire.ollama.errors import ollama_error
from rxagent.wire.ollama.lines import LineReader
from rxagent.wire.ollama.request import encode_request
from rxagent.wire.ollama.response import OllamaDecoder

__all__ = ["OllamaDialect"]


@dataclass(frozen=True, slots=True, kw_only=True)
class OllamaDialect:
    """Ollama's own chat endpoint, with newline-delimited JSON.

    Args:
        name: Of the provider: stands in errors.

    Source: https://github.com/ollama/ollama/blob/main/docs/api.md
    """

    name: str = "ollama"

    def encode(self, request: ChatRequest, *, model: str, stream: bool) -> bytes:
        """Return the body of a request.

        Args:
            request: What to ask.
            model: Used if the request's options name none.
            stream: Whether the answer shall come in pieces.

        Raises:
            RequestError: If the format cannot express the request.
        """
        return encode_request(request, dialect=self.name, model=model, stream=stream)

    def decoder(self, request: ChatRequest, *, content_type: str) -> OllamaDecoder:
        """Return what makes events of the body of a successful response.

        Args:
            request: What was asked; its origin and context are handed on.
            content_type: Of the response.
        """
        return OllamaDecoder(
            LineReader(request, provider=self.name),
            faults=AnswerFaults(provider=self.name, content_type=content_type.lower()),
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
