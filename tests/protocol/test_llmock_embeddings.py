"""OpenAIEmbeddings against llmock and under the eyes of the official SDK."""

from __future__ import annotations

from typing import Literal, TypeAlias

import openai
import pytest
from llmock.pytest_plugin import LLMock
from llmock.simulation import build_mock_embedding

from rxagent.models import OpenAIEmbeddings
from rxagent.runtime import Flow
from tests.embedders import EMBEDDERS, vector_of
from tests.servers import ChatServer

Vectors: TypeAlias = tuple[tuple[float, ...], ...]

TEXTS = ["", "one", "two", "Zoë 🚀", "one"]


def embed(embedder: OpenAIEmbeddings, texts: list[str]) -> Vectors:
    return Flow[Vectors].of(embedder(texts)).run()


@pytest.mark.parametrize("width", [1, 4])
@pytest.mark.parametrize("batch_size", [1, 2, 100])
def test_each_text_gets_its_own_vector(
    llmock: LLMock, batch_size: int, width: int
) -> None:
    embedder = OpenAIEmbeddings(
        model="text-embedding-3-small",
        base_url=llmock.base_url("openai"),
        api_key="k",
        batch_size=batch_size,
        max_concurrency=width,
    )

    assert embed(embedder, TEXTS) == tuple(
        tuple(build_mock_embedding(text)) for text in TEXTS
    )


@pytest.mark.parametrize("encoding_format", ["float", "base64"])
def test_the_sdk_sends_and_reads_the_same(
    encoding_format: Literal["float", "base64"],
) -> None:
    with ChatServer(EMBEDDERS["OpenAIEmbeddings"].answer(vector_of)) as server:
        with openai.OpenAI(base_url=server.base_url, api_key="k") as sdk:
            by_sdk = sdk.embeddings.create(
                model="m",
                input=TEXTS,
                encoding_format=encoding_format,
                dimensions=3,
                user="u",
            )
        embedder = OpenAIEmbeddings(
            model="m",
            base_url=server.base_url,
            api_key="k",
            encoding_format=encoding_format,
            dimensions=3,
            extra={"user": "u"},
        )
        by_us = embed(embedder, TEXTS)

    theirs, ours = server.asked
    assert (ours.path, ours.body) == (theirs.path, theirs.body)
    assert by_us == tuple(tuple(vector_of(text)) for text in TEXTS)
    if encoding_format == "float":  # else it leaves the text to its caller
        data = sorted(by_sdk.data, key=lambda each: each.index)
        assert by_us == tuple(tuple(each.embedding) for each in data)
