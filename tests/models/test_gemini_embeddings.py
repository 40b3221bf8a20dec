from __future__ import annotations

import pytest

from rxagent.errors import ConfigurationError
from rxagent.models import GeminiEmbeddings
from rxagent.runtime import Flow
from tests.embedders import EMBEDDERS, vector_of
from tests.servers import ChatServer

ANSWER = EMBEDDERS["GeminiEmbeddings"].answer(vector_of)


@pytest.mark.parametrize(
    "model", ["gemini-embedding-001", "models/gemini-embedding-001"]
)
def test_key_and_address_come_from_the_environment(
    model: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    with ChatServer(ANSWER) as server:
        monkeypatch.setenv("GOOGLE_GEMINI_BASE_URL", server.url)
        monkeypatch.delenv("GOOGLE_API_KEY", raising=False)
        monkeypatch.setenv("GEMINI_API_KEY", "k")
        embed = GeminiEmbeddings(
            model=model, dimensions=3, extra={"taskType": "RETRIEVAL_QUERY"}
        )
        Flow[object].of(embed(["a"])).run()

    [asked] = server.asked
    assert asked.path == "/v1beta/models/gemini-embedding-001:batchEmbedContents"
    assert asked.headers["x-goog-api-key"] == "k"
    assert asked.body == {
        "requests": [
            {
                "model": "models/gemini-embedding-001",
                "outputDimensionality": 3,
                "content": {"parts": [{"text": "a"}]},
                "taskType": "RETRIEVAL_QUERY",
            }
        ]
    }


def test_google_needs_a_key_and_a_server_of_ones_own_none(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    for name in ("GOOGLE_API_KEY", "GEMINI_API_KEY", "GOOGLE_GEMINI_BASE_URL"):
        monkeypatch.delenv(name, raising=False)

    with pytest.raises(ConfigurationError, match="set GEMINI_API_KEY or pass api_key"):
        GeminiEmbeddings(model="m")
    with ChatServer(ANSWER) as server:
        Flow[object].of(GeminiEmbeddings(model="m", base_url=server.url)(["a"])).run()
    assert "x-goog-api-key" not in server.asked[0].headers
