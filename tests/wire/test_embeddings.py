"""What holds for the embeddings of every dialect."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from datetime import UTC, datetime
from typing import Any, TypeAlias

import pytest
from hypothesis import given
from hypothesis import strategies as st

from rxagent.errors import (
    EmptyStreamError,
    MalformedResponseError,
    ModelError,
    ModelNotFoundError,
    OverloadedError,
    ProviderStreamError,
    RateLimitError,
    RequestError,
    TruncatedStreamError,
)
from rxagent.wire import (
    GeminiEmbeddingsDialect,
    OllamaEmbeddingsDialect,
    OpenAIEmbeddingsDialect,
)

Dialect: TypeAlias = (
    GeminiEmbeddingsDialect | OllamaEmbeddingsDialect | OpenAIEmbeddingsDialect
)

DIALECTS: Mapping[str, Callable[..., Dialect]] = {
    "gemini": GeminiEmbeddingsDialect,
    "ollama": OllamaEmbeddingsDialect,
    "openai": OpenAIEmbeddingsDialect,
}
NOW = datetime(2026, 1, 1, tzinfo=UTC)
FLOATS = st.floats(allow_nan=False, allow_infinity=False) | st.integers(-9, 9)

by_dialect = pytest.mark.parametrize("name", DIALECTS)


def answer(name: str, vectors: list[Any]) -> bytes:
    """As the vendor sends them."""
    body: dict[str, object] = {"embeddings": vectors}
    if name == "openai":
        body = {"data": [{"index": n, "embedding": v} for n, v in enumerate(vectors)]}
    elif name == "gemini":
        body = {"embeddings": [{"values": vector} for vector in vectors]}
    return json.dumps(body).encode()


def decode(
    name: str, body: bytes, *, count: int, **settings: Any
) -> tuple[tuple[float, ...], ...]:
    return DIALECTS[name](**settings).decode(body, count=count)


@by_dialect
def test_a_body_that_is_empty_or_cut_may_be_asked_for_again(name: str) -> None:
    whole = answer(name, [[1.0]])
    for body in (b"", b" \n"):
        with pytest.raises(EmptyStreamError) as empty:
            decode(name, body, count=1)
        assert empty.value.retryable
    for end in range(1, len(whole)):
        with pytest.raises(TruncatedStreamError) as cut:
            decode(name, whole[:end], count=1)
        assert cut.value.retryable


@by_dialect
@given(vectors=st.lists(st.tuples(FLOATS, FLOATS, FLOATS), min_size=1, max_size=5))
def test_vectors_come_back_as_floats_in_their_order(
    name: str, vectors: list[tuple[float, ...]]
) -> None:
    found = decode(name, answer(name, vectors), count=len(vectors))

    assert found == tuple(vectors)
    assert all(type(number) is float for vector in found for number in vector)


@by_dialect
@pytest.mark.parametrize(
    ("vectors", "count", "problem"),
    [
        ([[1.0]], 2, "1 embeddings for 2 texts"),
        ([[1.0], [2.0]], 1, "2 embeddings for 1 texts"),
        ([], 1, "0 embeddings for 1 texts"),
        ([[1.0, 2.0], [3.0]], 2, "embedding 1 with 1 dimensions, not 2"),
        ([[1.0], []], 2, "embedding 1 that is no array of numbers"),
        ([[1.0], None], 2, "embedding 1 that is no array of numbers"),
        ([[1.0, "2"]], 1, "embedding 0 that is no array of numbers"),
        ([[True]], 1, "embedding 0 that is no array of numbers"),
        ([[float("nan")]], 1, "embedding 0 with numbers that are not finite"),
        ([[float("inf")]], 1, "embedding 0 with numbers that are not finite"),
        ([[10**400]], 1, "embedding 0 with numbers that are not finite"),
    ],
)
def test_what_does_not_fit_the_texts_is_named_in_numbers(
    name: str, vectors: list[Any], count: int, problem: str
) -> None:
    with pytest.raises(MalformedResponseError, match=problem):
        decode(name, answer(name, vectors), count=count)


@by_dialect
def test_a_server_that_ignores_dimensions_is_found_out(name: str) -> None:
    with pytest.raises(MalformedResponseError, match="with 3 dimensions, not 2"):
        decode(name, answer(name, [[1, 2, 3]]), count=1, dimensions=2)


@by_dialect
@pytest.mark.parametrize(
    ("body", "problem"),
    [
        (b"<html>" + b"x" * 100, "no JSON: '<html>x+…'; check base_url"),
        (b"[]", "without the array"),
        (b"{}", "without the array"),
        (b'{"data": {}, "embeddings": 5}', "without the array"),
    ],
)
def test_what_is_no_answer_is_said_to_be_none(
    name: str, body: bytes, problem: str
) -> None:
    with pytest.raises(MalformedResponseError, match=problem):
        decode(name, body, count=1)


@by_dialect
def test_an_error_within_a_success_is_an_error(name: str) -> None:
    with pytest.raises(ProviderStreamError, match="no luck"):
        decode(name, b'{"error": "no luck"}', count=1)
    with pytest.raises(RateLimitError):
        decode(name, b'{"error": {"message": "slow down", "code": 429}}', count=1)


@by_dialect
@pytest.mark.parametrize(
    ("status", "kind"),
    [(404, ModelNotFoundError), (429, RateLimitError), (503, OverloadedError)],
)
def test_an_error_response_is_typed(
    name: str, status: int, kind: type[ModelError]
) -> None:
    error = DIALECTS[name]().error(
        status, {"retry-after": "7"}, b'{"error": "no"}', now=NOW
    )

    assert type(error) is kind
    assert (error.provider, error.status, error.retry_after_s) == (name, status, 7)


@by_dialect
def test_what_is_added_to_a_request_must_be_json(name: str) -> None:
    with pytest.raises(RequestError, match="extra is not JSON"):
        DIALECTS[name](extra={"x": object()}).encode(["a"], model="m")


@by_dialect
@given(text=st.text())
def test_every_text_can_be_sent(name: str, text: str) -> None:
    body = DIALECTS[name]().encode([text], model="m")

    assert json.dumps(text) in json.dumps(json.loads(body))


@by_dialect
@given(body=st.binary(max_size=60))
def test_any_bytes_end_in_a_typed_error(name: str, body: bytes) -> None:
    with pytest.raises(ModelError):
        decode(name, body, count=1)
