from __future__ import annotations

import pytest

from rxagent.errors import ConfigurationError
from rxagent.models import OpenAIEmbeddings
from rxagent.runtime import Flow
from tests.embedders import EMBEDDERS, vector_of
from tests.servers import ChatServer

ANSWER = EMBEDDERS["OpenAIEmbeddings"].answer(vector_of)


def test_key_and_address_come_from_the_environment(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    with ChatServer(ANSWER) as server:
        monkeypatch.setenv("OPENAI_BASE_URL", server.base_url)
        monkeypatch.setenv("OPENAI_API_KEY", "k")
        embed = OpenAIEmbeddings(model="m", dimensions=3, extra={"user": "u"})
        Flow[object].of(embed(["a"])).run()

    [asked] = server.asked
    assert asked.path == "/v1/embeddings"
    assert asked.headers["authorization"] == "Bearer k"
    assert asked.body == {
        "model": "m",
        "input": ["a"],
        "encoding_format": "float",
        "dimensions": 3,
        "user": "u",
    }


def test_openai_needs_a_key_and_a_server_of_ones_own_none(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.delenv("OPENAI_API_KEY", raising=False)
    monkeypatch.delenv("OPENAI_BASE_URL", raising=False)

    with pytest.raises(ConfigurationError, match="set OPENAI_API_KEY or pass api_key"):
        OpenAIEmbeddings(model="m")
    with ChatServer(ANSWER) as server:
        Flow[object].of(
            OpenAIEmbeddings(model="m", base_url=server.base_url)(["a"])
        ).run()
    assert "authorization" not in server.asked[0].headers
