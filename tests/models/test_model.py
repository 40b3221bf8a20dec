from __future__ import annotations

from contextlib import suppress
from pathlib import Path

import pytest

import rxagent
from rxagent import Agent
from rxagent.errors import ConfigurationError, ModelError
from rxagent.models import PROVIDERS, VENDORS, LocalChat, OpenAIChat, model
from rxagent.patience import RetryPolicy
from tests.servers import ChatServer, streamed


@pytest.fixture(autouse=True)
def no_environment(monkeypatch: pytest.MonkeyPatch) -> None:
    for provider in PROVIDERS.values():
        for variable in (*provider.key_variables, provider.base_url_variable):
            monkeypatch.delenv(variable, raising=False)


@pytest.mark.parametrize("kind", VENDORS)
def test_a_name_is_a_provider_and_its_own_name_of_a_model(kind: str) -> None:
    with ChatServer(streamed("ok")) as server:
        named = model(f"{kind}:a/b:free", base_url=server.base_url, api_key="secret")
        assert Agent(named).call("hi").run().text == "ok"

    assert server.asked[0].body["model"] == "a/b:free"


@pytest.mark.parametrize("kind", PROVIDERS)
def test_key_and_address_are_found_where_the_provider_says(
    kind: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    provider = PROVIDERS[kind]
    with ChatServer(streamed("ok")) as server:
        monkeypatch.setenv(provider.base_url_variable, server.base_url)
        monkeypatch.setenv(provider.key_variables[0], "very-secret")
        with suppress(ModelError):  # the answer is OpenAI's, whoever was asked
            once = RetryPolicy(max_retries=0)
            Agent(model(f"{kind}:m", retry=once)).call("hi").run()

    assert "very-secret" in " ".join(server.asked[0].headers.values())


def test_the_root_has_it_too_when_it_is_asked_for() -> None:
    assert rxagent.model is model


def test_openai_at_another_address_is_any_server() -> None:
    with ChatServer(streamed("ok")) as server:
        named = model("openai:m", base_url=server.base_url)
        assert isinstance(named, OpenAIChat)
        Agent(named).call("hi").run()

    assert "authorization" not in server.asked[0].headers


@pytest.mark.parametrize(
    ("name", "words"),
    [
        ("gorq:llama", ["no provider 'gorq'", "did you mean 'groq'?", "vllm", "local"]),
        ("Mistral:m", ["no provider 'Mistral'", "did you mean 'mistral'?"]),
        ("nobody:m", ["no provider 'nobody'", "there are: ", "openrouter"]),
        ("gpt-9", ["'gpt-9' names no provider; write PROVIDER:NAME"]),
        ("", ["'' names no provider"]),
        ("groq", ["which model? write groq:NAME"]),
        ("groq:", ["which model? write groq:NAME"]),
        ("groq:llama", ["Groq needs a key", "set GROQ_API_KEY or pass api_key"]),
        ("azure:mine", ["set AZURE_OPENAI_ENDPOINT or pass base_url"]),
        ("local:/no/such.gguf", ["/no/such.gguf does not exist"]),
    ],
)
def test_a_name_that_leads_nowhere_says_what_to_do(name: str, words: list[str]) -> None:
    with pytest.raises(ConfigurationError) as at:
        model(name)
    for each in words:
        assert each in str(at.value)


@pytest.mark.parametrize("name", ["nobody:m", "nope:m"])
def test_nothing_is_suggested_that_is_not_near(name: str) -> None:
    with pytest.raises(ConfigurationError) as at:
        model(name)
    assert "did you mean" not in str(at.value)


def test_a_model_of_this_machine_has_no_server() -> None:
    with pytest.raises(ConfigurationError, match="'local' runs on this machine"):
        model("local", base_url="http://x")
    with pytest.raises(ConfigurationError, match="'local' runs on this machine"):
        model("local", api_key="secret")


def test_local_is_a_file_or_the_bundled_model(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("HOME", str(tmp_path))
    (tmp_path / "mine.gguf").write_bytes(b"GGUF")

    assert repr(model("local:~/mine.gguf")) == "LocalChat('mine')"
    assert isinstance(model("local"), LocalChat)
