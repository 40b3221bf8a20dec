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
from rxagent.wire import AnthropicDialect
from rxagent.wire.anthropic.schema import can_be_closed

__all__ = ["AnthropicChat"]

_ANTHROPIC = "https://api.anthropic.com"


class AnthropicChat:
    """A model behind Anthropic's Messages, or any server that speaks them.

    ::

        --q--------------|
        [ AnthropicChat(model=...) ]      one request a question, one after the other
        --a--b--(F,|)

    Args:
        model: The server's name of the model; a request's options may name another.
        base_url: With or without ``/v1`` at its end.  Default: ``ANTHROPIC_BASE_URL``,
            else Anthropic.
        api_key: Sent as ``x-api-key``.  Default: ``ANTHROPIC_API_KEY``.
        auth_token: Sent as a bearer token, instead of a key.  Default:
            ``ANTHROPIC_AUTH_TOKEN``, where there is no key.  Anthropic itself needs
            either.
        dialect: Settings of the format.
        timeouts: How long to wait for what; see `Timeouts`.
        retry: When a request that failed is sent again; see `RetryPolicy`.
        client: An ``httpx.AsyncClient`` of your own, used as it is and never closed.

    Raises:
        ConfigurationError: If the address is no http address, or the key is missing,
            is given twice or cannot be one.
    """

    def __init__(
        self,
        *,
        model: str,
        base_url: str | None = None,
        api_key: str | None = None,
        auth_token: str | None = None,
        dialect: AnthropicDialect | None = None,
        timeouts: Timeouts = Timeouts(),
        retry: RetryPolicy = RetryPolicy(),
        client: Client | None = None,
    ) -> None:
        url = base_url or os.environ.get("ANTHROPIC_BASE_URL") or _ANTHROPIC
        credentials = _credentials(api_key, auth_token)
        if not credentials and url.startswith(_ANTHROPIC):
            raise ConfigurationError(
                "Anthropic needs a key: set ANTHROPIC_API_KEY or pass api_key=...; "
                "for another server pass base_url=... or set ANTHROPIC_BASE_URL"
            )
        if not model:
            raise ConfigurationError("AnthropicChat needs the name of a model")
        self._model = model
        known_as = "anthropic" if url.startswith(_ANTHROPIC) else ""
        version = (dialect or AnthropicDialect()).version
        self._http = Http(
            provider=dialect.name if dialect else known_as,
            base_url=url,
            headers={"anthropic-version": version, **credentials},
            timeouts=timeouts,
            retry=retry,
            client=client,
        )
        self._dialect = dialect or AnthropicDialect(name=self._http.provider)
        has_version = url.rstrip("/").endswith("/v1")
        self._path = "/messages" if has_version else "/v1/messages"

    def answer_mode(self, request: ChatRequest) -> AnswerMode:
        """By its option, but by a tool where that has no word for the schema."""
        schema = request.options.response_schema or {}
        return "native" if can_be_closed(schema) else "tool"

    def __call__(self, requests: Observable[ChatRequest]) -> Observable[ChatEvent]:
        """Answer each request in turn."""
        return concat_each(self._answer)(requests)

    def _answer(self, request: ChatRequest) -> Observable[ChatEvent]:
        return answer(
            request,
            dialect=self._dialect,
            http=self._http,
            path=self._path,
            model=self._model,
        )

    def __repr__(self) -> str:
        return (
            f"AnthropicChat(model={self._model!r}, base_url={self._http.shown_url!r})"
        )


def _credentials(api_key: str | None, auth_token: str | None) -> dict[str, str]:
    """The header that says who asks, if anything does."""
    if api_key and auth_token:
        raise ConfigurationError("pass api_key or auth_token, and not both")
    if not auth_token:
        if key := find_key(api_key, "ANTHROPIC_API_KEY"):
            return {"x-api-key": key}
        if api_key is not None:
            return {}
    token = find_key(auth_token, "ANTHROPIC_AUTH_TOKEN")
    return {"authorization": f"Bearer {token}"} if token else {}
