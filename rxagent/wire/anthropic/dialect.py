"""The dialect of Anthropic's Messages."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime

from rxagent.errors import ModelError
from rxagent.requests import ChatRequest
from rxagent.wire.anthropic.events import EventReader
from rxagent.wire.anthropic.request import RequestEncoder
from rxagent.wire.anthropic.response import AnthropicDecoder
from rxagent.wire.provider_errors import error_of_response

__all__ = ["AnthropicDialect"]


@dataclass(frozen=True, slots=True, kw_only=True)
class AnthropicDialect:
    """Messages, as Claude and compatible servers speak them.

    Instructions are the ``system`` field.  All results of a round are one user message,
    together with what the user says next.  ``reasoning_effort`` becomes

    * ``"none"``: thinking is off;
    * a number such as ``"4096"``: a budget in tokens, on top of ``max_tokens`` where
      none was asked for, for models up to 4.5;
    * any other word: adaptive thinking with that effort, for models since 4.6.

    A schema is closed and its limits move into descriptions, as the API wants it; see
    `closed_schema`.  ``tools`` of ``extra``, which the server runs, stand behind those
    of the request.  A signed thought is sent back as it came, an unsigned or a foreign
    one is not.  Citations of a text are not kept.  There is no ``seed``.

    Args:
        name: Of the provider: stands in errors, and marks parts that only it reads.
        version: Sent as ``anthropic-version``.  From ``"2026-10-21"`` on there are no
            ``temperature`` and no ``top_p``; what else is sent is the same.
        max_tokens: Longest answer, in tokens, where a request does not say it: the API
            wants a limit.  Thinking counts.

    Source: https://platform.claude.com/docs/en/api/messages
    """

    name: str = "anthropic"
    version: str = "2023-06-01"
    max_tokens: int = 16_000

    def encode(self, request: ChatRequest, *, model: str, stream: bool) -> bytes:
        """Return the body of a request.

        Args:
            request: What to ask.
            model: Used if the request's options name none.
            stream: Whether the answer shall come in pieces.

        Raises:
            RequestError: If the format cannot express the request.
        """
        encoder = RequestEncoder(
            dialect=self.name, version=self.version, max_tokens=self.max_tokens
        )
        return encoder.body(request, model=model, stream=stream)

    def decoder(self, request: ChatRequest, *, content_type: str) -> AnthropicDecoder:
        """Return what makes events of the body of a successful response.

        Args:
            request: What was asked; its origin and context are handed on.
            content_type: Of the response.
        """
        return AnthropicDecoder(
            EventReader(request, provider=self.name),
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
