from __future__ import annotations

from reactivex import Observable

from rxagent.errors import ConfigurationError
from rxagent.events import ChatEvent
from rxagent.models._answer import answer
from rxagent.models._http import Client
from rxagent.models._ollama_http import ollama_http
from rxagent.operators import concat_each
from rxagent.patience import RetryPolicy, Timeouts
from rxagent.requests import ChatRequest
from rxagent.types import AnswerMode
from rxagent.wire import OllamaDialect

__all__ = ["OllamaChat"]


class OllamaChat:
    """A model behind Ollama, by its own interface.

    ::

        --q-----------|
        [ OllamaChat(model=...) ]         one request a question, one after the other
        --r--a--b--(F,|)

    Unlike its endpoints that speak OpenAI's format, this one knows pictures in results
    of tools, every setting of the model (``extra={"options": {"num_ctx": 8192}}``), and
    how long the model stays loaded (``extra={"keep_alive": "10m"}``).

    Args:
        model: The server's name of the model; a request's options may name another.
        base_url: An address in any form of ``OLLAMA_HOST``: ``host``, ``host:port`` or
            with a scheme.  Default: ``OLLAMA_HOST``, else this machine.
        api_key: Default: ``OLLAMA_API_KEY``.  Needed for ollama.com only.
        dialect: Settings of the format.
        timeouts: How long to wait for what; see `Timeouts`.  A large model
            takes minutes to load: its first answer is silence until then.
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
        dialect: OllamaDialect | None = None,
        timeouts: Timeouts = Timeouts(),
        retry: RetryPolicy = RetryPolicy(),
        client: Client | None = None,
    ) -> None:
        if not model:
            raise ConfigurationError("OllamaChat needs the name of a model")
        self._model = model
        self._dialect = dialect or OllamaDialect()
        self._http = ollama_http(
            provider=self._dialect.name,
            base_url=base_url,
            api_key=api_key,
            timeouts=timeouts,
            retry=retry,
            client=client,
        )

    def answer_mode(self, request: ChatRequest) -> AnswerMode:
        """By its option, but in words beside tools: it keeps a model from calling."""
        # Source: https://github.com/ollama/ollama/issues/13750
        return "prompt" if request.tools else "native"

    def __call__(self, requests: Observable[ChatRequest]) -> Observable[ChatEvent]:
        """Answer each request in turn."""
        return concat_each(self._answer)(requests)

    def _answer(self, request: ChatRequest) -> Observable[ChatEvent]:
        return answer(
            request,
            dialect=self._dialect,
            http=self._http,
            path="/api/chat",
            model=self._model,
        )

    def __repr__(self) -> str:
        return f"OllamaChat(model={self._model!r}, base_url={self._http.shown_url!r})"
