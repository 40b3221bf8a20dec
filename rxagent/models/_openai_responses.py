from __future__ import annotations

import os

from reactivex import Observable

from rxagent.errors import ConfigurationError
from rxagent.events import ChatEvent
from rxagent.models._answer import answer
from rxagent.models._http import Client, Http
from rxagent.models._key import find_key
from rxagent.operators import concat_each
from rxagent.patience import RetryPolicy, Timeouts
from rxagent.requests import ChatRequest
from rxagent.types import AnswerMode
from rxagent.wire import OpenAIResponsesDialect

__all__ = ["OpenAIResponses"]

_OPENAI = "https://api.openai.com/v1"


class OpenAIResponses:
    """A model behind OpenAI's Responses API, or a server that speaks it.

    ::

        --q-----------|
        [ OpenAIResponses(model=...) ]    one request a question, one after the other
        --r--a--b--(F,|)

    Nothing is stored on the server: each request holds the whole conversation, and the
    model's reasoning goes back encrypted, in its place.

    Args:
        model: The server's name of the model; a request's options may name another.
        base_url: Usually ends in ``/v1``.  Default: ``OPENAI_BASE_URL``, else OpenAI.
        api_key: Default: ``OPENAI_API_KEY``.  Needed for OpenAI itself only.
        dialect: Settings of the format.
        timeouts: How long to wait for what; see `Timeouts`.
        retry: When a request that failed is sent again; see `RetryPolicy`.
        client: An ``httpx.AsyncClient`` of your own, used as it is and never closed.

    Raises:
        ConfigurationError: If the address is no http address, or the key is missing or
            cannot be one.

    Source: https://platform.openai.com/docs/api-reference/responses
    """

    def __init__(
        self,
        *,
        model: str,
        base_url: str | None = None,
        api_key: str | None = None,
        dialect: OpenAIResponsesDialect | None = None,
        timeouts: Timeouts = Timeouts(),
        retry: RetryPolicy = RetryPolicy(),
        client: Client | None = None,
    ) -> None:
        url = base_url or os.environ.get("OPENAI_BASE_URL") or _OPENAI
        key = find_key(api_key, "OPENAI_API_KEY")
        if not key and url.startswith(_OPENAI):
            raise ConfigurationError(
                "OpenAI needs a key: set OPENAI_API_KEY or pass api_key=...; "
                "for another server pass base_url=... or set OPENAI_BASE_URL"
            )
        if not model:
            raise ConfigurationError("OpenAIResponses needs the name of a model")
        self._model = model
        known_as = "openai" if url.startswith(_OPENAI) else ""
        self._http = Http(
            provider=dialect.name if dialect else known_as,
            base_url=url,
            headers={"authorization": f"Bearer {key}"} if key else {},
            timeouts=timeouts,
            retry=retry,
            client=client,
        )
        self._dialect = dialect or OpenAIResponsesDialect(name=self._http.provider)

    def answer_mode(self, request: ChatRequest) -> AnswerMode:
        """By its option."""
        return "native"

    def __call__(self, requests: Observable[ChatRequest]) -> Observable[ChatEvent]:
        """Answer each request in turn."""
        return concat_each(self._answer)(requests)

    def _answer(self, request: ChatRequest) -> Observable[ChatEvent]:
        return answer(
            request,
            dialect=self._dialect,
            http=self._http,
            path="/responses",
            model=self._model,
        )

    def __repr__(self) -> str:
        return (
            f"OpenAIResponses(model={self._model!r}, base_url={self._http.shown_url!r})"
        )
