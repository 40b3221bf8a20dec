from __future__ import annotations

import os
from urllib.parse import quote

from reactivex import Observable

from rxagent.errors import ConfigurationError, RequestError
from rxagent.events import ChatEvent
from rxagent.models._answer import answer
from rxagent.models._http import Client, Http
from rxagent.models._key import find_key
from rxagent.operators import concat_each
from rxagent.patience import RetryPolicy, Timeouts
from rxagent.requests import ChatRequest
from rxagent.types import AnswerMode
from rxagent.wire import GeminiDialect

__all__ = ["GeminiChat"]

_GOOGLE = "https://generativelanguage.googleapis.com"


class GeminiChat:
    """A model behind Google's Gemini API.

    ::

        --q-----------|
        [ GeminiChat(model=...) ]         one request a question, one after the other
        --a--b--(F,|)

    Args:
        model: Such as ``"gemini-3-flash-preview"`` or ``"tunedModels/mine"``; a
            request's options may name another.
        base_url: Without the version, which is ``v1beta``.  Default:
            ``GOOGLE_GEMINI_BASE_URL``, else Google.
        api_key: Default: ``GEMINI_API_KEY``, then ``GOOGLE_API_KEY``.  Needed for
            Google itself only.
        dialect: Settings of the format.
        timeouts: How long to wait for what; see `Timeouts`.
        retry: When a request that failed is sent again; see `RetryPolicy`.
        client: An ``httpx.AsyncClient`` of your own, used as it is and never closed.

    Raises:
        ConfigurationError: If the address is no http address, or the key is missing or
            cannot be one.
    """

    def __init__(
        self,
        *,
        model: str,
        base_url: str | None = None,
        api_key: str | None = None,
        dialect: GeminiDialect | None = None,
        timeouts: Timeouts = Timeouts(),
        retry: RetryPolicy = RetryPolicy(),
        client: Client | None = None,
    ) -> None:
        url = base_url or os.environ.get("GOOGLE_GEMINI_BASE_URL") or _GOOGLE
        key = find_key(api_key, "GEMINI_API_KEY", "GOOGLE_API_KEY")
        if not key and url.startswith(_GOOGLE):
            raise ConfigurationError(
                "Gemini needs a key: set GEMINI_API_KEY or pass api_key=...; "
                "for another server pass base_url=... or set GOOGLE_GEMINI_BASE_URL"
            )
        if not model:
            raise ConfigurationError("GeminiChat needs the name of a model")
        self._model = model
        self._dialect = dialect or GeminiDialect()
        self._http = Http(
            provider=self._dialect.name,
            base_url=url,
            headers={"x-goog-api-key": key} if key else {},
            timeouts=timeouts,
            retry=retry,
            client=client,
        )

    def answer_mode(self, request: ChatRequest) -> AnswerMode:
        """By its option, but by a tool beside other tools: many models refuse both."""
        # Source: https://github.com/googleapis/python-genai/issues/867
        return "tool" if request.tools else "native"

    def __call__(self, requests: Observable[ChatRequest]) -> Observable[ChatEvent]:
        """Answer each request in turn."""
        return concat_each(self._answer)(requests)

    def _answer(self, request: ChatRequest) -> Observable[ChatEvent]:
        return answer(
            request,
            dialect=self._dialect,
            http=self._http,
            path=_path(request, model=self._model),
            model=self._model,
        )

    def __repr__(self) -> str:
        return f"GeminiChat(model={self._model!r}, base_url={self._http.shown_url!r})"


def _path(request: ChatRequest, *, model: str) -> str:
    name = request.options.model or model
    kind, slash, rest = name.partition("/")
    if not (slash and kind in ("models", "tunedModels")):
        kind, rest = "models", name
    try:
        quoted = quote(rest, safe="")  # so that no name leads elsewhere
    except UnicodeEncodeError:
        raise RequestError(f"the model name {name!r} is no text") from None
    streams = request.options.stream is not False
    method = "streamGenerateContent?alt=sse" if streams else "generateContent"
    return f"/v1beta/{kind}/{quoted}:{method}"
