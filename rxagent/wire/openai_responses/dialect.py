"""The dialect of OpenAI's Responses API."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime

from rxagent.errors import ModelError
from rxagent.requests import ChatRequest
from rxagent.wire.openai_responses.events import EventReader
from rxagent.wire.openai_responses.request import RequestEncoder
from rxagent.wire.openai_responses.response import OpenAIResponsesDecoder
from rxagent.wire.provider_errors import error_of_response

__all__ = ["OpenAIResponsesDialect"]


@dataclass(frozen=True, slots=True, kw_only=True)
class OpenAIResponsesDialect:
    """The Responses API, without state on the server: each request says everything.

    ``store`` is false.  What a model thought comes back encrypted and is sent again in
    its place, and so are the items of the provider's own tools.  An ``extra`` of the
    options replaces what it names, and adds to objects and lists: its ``tools`` stand
    behind ours, its ``store`` is the one that counts.

    Args:
        name: Of the provider: stands in errors, and marks parts that only it reads.
        encrypted_reasoning: Whether to ask for it.  Models that do not reason may
            refuse a request that does.

    Source: https://platform.openai.com/docs/api-reference/responses
    """

    name: str = "openai"
    encrypted_reasoning: bool = True

    @property
    def opaque(self) -> str:
        """The dialect of parts that only this API of this provider reads."""
        return f"{self.name} responses"

    def encode(self, request: ChatRequest, *, model: str, stream: bool) -> bytes:
        """Return the body of a request.

        Args:
            request: What to ask.
            model: Used if the request's options name none.
            stream: Whether the answer shall come in pieces.

        Raises:
            RequestError: If the format cannot express the request.  It has no ``stop``,
                no ``seed`` and no audio.
        """
        encoder = RequestEncoder(
            dialect=self.opaque,
            encrypted_reasoning=self.encrypted_reasoning,
            stored=bool(request.options.extra.get("store")),
        )
        return encoder.body(request, model=model, stream=stream)

    def decoder(
        self, request: ChatRequest, *, content_type: str
    ) -> OpenAIResponsesDecoder:
        """Return what makes events of the body of a successful response.

        Args:
            request: What was asked; its origin and context are handed on.
            content_type: Of the response.
        """
        reader = EventReader(request, provider=self.name, dialect=self.opaque)
        return OpenAIResponsesDecoder(
            reader, provider=self.name, content_type=content_type.lower()
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
