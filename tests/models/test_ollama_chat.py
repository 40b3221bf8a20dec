from __future__ import annotations

import pytest
from reactivex import operators as ops

from rxagent import Agent, tool
from rxagent.errors import (
    AuthenticationError,
    BadRequestError,
    ConfigurationError,
    ContextLengthError,
    ModelConnectionError,
    ModelError,
    ModelNotFoundError,
    OverloadedError,
    ProviderStreamError,
    RequestError,
    ServerError,
)
from rxagent.events import ChatEvent, Finished, ReasoningDelta, TextDelta
from rxagent.messages import UserMessage
from rxagent.models import OllamaChat
from rxagent.models._ollama_http import ollama_url
from rxagent.operators import just
from rxagent.patience import RetryPolicy, Timeouts
from rxagent.requests import ChatOptions, ChatRequest, Origin
from rxagent.runtime import Flow
from rxagent.wire import OllamaDialect
from tests.ollama_answers import (
    broken_off,
    called,
    failed,
    refused,
    said,
    still,
    thought,
)
from tests.servers import ChatServer

REQUEST = ChatRequest(
    messages=(UserMessage.of("hi"),), origin=Origin(run_id="r", path=("a",))
)
WHOLE = ChatRequest(messages=REQUEST.messages, options=ChatOptions(stream=False))
KEY = "a-very-secret-key"


@pytest.fixture(autouse=True)
def no_settings_of_this_machine(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("OLLAMA_HOST", raising=False)
    monkeypatch.delenv("OLLAMA_API_KEY", raising=False)


def model_of(server: ChatServer) -> OllamaChat:
    return OllamaChat(
        model="m",
        base_url=server.url,
        timeouts=Timeouts(gap_s=5.0),
        retry=RetryPolicy(max_retries=0),
    )


def ask(model: OllamaChat, request: ChatRequest = REQUEST) -> list[ChatEvent]:
    return list(Flow[ChatEvent].of(just(request).pipe(model)))


def test_an_answer_streams_as_deltas_and_its_end() -> None:
    with ChatServer(thought("hm", text="Hello")) as server:
        events = ask(model_of(server))

    assert events[:-1] == [ReasoningDelta(text="hm"), TextDelta(text="Hello")]
    end = events[-1]
    assert isinstance(end, Finished)
    assert (end.response.text, end.response.reasoning) == ("Hello", "hm")
    assert end.response.finish_reason == "stop"
    assert end.response.usage.total_tokens == 29
    assert end.response.usage.sure
    assert {event.origin for event in events} == {REQUEST.origin}


@pytest.mark.parametrize(
    "answer",
    [said("Hel", "lo"), thought("a", "b", text="c"), said(done_reason="length")],
)
def test_a_request_that_does_not_stream_differs_only_on_the_wire(
    answer: object,
) -> None:
    """Law 3."""
    with ChatServer(answer) as server:  # type: ignore[arg-type]
        in_pieces, at_once = ask(model_of(server)), ask(model_of(server), WHOLE)

    assert at_once[-1] == in_pieces[-1]
    assert [asked.body["stream"] for asked in server.asked] == [True, False]


def test_the_request_goes_to_the_own_endpoint_of_ollama() -> None:
    with ChatServer(said("ok")) as server:
        ask(model_of(server))

    [asked] = server.asked
    assert asked.path == "/api/chat"
    assert asked.body["model"] == "m"
    assert asked.body["messages"] == [{"role": "user", "content": "hi"}]
    assert "authorization" not in asked.headers


@pytest.mark.parametrize("ids", [True, False])
def test_an_agent_with_tools_over_real_http(ids: bool) -> None:
    @tool
    def weather(city: str) -> str:
        """Tell the weather."""
        return f"22 degrees in {city}"

    calls = (("weather", {"city": "Oslo"}), ("weather", {"city": "Rome"}))
    with ChatServer(called(*calls, ids=ids), said("Both 22.")) as server:
        response = Agent(model_of(server), tools=[weather]).call("weather?").run()

    assert response.text == "Both 22."
    assert response.usage.requests == 2
    sent = server.asked[1].body["messages"]
    assert isinstance(sent, list)
    assert [message["role"] for message in sent] == [
        "user",
        "assistant",
        "tool",
        "tool",
    ]
    assert [message["content"] for message in sent[2:]] == [
        "22 degrees in Oslo",
        "22 degrees in Rome",
    ]
    ids_of_calls = [call["id"] for call in sent[1]["tool_calls"]]
    assert [message["tool_call_id"] for message in sent[2:]] == ids_of_calls
    assert len(set(ids_of_calls)) == 2


def test_a_key_is_sent_where_there_is_one(monkeypatch: pytest.MonkeyPatch) -> None:
    with ChatServer(said("ok")) as server:
        ask(OllamaChat(model="m", base_url=server.url, api_key=KEY))
        monkeypatch.setenv("OLLAMA_API_KEY", "of-the-environment")
        monkeypatch.setenv("OLLAMA_HOST", server.url.removeprefix("http://"))
        ask(OllamaChat(model="m"))

    keys = [asked.headers["authorization"] for asked in server.asked]
    assert keys == [f"Bearer {KEY}", "Bearer of-the-environment"]


def test_the_key_is_shown_nowhere() -> None:
    with ChatServer(refused(401, "no")) as server:
        model = OllamaChat(model="m", base_url=server.url, api_key=KEY)
        with pytest.raises(AuthenticationError, match="ollama signin") as at:
            ask(model)

    assert KEY not in repr(model) + repr(vars(at.value)) + str(at.value)
    assert repr(model) == f"OllamaChat(model='m', base_url={server.url!r})"


@pytest.mark.parametrize("base_url", ["ollama.com", "https://ollama.com"])
def test_the_cloud_needs_a_key(base_url: str) -> None:
    with pytest.raises(ConfigurationError, match="set OLLAMA_API_KEY"):
        OllamaChat(model="m", base_url=base_url)

    model = OllamaChat(model="m", base_url=base_url, api_key=KEY)
    assert "'https://ollama.com'" in repr(model)


@pytest.mark.parametrize("base_url", ["ftp://host", "host:port"])
def test_an_address_that_is_none_is_refused_when_built(base_url: str) -> None:
    with pytest.raises(ConfigurationError, match="base_url"):
        OllamaChat(model="m", base_url=base_url)


def test_a_model_needs_a_name() -> None:
    with pytest.raises(ConfigurationError, match="the name of a model"):
        OllamaChat(model="")


@pytest.mark.parametrize(
    ("host", "url"),
    [
        ("", "http://127.0.0.1:11434"),
        ("1.2.3.4", "http://1.2.3.4:11434"),
        (":1234", "http://127.0.0.1:1234"),
        ("1.2.3.4:1234", "http://1.2.3.4:1234"),
        ("example.com", "http://example.com:11434"),
        ("example.com:1234", "http://example.com:1234"),
        ("example.com/", "http://example.com:11434/"),
        ("example.com:1234/path", "http://example.com:1234/path"),
        ("[::1]", "http://[::1]:11434"),
        ("::1", "http://[::1]:11434"),
        ("[::1]:1337", "http://[::1]:1337"),
        ("https://[fe80::1]/x", "https://[fe80::1]/x"),
        ("0.0.0.0", "http://127.0.0.1:11434"),
        ("0.0.0.0:1234", "http://127.0.0.1:1234"),
        ("[::]", "http://[::1]:11434"),
        ("::", "http://[::1]:11434"),
        ("https://0.0.0.0:4321", "https://127.0.0.1:4321"),
        ("http://1.2.3.4", "http://1.2.3.4"),
        ("https://1.2.3.4", "https://1.2.3.4"),
        ("https://example.com:4321/ollama", "https://example.com:4321/ollama"),
        ("http://me:pass@host:1", "http://me:pass@host:1"),
        ("me:pass@host", "http://me:pass@host:11434"),
        (' " 1.2.3.4 " ', "http://1.2.3.4:11434"),
        ("'1.2.3.4'", "http://1.2.3.4:11434"),
        ("ollama.com", "https://ollama.com"),
    ],
)
def test_an_address_may_leave_out_what_ollama_lets_it_leave_out(
    host: str, url: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert ollama_url(host) == url
    monkeypatch.setenv("OLLAMA_HOST", host)
    assert ollama_url(None) == url


@pytest.mark.parametrize(
    ("status", "message", "kind", "hint"),
    [
        (400, '"m" does not support tools', BadRequestError, "does not support tools"),
        (
            400,
            "the input length exceeds the context length",
            ContextLengthError,
            "short",
        ),
        (
            400,
            "the prompt is longer than the context length currently available",
            ContextLengthError,
            "shorten",
        ),
        (401, "unauthorized", AuthenticationError, "OLLAMA_API_KEY"),
        (404, "model 'm' not found", ModelNotFoundError, "'ollama pull'"),
        (500, "the runner crashed", ServerError, "the runner crashed"),
        (503, "server busy, please try again", OverloadedError, "busy"),
    ],
)
@pytest.mark.parametrize("request_", [REQUEST, WHOLE], ids=["streamed", "whole"])
def test_an_error_is_typed_and_says_what_to_do(
    status: int,
    message: str,
    kind: type[ModelError],
    hint: str,
    request_: ChatRequest,
) -> None:
    with ChatServer(refused(status, message)) as server, pytest.raises(kind) as at:
        ask(model_of(server), request_)

    assert type(at.value) is kind
    assert message in str(at.value)
    assert hint in str(at.value)
    assert (at.value.status, at.value.provider) == (status, "ollama")
    assert not at.value.delivered


def test_an_error_within_the_stream_comes_after_what_was_good() -> None:
    with ChatServer(broken_off("Yes", message="out of memory")) as server:
        seen: list[ChatEvent] = []
        source = just(REQUEST).pipe(model_of(server), ops.do_action(seen.append))
        with pytest.raises(ProviderStreamError, match="out of memory") as at:
            Flow[ChatEvent].of(source).run()

    assert seen == [TextDelta(text="Yes")]
    assert at.value.delivered


def test_a_lost_connection_is_an_error_and_no_short_answer() -> None:
    with ChatServer(failed("Yes")) as server, pytest.raises(ModelConnectionError):
        ask(model_of(server))


def test_a_server_that_is_busy_is_asked_again() -> None:
    patient = RetryPolicy(base_s=0.001)
    with ChatServer(refused(503, "server busy"), said("ok")) as server:
        model = OllamaChat(model="m", base_url=server.url, retry=patient)
        assert ask(model)[0] == TextDelta(text="ok")

    assert len(server.asked) == 2


def test_leaving_closes_the_connection() -> None:
    """Law 5."""
    with ChatServer(still("one")) as server:
        source = just(REQUEST).pipe(model_of(server), ops.take(1))
        assert Flow[ChatEvent].of(source).run() == TextDelta(text="one")
        assert server.hung_up.wait(5)


def test_building_and_piping_ask_nothing() -> None:
    """Law 2."""
    with ChatServer(said("ok")) as server:
        source = just(REQUEST).pipe(model_of(server))
        assert server.asked == []
        answers = [list(Flow[ChatEvent].of(source)) for _ in range(2)]

    assert answers[0] == answers[1]
    assert len(server.asked) == 2


def test_what_cannot_be_said_is_an_error_of_the_stream() -> None:
    request = ChatRequest(
        messages=REQUEST.messages, options=ChatOptions(tool_choice="required")
    )
    with ChatServer(said("ok")) as server, pytest.raises(RequestError):
        ask(model_of(server), request)

    assert server.asked == []


def test_the_dialect_names_the_provider() -> None:
    with ChatServer(refused(500, "no")) as server:
        model = OllamaChat(
            model="m",
            base_url=server.url,
            dialect=OllamaDialect(name="garage"),
            retry=RetryPolicy(max_retries=0),
        )
        with pytest.raises(ServerError, match=r"^garage answered 500"):
            ask(model)
