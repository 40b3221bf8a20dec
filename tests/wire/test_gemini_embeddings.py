from __future__ import annotations

import json

import pytest

from rxagent.errors import MalformedResponseError
from rxagent.wire import GeminiEmbeddingsDialect


def test_a_request_holds_one_of_its_own_for_each_text() -> None:
    dialect = GeminiEmbeddingsDialect(
        dimensions=256, extra={"taskType": "RETRIEVAL_QUERY"}
    )

    assert json.loads(GeminiEmbeddingsDialect().encode(["a"], model="models/m")) == {
        "requests": [{"model": "models/m", "content": {"parts": [{"text": "a"}]}}]
    }
    assert json.loads(dialect.encode(("a", "b"), model="models/m")) == {
        "requests": [
            {
                "model": "models/m",
                "outputDimensionality": 256,
                "content": {"parts": [{"text": text}]},
                "taskType": "RETRIEVAL_QUERY",
            }
            for text in ("a", "b")
        ]
    }


@pytest.mark.parametrize("embedding", [5, [1.0], {"value": [1.0]}])
def test_an_embedding_is_an_object_with_values(embedding: object) -> None:
    body = json.dumps({"embeddings": [embedding]}).encode()

    with pytest.raises(MalformedResponseError, match="embedding 0 that is no array"):
        GeminiEmbeddingsDialect().decode(body, count=1)
