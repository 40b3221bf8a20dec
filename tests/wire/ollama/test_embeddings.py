from __future__ import annotations

import json
from datetime import UTC, datetime

from rxagent.errors import ContextLengthError
from rxagent.wire import OllamaEmbeddingsDialect


def test_a_request_holds_model_and_texts() -> None:
    dialect = OllamaEmbeddingsDialect(
        dimensions=256, extra={"truncate": False, "keep_alive": "10m"}
    )

    assert json.loads(OllamaEmbeddingsDialect().encode(("a", "b"), model="m")) == {
        "model": "m",
        "input": ["a", "b"],
    }
    assert json.loads(dialect.encode(["a"], model="m")) == {
        "model": "m",
        "input": ["a"],
        "dimensions": 256,
        "truncate": False,
        "keep_alive": "10m",
    }


def test_a_text_that_is_too_long_is_said_to_be() -> None:
    body = b'{"error": "the input length exceeds the context length"}'

    error = OllamaEmbeddingsDialect().error(400, {}, body, now=datetime.now(UTC))

    assert isinstance(error, ContextLengthError)
