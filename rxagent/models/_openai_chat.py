from __future__ import annotations

import os

from reactivex import Observable

from rxagent.errors import ConfigurationError
from rxagent.events import ChatEvent
from rxagent.models._answer import answer
from rxagent.models._http import Client, Http
from rxagent.models._key import find_key
from rxagent.models._vendor import Vendor
from rxagent.models._vendors import VENDORS
from rxagent.operators import concat_each
from rxagent.patience import RetryPolicy, Timeouts
from rxagent.requests import ChatRequest
from rxagent.types import AnswerMode
from rxagent.wire import OpenAIChatDialect

__all__ = ["OpenAIChat"]


class OpenAIChat:
    """A model behind OpenAI's chat completions, or any server that speaks them.

    ::

        --q-----------|
        [ OpenAIChat(model=...) ]         one request a question, one after the other
        --a--b--(F,|)

    Any server is reached by ``base_url``; one that strays from the format in a way
    that is known, by ``vendor``, as in ``vendor=VENDORS["groq"]``.

    Args:
        model: The server's name of the model; a request's options may name another.
        base_url: Usually ends in ``/v1``.  Default: what the vendor's variable says
            (``OPENAI_BASE_URL``), else the vendor's own.
        api_key: Default: what the vendor's variable says (``OPENAI_API_KEY``).  Needed
            for the vendor's own server only, if at all.
        vendor: Whose server it is.  Default: OpenAI, or nobody that is known if the
            address is another one.
        dialect: Settings of the format, in place of the vendor's.
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
        vendor: Vendor | None = None,
        dialect: OpenAIChatDialect | None = None,
        timeouts: Timeouts = Timeouts(),
        retry: RetryPolicy = RetryPolicy(),
        client: Client | None = None,
    ) -> None:
        whose = vendor or VENDORS["openai"]
        url = base_url or _address(whose)
        if not url:
            raise ConfigurationError(
                f"{whose.title} has another address for each customer: set "
                f"{whose.base_url_variable} or pass base_url=..."
            )
        is_own = url.startswith(whose.base_url)
        key = find_key(api_key, *whose.key_variables)
        if not key and whose.needs_key and is_own:
            raise ConfigurationError(
                f"{whose.title} needs a key: set {' or '.join(whose.key_variables)} or "
                "pass api_key=...; for another server pass base_url=... or set "
                f"{whose.base_url_variable}"
            )
        if not model:
            raise ConfigurationError("OpenAIChat needs the name of a model")
        self._model = model
        if dialect is None and (vendor or is_own):
            dialect = whose.dialect
        self._http = Http(
            provider=dialect.name if dialect else "",
            base_url=url,
            headers={
                name: text.replace("{key}", key)
                for name, text in whose.headers.items()
                if key or "{key}" not in text
            },
            timeouts=timeouts,
            retry=retry,
            client=client,
        )
        self._dialect = dialect or OpenAIChatDialect(name=self._http.provider)
        self._path = whose.path

    def answer_mode(self, request: ChatRequest) -> AnswerMode:
        """By its option, but by a tool where the server takes no schema."""
        takes_schema = "response_format" not in self._dialect.refused
        return "native" if takes_schema else "tool"

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
        return f"OpenAIChat(model={self._model!r}, base_url={self._http.shown_url!r})"


def _address(vendor: Vendor) -> str:
    """The one that the environment names, else the vendor's own."""
    named = os.environ.get(vendor.base_url_variable, "").rstrip("/")
    if not named:
        return vendor.base_url
    return named.removesuffix(vendor.base_url_path) + vendor.base_url_path
