from __future__ import annotations

import json
from base64 import b64encode
from struct import pack

import pytest
from hypothesis import given
from hypothesis import strategies as st

from rxagent.errors import MalformedResponseError
from rxagent.wire import OpenAIEmbeddingsDialect


def answer(*items: object) -> bytes:
    return json.dumps({"object": "list", "data": items}).encode()


def item(index: object, embedding: object) -> dict[str, object]:
    return {"object": "embedding", "index": index, "embedding": embedding}


def test_a_request_holds_model_texts_and_format() -> None:
    dialect = OpenAIEmbeddingsDialect(
        dimensions=256, encoding_format="base64", extra={"user": "u"}
    )

    assert json.loads(OpenAIEmbeddingsDialect().encode(("a", "b"), model="m")) == {
        "model": "m",
        "input": ["a", "b"],
        "encoding_format": "float",
    }
    assert json.loads(dialect.encode(["a"], model="m")) == {
        "model": "m",
        "input": ["a"],
        "encoding_format": "base64",
        "dimensions": 256,
        "user": "u",
    }


@given(order=st.permutations(range(5)))
def test_the_index_tells_whose_a_vector_is(order: list[int]) -> None:
    body = answer(*(item(index, [float(index)]) for index in order))

    found = OpenAIEmbeddingsDialect().decode(body, count=5)

    assert found == ((0.0,), (1.0,), (2.0,), (3.0,), (4.0,))


def test_without_an_index_the_place_tells() -> None:
    body = answer({"embedding": [0.0]}, {"embedding": [1.0]})

    assert OpenAIEmbeddingsDialect().decode(body, count=2) == ((0.0,), (1.0,))


@given(
    vectors=st.lists(
        st.tuples(*[st.floats(width=32, allow_nan=False, allow_infinity=False)] * 3),
        min_size=1,
        max_size=4,
    )
)
def test_base64_is_read_as_floats_of_four_bytes(
    vectors: list[tuple[float, ...]],
) -> None:
    written = [b64encode(pack("<3f", *vector)).decode() for vector in vectors]
    dialect = OpenAIEmbeddingsDialect(encoding_format="base64")

    found = dialect.decode(
        answer(*(item(index, text) for index, text in enumerate(written))),
        count=len(vectors),
    )

    assert found == tuple(vectors)


def test_a_server_may_choose_the_other_format() -> None:
    dialect = OpenAIEmbeddingsDialect(encoding_format="base64")

    assert dialect.decode(answer(item(0, [0.5])), count=1) == ((0.5,),)


@pytest.mark.parametrize(
    ("items", "problem"),
    [
        ([5], "item 0 that is no object"),
        ([item(0, [1.0]), item(0, [1.0])], "two embeddings with index 0"),
        ([item(2, [1.0]), item(0, [1.0])], "index 2 among 2 embeddings"),
        ([item(-1, [1.0]), item(0, [1.0])], "index -1 among 2 embeddings"),
        ([item("0", [1.0]), item(1, [1.0])], "index '0' among 2 embeddings"),
        ([item(0, "%%"), item(1, [1.0])], "embedding 0 as text that is no base64"),
        ([item(0, "ü"), item(1, [1.0])], "embedding 0 as text that is no base64"),
        ([item(0, "AAAA"), item(1, [1.0])], "embedding 0 as 3 bytes"),
        ([item(0, ""), item(1, [1.0])], "embedding 0 that is no array of numbers"),
        ([item(0, "AADAfw=="), item(1, [1.0])], "embedding 0 with numbers that are"),
    ],
)
def test_what_is_no_list_of_embeddings_is_said_to_be_none(
    items: list[object], problem: str
) -> None:
    with pytest.raises(MalformedResponseError, match=problem):
        OpenAIEmbeddingsDialect().decode(answer(*items), count=2)
