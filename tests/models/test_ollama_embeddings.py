from __future__ import annotations

import pytest

from rxagent.errors import ModelNotFoundError
from rxagent.models import OllamaEmbeddings
from rxagent.runtime import Flow
from tests.embedders import vector_of
from tests.ollama_answers import embedded, refused
from tests.servers import ChatServer


def test_key_and_address_come_from_the_environment(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    with ChatServer(embedded(vector_of)) as server:
        monkeypatch.setenv("OLLAMA_HOST", server.url.removeprefix("http://"))
        monkeypatch.setenv("OLLAMA_API_KEY", "k")
        embed = OllamaEmbeddings(model="m", dimensions=3, extra={"truncate": False})
        Flow[object].of(embed(["a"])).run()

    [asked] = server.asked
    assert asked.path == "/api/embed"
    assert asked.headers["authorization"] == "Bearer k"
    assert asked.body == {
        "model": "m",
        "input": ["a"],
        "dimensions": 3,
        "truncate": False,
    }


def test_a_model_that_is_not_there_can_be_pulled() -> None:
    answer = refused(404, "model 'm' not found, try pulling it first")
    with ChatServer(answer) as server:
        embed = OllamaEmbeddings(model="m", base_url=server.url)
        with pytest.raises(ModelNotFoundError, match="'ollama pull'"):
            Flow[object].of(embed(["a"])).run()
