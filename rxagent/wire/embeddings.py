"""What the dialects of embeddings share: bodies to send, vectors to read."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from math import inf, isfinite
from typing import TypeAlias, cast

from pydantic_core import from_json

from rxagent.errors import (
    EmptyStreamError,
    MalformedResponseError,
    ModelError,
    RequestError,
    TruncatedStreamError,
)
from rxagent.wire.json_text import dump_json, is_array, is_object, load_json
from rxagent.wire.provider_errors import error_of_payload

__all__ = ["Vector", "answer_of", "checked_vectors", "encoded_body", "malformed"]

Vector: TypeAlias = tuple[float, ...]
"""The embedding of one text."""

_EXCERPT = 80  # characters
_NUMBERS: set[type] = {int, float}


def encoded_body(body: Mapping[str, object]) -> bytes:
    """Return ``body`` as JSON.

    Raises:
        RequestError: If a member that the caller added is not JSON.
    """
    try:
        return dump_json(dict(body))
    except (ValueError, TypeError) as error:
        raise RequestError(f"extra is not JSON: {error}") from None


def answer_of(body: bytes, *, provider: str, member: str) -> list[object]:
    """Return the array that a successful answer holds.

    Args:
        body: All of it.
        provider: Named in errors.
        member: The name of the array.

    Raises:
        ModelError: If the body reports an error, or is not what it should be.
    """
    text = body.decode("utf-8-sig", "replace")
    if not text.strip():
        raise EmptyStreamError(f"{provider} answered with nothing", provider=provider)
    try:
        payload = load_json(text)
    except ValueError:
        raise _no_json(text, provider) from None
    if is_object(payload):
        if payload.get("error"):
            raise error_of_payload(provider, payload)
        if is_array(found := payload.get(member)):
            return found
    raise malformed(provider, f"an answer without the array {member!r}")


def checked_vectors(
    rows: Sequence[object], *, provider: str, count: int, dimensions: int | None
) -> tuple[Vector, ...]:
    """Return vectors that fit what was asked.

    Args:
        rows: One array of numbers for each text, in the order of the texts.
        provider: Named in errors.
        count: How many texts there were.
        dimensions: Length that was asked for, if one was.

    Raises:
        MalformedResponseError: If there are more or fewer, they are no vectors of
            finite numbers, or their lengths differ.
    """
    if len(rows) != count:
        raise malformed(provider, f"{len(rows)} embeddings for {count} texts")
    vectors = tuple(
        _vector(row, number, provider=provider) for number, row in enumerate(rows)
    )
    for number, vector in enumerate(vectors):
        expected = dimensions or len(vectors[0])
        if len(vector) != expected:
            raise malformed(
                provider,
                f"embedding {number} with {len(vector)} dimensions, not {expected}",
            )
    return vectors


def malformed(provider: str, what: str) -> MalformedResponseError:
    """Make the error of an answer that is not what it should be.

    Args:
        provider: Whose answer it is.
        what: It sent, as the rest of a sentence.
    """
    return MalformedResponseError(
        f"{provider} sent {what}", provider=provider, status=200
    )


def _no_json(text: str, provider: str) -> ModelError:
    try:
        from_json(text)
    except ValueError as error:
        if str(error).startswith("EOF"):  # it is good as far as it goes
            return TruncatedStreamError(
                f"the answer of {provider} is cut off within its JSON",
                provider=provider,
            )
    excerpt = text if len(text) <= _EXCERPT else f"{text[:_EXCERPT]}…"
    return malformed(provider, f"what is no JSON: {excerpt!r}; check base_url")


def _vector(row: object, number: int, *, provider: str) -> Vector:
    if not (is_array(row) and row and set(map(type, row)) <= _NUMBERS):
        raise malformed(provider, f"embedding {number} that is no array of numbers")
    try:
        vector = tuple(map(float, cast("list[float]", row)))
    except OverflowError:
        vector = (inf,)
    if not all(map(isfinite, vector)):
        raise malformed(
            provider, f"embedding {number} with numbers that are not finite"
        )
    return vector
