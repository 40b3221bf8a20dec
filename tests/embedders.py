"""Everything that embeds texts, each with a server that answers it.

embedder = EMBEDDERS["OllamaEmbeddings"]
with ChatServer(embedder.answer(vector_of)) as server:
    embedder.make(server, batch_size=2)(["a", "b", "c"])
"""

from __future__ import annotations

import json
from base64 import b64encode
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from struct import pack
from typing import Any, TypeAlias

from rxagent.models import GeminiEmbeddings, OllamaEmbeddings, OpenAIEmbeddings
from rxagent.patience import RetryPolicy
from rxagent.types import Embedder
from tests.ollama_answers import embedded
from tests.servers import Answer, Asked, ChatServer

__all__ = ["EMBEDDERS", "Case", "vector_of"]

VectorOf: TypeAlias = Callable[[str], list[float]]

_JSON = {"content-type": "application/json"}


@dataclass(frozen=True, slots=True, kw_only=True)
class Case:
    """One of them.

    Args:
        make: Makes it, with options of its own.
        answer: What its server says, given the vector of each text.
        texts: What a request asks for.
    """

    make: Callable[..., Embedder]
    answer: Callable[[VectorOf], Callable[[Asked], Answer]]
    texts: Callable[[Asked], list[str]]


def vector_of(text: str) -> list[float]:
    """A vector that tells its text."""
    return [float(len(text)), float(sum(map(ord, text))), 0.5]


def _once(options: dict[str, Any]) -> dict[str, Any]:
    """What fails is told at once, unless the test wants something else."""
    return {"retry": RetryPolicy(max_retries=0), **options}


def _gemini(server: ChatServer, **options: Any) -> Embedder:
    return GeminiEmbeddings(
        model="m", base_url=server.url, api_key="k", **_once(options)
    )


def _ollama(server: ChatServer, **options: Any) -> Embedder:
    return OllamaEmbeddings(model="m", base_url=server.url, **_once(options))


def _openai(server: ChatServer, **options: Any) -> Embedder:
    return OpenAIEmbeddings(
        model="m", base_url=server.base_url, api_key="k", **_once(options)
    )


def _input(asked: Asked) -> list[str]:
    texts = asked.body["input"]
    assert isinstance(texts, list)
    return texts


def _gemini_texts(asked: Asked) -> list[str]:
    requests = asked.body["requests"]
    assert isinstance(requests, list)
    return [request["content"]["parts"][0]["text"] for request in requests]


def _gemini_answer(vector: VectorOf) -> Callable[[Asked], Answer]:
    def make(asked: Asked) -> Answer:
        values = [{"values": vector(text)} for text in _gemini_texts(asked)]
        return _json({"embeddings": values})

    return make


def _openai_answer(vector: VectorOf) -> Callable[[Asked], Answer]:
    """The last text first: only the index tells whose a vector is."""

    def make(asked: Asked) -> Answer:
        vectors: list[object] = [vector(text) for text in _input(asked)]
        if asked.body["encoding_format"] == "base64":
            vectors = [_base64(vector(text)) for text in _input(asked)]
        data = [
            {"object": "embedding", "index": index, "embedding": each}
            for index, each in enumerate(vectors)
        ]
        usage = {"prompt_tokens": 8, "total_tokens": 8}
        return _json({"object": "list", "data": data[::-1], "usage": usage})

    return make


def _base64(vector: list[float]) -> str:
    return b64encode(pack(f"<{len(vector)}f", *vector)).decode()


def _json(body: Mapping[str, object]) -> Answer:
    return Answer(headers=_JSON, pieces=(json.dumps(body).encode(),))


EMBEDDERS: Mapping[str, Case] = {
    "GeminiEmbeddings": Case(make=_gemini, answer=_gemini_answer, texts=_gemini_texts),
    "OllamaEmbeddings": Case(make=_ollama, answer=embedded, texts=_input),
    "OpenAIEmbeddings": Case(make=_openai, answer=_openai_answer, texts=_input),
}
