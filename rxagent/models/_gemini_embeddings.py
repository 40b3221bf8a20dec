from __future__ import annotations

import os
from collections.abc import Mapping, Sequence

from reactivex import Observable

from rxagent.errors import ConfigurationError
from rxagent.models._embed import Embedding
from rxagent.models._http import Client, Http
from rxagent.models._key import find_key
from rxagent.patience import RetryPolicy, Timeouts
from rxagent.wire import GeminiEmbeddingsDialect

__all__ = ["GeminiEmbeddings"]

_GEMINI = "https://generativelanguage.googleapis.com"


class GeminiEmbeddings:
    """Vectors of texts by Gemini.

    ::

        [ GeminiEmbeddings(model=...)(texts) ]
        ----------(v,|)                     one tuple, with a vector for each text

    What it returns is cold: each subscription asks anew.  An empty list gives an empty
    tuple, and no request.  The first error ends it, and like disposing closes whatever
    request is under way.

    Args:
        model: Google's name of the model, such as ``"gemini-embedding-001"``.
        base_url: Without a version.  Default: ``GOOGLE_GEMINI_BASE_URL``, else Google.
        api_key: Default: ``GEMINI_API_KEY``, else ``GOOGLE_API_KEY``.  Needed for
            Google itself only.
        dimensions: Length of the vectors, for models that can shorten them.
        batch_size: Most texts in a request.  Google takes 100.
        max_concurrency: Most requests at once.
        extra: Members added to the request of each text as they are, such as
            ``taskType``.
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
        batch_size: int = 100,
        max_concurrency: int = 1,
        extra: Mapping[str, object] | None = None,
        timeouts: Timeouts = Timeouts(),
        retry: RetryPolicy = RetryPolicy(),
        client: Client | None = None,
    ) -> None:
        url = base_url or os.environ.get("GOOGLE_GEMINI_BASE_URL") or _GEMINI
        key = find_key(api_key, "GEMINI_API_KEY", "GOOGLE_API_KEY")
        if not key and url.startswith(_GEMINI):
            raise ConfigurationError(
                "Gemini needs a key: set GEMINI_API_KEY or pass api_key=..."
            )
        name = f"models/{model.removeprefix('models/')}" if model else ""
        self._embedding = Embedding(
            http=Http(
                provider="gemini",
                base_url=url,
                headers={"x-goog-api-key": key} if key else {},
                timeouts=timeouts,
                retry=retry,
                client=client,
            ),
            dialect=GeminiEmbeddingsDialect(dimensions=dimensions, extra=extra or {}),
            path=f"/v1beta/{name}:batchEmbedContents",
            model=name,
            batch_size=batch_size,
            max_concurrency=max_concurrency,
        )

    def __call__(
        self, texts: Sequence[str]
    ) -> Observable[tuple[tuple[float, ...], ...]]:
        """Embed ``texts``."""
        return self._embedding.of(texts)

    def __repr__(self) -> str:
        return f"GeminiEmbeddings({self._embedding.shown})"
