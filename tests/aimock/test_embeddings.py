"""OpenAIEmbeddings against aimock.

It does not know Gemini's batches, and answers Ollama's requests in an older format.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Literal, TypeAlias

import pytest

from rxagent.errors import MalformedResponseError, RateLimitError
from rxagent.models import OllamaEmbeddings, OpenAIEmbeddings
from rxagent.patience import RetryPolicy
from rxagent.runtime import Flow
from tests.aimock.running import Aimock, running

Vectors: TypeAlias = tuple[tuple[float, ...], ...]

TEXTS = ["one", "two", "Zoë 🚀", "", "one"]
VECTORS = {"one": [0.5, -0.25, 0.125], "two": [1.0, 0.0, -1.0]}


@pytest.fixture(scope="module")
def _server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Aimock]:
    """One that is not strict makes vectors of its own, always the same of a text."""
    with running(tmp_path_factory.mktemp("embeddings")) as server:
        yield server


def embedder(
    aimock: Aimock,
    *,
    batch_size: int = 100,
    encoding_format: Literal["float", "base64"] = "float",
    dimensions: int | None = None,
) -> OpenAIEmbeddings:
    return OpenAIEmbeddings(
        model="text-embedding-3-small",
        base_url=f"{aimock.url}/v1",
        api_key="k",
        batch_size=batch_size,
        encoding_format=encoding_format,
        dimensions=dimensions,
        retry=RetryPolicy(base_s=0.01, max_retries=1),
    )


def embed(embedder: OpenAIEmbeddings | OllamaEmbeddings, *texts: str) -> Vectors:
    return Flow[Vectors].of(embedder(texts)).run()


@pytest.mark.parametrize("batch_size", [1, 2, 100])
def test_each_text_has_the_vector_that_is_its_own(
    aimock: Aimock, batch_size: int
) -> None:
    vectors = embed(embedder(aimock, batch_size=batch_size), *TEXTS)

    alone = [embed(embedder(aimock), text)[0] for text in TEXTS]
    assert list(vectors) == alone
    assert len(set(vectors)) == 4
    assert {len(vector) for vector in vectors} == {1536}


@pytest.mark.parametrize("encoding_format", ["float", "base64"])
def test_a_scripted_vector_comes_in_either_form(
    aimock: Aimock, encoding_format: Literal["float", "base64"]
) -> None:
    aimock.script(
        *(
            {"match": {"inputText": text}, "response": {"embedding": vector}}
            for text, vector in VECTORS.items()
        )
    )
    form = embedder(aimock, encoding_format=encoding_format, batch_size=1)

    assert embed(form, *VECTORS) == tuple(map(tuple, VECTORS.values()))


def test_the_length_of_the_vectors_is_what_was_asked_for(aimock: Aimock) -> None:
    vectors = embed(embedder(aimock, dimensions=8), *TEXTS)

    assert [len(vector) for vector in vectors] == [8] * len(TEXTS)


def test_a_rate_limit_is_waited_out_and_then_given_up(aimock: Aimock) -> None:
    busy = {"error": {"message": "slow down"}, "status": 429, "retryAfter": 0}
    aimock.script(
        {"match": {"inputText": "one", "sequenceIndex": 0}, "response": busy},
        {"match": {"inputText": "two"}, "response": busy},
    )

    assert len(embed(embedder(aimock), "one")) == 1
    with pytest.raises(RateLimitError, match="slow down"):
        embed(embedder(aimock), "two")
    assert aimock.statuses == [429, 200, 429, 429]


def test_an_answer_in_the_older_format_of_ollama_is_an_error(aimock: Aimock) -> None:
    with pytest.raises(MalformedResponseError, match="without the array 'embeddings'"):
        embed(OllamaEmbeddings(model="m", base_url=aimock.url), "one")
