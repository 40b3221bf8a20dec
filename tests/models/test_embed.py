"""What every embedder does alike; the laws are in ``tests/test_laws.py``."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping
from typing import Any, TypeAlias

import httpx
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from rxagent.errors import (
    ConfigurationError,
    MalformedResponseError,
    ModelConnectionError,
    ModelTimeoutError,
    RateLimitError,
    RequestError,
)
from rxagent.models import GeminiEmbeddings, OllamaEmbeddings, OpenAIEmbeddings
from rxagent.patience import RetryPolicy, Timeouts
from rxagent.runtime import Flow
from tests.embedders import EMBEDDERS, vector_of
from tests.servers import Answer, Asked, ChatServer, cut_off, error, never

Vectors: TypeAlias = tuple[tuple[float, ...], ...]

CLASSES: Mapping[str, type[Any]] = {
    "GeminiEmbeddings": GeminiEmbeddings,
    "OllamaEmbeddings": OllamaEmbeddings,
    "OpenAIEmbeddings": OpenAIEmbeddings,
}
VARIABLES = (
    "GEMINI_API_KEY",
    "GOOGLE_API_KEY",
    "GOOGLE_GEMINI_BASE_URL",
    "OLLAMA_API_KEY",
    "OLLAMA_HOST",
    "OPENAI_API_KEY",
    "OPENAI_BASE_URL",
)

by_name = pytest.mark.parametrize("name", EMBEDDERS)


@pytest.fixture(autouse=True)
def no_settings_of_this_machine(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in VARIABLES:
        monkeypatch.delenv(name, raising=False)


@by_name
def test_what_is_no_text_is_never_sent(name: str) -> None:
    embedder = CLASSES[name](model="m", base_url="http://localhost:9", api_key="k")
    with pytest.raises(RequestError, match="text 1 is no str but NoneType"):
        embedder(["a", None])


@by_name
@settings(max_examples=10)
@given(count=st.integers(1, 9), batch_size=st.integers(1, 9), width=st.integers(1, 4))
def test_texts_go_in_batches_and_come_back_whole(
    name: str, count: int, batch_size: int, width: int
) -> None:
    case = EMBEDDERS[name]
    texts = [chr(ord("a") + number) * number for number in range(1, count + 1)]
    with ChatServer(case.answer(vector_of)) as server:
        embed = case.make(server, batch_size=batch_size, max_concurrency=width)
        vectors = Flow[Vectors].of(embed(texts)).run()

    assert vectors == tuple(tuple(vector_of(text)) for text in texts)
    batches = sorted(map(case.texts, server.asked))
    assert [text for batch in batches for text in batch] == texts
    assert all(len(batch) <= batch_size for batch in batches)
    assert len(batches) == -(-count // batch_size)


@pytest.mark.parametrize("width", [1, 3])
def test_no_more_requests_run_at_once_than_are_allowed(width: int) -> None:
    running, most = 0, 0

    async def handle(request: httpx.Request) -> httpx.Response:
        nonlocal running, most
        running += 1
        most = max(most, running)
        for _ in range(5):
            await asyncio.sleep(0)
        running -= 1
        return httpx.Response(200, json={"embeddings": [[1.0]]})

    async def scenario() -> Vectors:
        transport = httpx.MockTransport(handle)
        async with httpx.AsyncClient(transport=transport) as client:
            embed = OllamaEmbeddings(
                model="m",
                base_url="http://test",
                batch_size=1,
                max_concurrency=width,
                client=client,
            )
            return await Flow[Vectors].of(embed(list("abcdefg")))

    assert asyncio.run(scenario()) == ((1.0,),) * 7
    assert most == width


@by_name
def test_the_first_error_ends_it_and_is_typed(name: str) -> None:
    case = EMBEDDERS[name]
    slow_down = error(429, "slow down", headers={"retry-after": "7"})
    with ChatServer(case.answer(vector_of), slow_down) as server:
        embed = case.make(server, batch_size=1)
        with pytest.raises(RateLimitError, match="slow down") as at:
            Flow[Vectors].of(embed(["a", "b", "c"])).run()

    assert (at.value.retry_after_s, at.value.retryable) == (7, True)
    assert not at.value.delivered
    assert len(server.asked) == 2


@by_name
def test_a_connection_that_is_lost_is_an_error(name: str) -> None:
    with ChatServer(cut_off("x")) as server, pytest.raises(ModelConnectionError):
        Flow[Vectors].of(EMBEDDERS[name].make(server)(["a"])).run()


@by_name
@pytest.mark.parametrize("clock", ["first_s", "gap_s", "turn_s"])
def test_a_silent_server_runs_out_of_time(name: str, clock: str) -> None:
    with ChatServer(never()) as server:
        embed = EMBEDDERS[name].make(server, timeouts=Timeouts(**{clock: 0.05}))
        with pytest.raises(ModelTimeoutError) as at:
            Flow[Vectors].of(embed(["a"])).run()

    assert f"{at.value.clock}_s" == clock


@by_name
def test_a_request_that_fails_is_sent_again_and_no_other(name: str) -> None:
    case = EMBEDDERS[name]
    answer = case.answer(vector_of)
    with ChatServer(answer, error(503, "busy"), answer) as server:
        embed = case.make(server, batch_size=1, retry=RetryPolicy(base_s=0.001))
        vectors = Flow[Vectors].of(embed(["a", "b", "c"])).run()

    assert vectors == tuple(tuple(vector_of(text)) for text in "abc")
    assert [case.texts(asked) for asked in server.asked] == [["a"], ["b"], ["b"], ["c"]]


@by_name
def test_batches_with_different_lengths_are_malformed(name: str) -> None:
    case = EMBEDDERS[name]

    def answer(asked: Asked) -> Answer:
        return case.answer(lambda text: [1.0] * len(text))(asked)

    with ChatServer(answer) as server:
        embed = case.make(server, batch_size=1)
        with pytest.raises(MalformedResponseError, match="of 1 and of 3 dimensions"):
            Flow[Vectors].of(embed(["a", "bbb"])).run()


@by_name
def test_one_text_is_no_list_of_texts(name: str) -> None:
    with ChatServer(never()) as server:
        embed = EMBEDDERS[name].make(server)
        with pytest.raises(RequestError, match="a list of texts, not one text"):
            embed("abc")


@by_name
@pytest.mark.parametrize("option", ["batch_size", "max_concurrency", "dimensions"])
def test_a_number_below_one_is_refused_when_built(name: str, option: str) -> None:
    settings: dict[str, Any] = {"model": "m", "base_url": "http://h", option: 0}

    with pytest.raises(ConfigurationError, match=f"{option} must be 1 or more, got 0"):
        CLASSES[name](**settings)


@by_name
def test_an_embedder_needs_the_name_of_a_model(name: str) -> None:
    with pytest.raises(ConfigurationError, match="the name of a model"):
        CLASSES[name](model="", base_url="http://h")


@by_name
def test_what_is_shown_holds_no_key(name: str) -> None:
    embed = CLASSES[name](model="m", base_url="http://h:1", api_key="very-secret")

    shown = {"GeminiEmbeddings": "models/m"}.get(name, "m")
    assert repr(embed) == f"{name}(model={shown!r}, base_url='http://h:1')"
