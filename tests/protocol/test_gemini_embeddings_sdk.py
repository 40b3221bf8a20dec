"""Google's own SDK as the judge of GeminiEmbeddings."""

from __future__ import annotations

from typing import TypeAlias

from google import genai
from google.genai import types

from rxagent.models import GeminiEmbeddings
from rxagent.runtime import Flow
from tests.embedders import EMBEDDERS, vector_of
from tests.servers import ChatServer

Vectors: TypeAlias = tuple[tuple[float, ...], ...]

MODEL, TEXTS = "gemini-embedding-001", ["one", "two", "Zoë 🚀"]


def test_the_sdk_sends_and_reads_the_same() -> None:
    with ChatServer(EMBEDDERS["GeminiEmbeddings"].answer(vector_of)) as server:
        options = types.HttpOptions(base_url=server.url, api_version="v1beta")
        with genai.Client(api_key="k", http_options=options) as sdk:
            by_sdk = sdk.models.embed_content(
                model=MODEL,
                contents=list(TEXTS),
                config=types.EmbedContentConfig(
                    output_dimensionality=3, task_type="RETRIEVAL_QUERY"
                ),
            )
        embed = GeminiEmbeddings(
            model=MODEL,
            base_url=server.url,
            api_key="k",
            dimensions=3,
            extra={"taskType": "RETRIEVAL_QUERY"},
        )
        by_us = Flow[Vectors].of(embed(TEXTS)).run()

    theirs, ours = server.asked
    assert (ours.path, ours.headers["x-goog-api-key"]) == (theirs.path, "k")
    requests = theirs.body["requests"]
    assert isinstance(requests, list)
    for each in requests:
        del each["content"]["role"]  # whose words they are means nothing here
    assert ours.body == theirs.body
    assert by_us == tuple(tuple(each.values or ()) for each in by_sdk.embeddings or ())
