from __future__ import annotations

from collections.abc import Mapping, Sequence

from reactivex import Observable

from rxagent.models._embed import Embedding
from rxagent.models._http import Client
from rxagent.models._ollama_http import ollama_http
from rxagent.patience import RetryPolicy, Timeouts
from rxagent.wire import OllamaEmbeddingsDialect

__all__ = ["OllamaEmbeddings"]


class OllamaEmbeddings:
    """Vectors of texts by Ollama, of unit length.

    ::

        [ OllamaEmbeddings(model=...)(texts) ]
        ----------(v,|)                     one tuple, with a vector for each text

    What it returns is cold: each subscription asks anew.  An empty list gives an empty
    tuple, and no request.  The first error ends it, and like disposing closes whatever
    request is under way.

    Args:
        model: The server's name of the model.
        base_url: An address in any form of ``OLLAMA_HOST``: ``host``, ``host:port`` or
            with a scheme.  Default: ``OLLAMA_HOST``, else this machine.
        api_key: Default: ``OLLAMA_API_KEY``.  Needed for ollama.com only.
        dimensions: Length of the vectors, for models that can shorten them.
        batch_size: Most texts in a request.  Ollama has no limit, but answers a batch
            as a whole.
        max_concurrency: Most requests at once.
        extra: Members added to each request body as they are, such as ``keep_alive``.
            ``truncate`` as False makes a text that is too long an error; else its end
            is cut off.
        timeouts: How long to wait for what; see `Timeouts`.  A model takes
            its time to load.
        retry: When a request that failed is sent again; see `RetryPolicy`.
        client: An ``httpx.AsyncClient`` of your own, used as it is and never closed.

    Raises:
        ConfigurationError: If the address is no http address, a number is below 1, or
            the key is missing or cannot be one.
    """

    def __init__(
        self,
        *,
        model: str,
        base_url: str | None = None,
        api_key: str | None = None,
        dimensions: int | None = None,
        batch_size: int = 64,
        max_concurrency: int = 1,
        extra: Mapping[str, object] | None = None,
        timeouts: Timeouts = Timeouts(),
        retry: RetryPolicy = RetryPolicy(),
        client: Client | None = None,
    ) -> None:
        self._embedding = Embedding(
            http=ollama_http(
                provider="ollama",
                base_url=base_url,
                api_key=api_key,
                timeouts=timeouts,
                retry=retry,
                client=client,
            ),
            dialect=OllamaEmbeddingsDialect(dimensions=dimensions, extra=extra or {}),
            path="/api/embed",
            model=model,
            batch_size=batch_size,
            max_concurrency=max_concurrency,
        )

    def __call__(
        self, texts: Sequence[str]
    ) -> Observable[tuple[tuple[float, ...], ...]]:
        """Embed ``texts``."""
        return self._embedding.of(texts)

    def __repr__(self) -> str:
        return f"OllamaEmbeddings({self._embedding.shown})"
