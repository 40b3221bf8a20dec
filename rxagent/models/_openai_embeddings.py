from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from typing import Literal

from reactivex import Observable

from rxagent.errors import ConfigurationError
from rxagent.models._embed import Embedding
from rxagent.models._http import Client, Http
from rxagent.models._key import find_key
from rxagent.patience import RetryPolicy, Timeouts
from rxagent.wire import OpenAIEmbeddingsDialect

__all__ = ["OpenAIEmbeddings"]

_OPENAI = "https://api.openai.com/v1"


class OpenAIEmbeddings:
    """Vectors of texts by OpenAI's embeddings, or any server that speaks them.

    ::

        [ OpenAIEmbeddings(model=...)(texts) ]
        ----------(v,|)                     one tuple, with a vector for each text

    What it returns is cold: each subscription asks anew.  An empty list gives an empty
    tuple, and no request.  The first error ends it, and like disposing closes whatever
    request is under way.

    Args:
        model: The server's name of the model.
        base_url: Usually ends in ``/v1``.  Default: ``OPENAI_BASE_URL``, else OpenAI.
        api_key: Default: ``OPENAI_API_KEY``.  Needed for OpenAI itself only.
        dimensions: Length of the vectors, for models that can shorten them.
        encoding_format: ``"base64"`` is a third of the bytes; not every server has it.
        batch_size: Most texts in a request.  OpenAI takes 2048 texts and 300,000 tokens
            in all, some servers only 10 or 32 texts.
        max_concurrency: Most requests at once.
        extra: Members added to each request body as they are.
        timeouts: How long to wait for what; see `Timeouts`.
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
        encoding_format: Literal["float", "base64"] = "float",
        batch_size: int = 256,
        max_concurrency: int = 1,
        extra: Mapping[str, object] | None = None,
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
        http = Http(
            provider="openai" if url.startswith(_OPENAI) else "",
            base_url=url,
            headers={"authorization": f"Bearer {key}"} if key else {},
            timeouts=timeouts,
            retry=retry,
            client=client,
        )
        self._embedding = Embedding(
            http=http,
            dialect=OpenAIEmbeddingsDialect(
                name=http.provider,
                dimensions=dimensions,
                encoding_format=encoding_format,
                extra=extra or {},
            ),
            path="/embeddings",
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
        return f"OpenAIEmbeddings({self._embedding.shown})"
