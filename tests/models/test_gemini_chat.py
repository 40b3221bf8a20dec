from __future__ import annotations

import json
from collections.abc import Mapping

import pytest
from reactivex import operators as ops

from rxagent import Agent, tool
from rxagent.errors import (
    AuthenticationError,
    ConfigurationError,
    ModelConnectionError,
    ModelError,
    RateLimitError,
    RequestError,
    TruncatedStreamError,
)
from rxagent.events import ChatEvent, Finished, TextDelta
from rxagent.messages import Opaque, UserMessage
from rxagent.models import GeminiChat
from rxagent.operators import just
from rxagent.patience import RetryPolicy, Timeouts
from rxagent.requests import ChatOptions, ChatRequest, Origin
from rxagent.runtime import Flow
from rxagent.wire import GeminiDialect
from tests.servers import Answer, ChatServer

REQUEST = ChatRequest(
    messages=(UserMessage.of("hi"),), origin=Origin(run_id="r", path=("a",))
)
KEY = "AIza-test-very-secret-0123456789"
VARIABLES = ("GEMINI_API_KEY", "GOOGLE_API_KEY", "GOOGLE_GEMINI_BASE_URL")

Json = Mapping[str, object]


@pytest.fixture(autouse=True)
def no_variables(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in VARIABLES:
        monkeypatch.delenv(name, raising=False)


def chunk(*parts: Json, finish: str | None = None) -> Json:
    candidate: dict[str, object] = {"content": {"role": "model", "parts": parts}}
    if finish:
        candidate["finishReason"] = finish
    usage = {"promptTokenCount": 9, "candidatesTokenCount": 3, "totalTokenCount": 12}
    return {"candidates": [candidate], "usageMetadata": usage, "modelVersion": "g"}


def streamed(*chunks: Json, finish: str | None = "STOP", cut: bool = False) -> Answer:
    events = [*chunks, chunk({"text": ""}, finish=finish)] if finish else [*chunks]
    return Answer(
        headers={"content-type": "text/event-stream"},
        pieces=tuple(
            b"data: %b\r\n\r\n" % json.dumps(each).encode() for each in events
        ),
        then="cut" if cut else "end",
    )


def said(*texts: str) -> Answer:
    return streamed(*(chunk({"text": text}) for text in texts))


def whole(*parts: Json) -> Answer:
    body = json.dumps(chunk(*parts, finish="STOP")).encode()
    return Answer(headers={"content-type": "application/json"}, pieces=(body,))


def error(status: int, word: str, message: str, *details: Json) -> Answer:
    body = {
        "error": {
            "code": status,
            "message": message,
            "status": word,
            "details": details,
        }
    }
    return Answer(status=status, pieces=(json.dumps(body).encode(),))


def url_of(server: ChatServer) -> str:
    return server.base_url.removesuffix("/v1")


def model_of(server: ChatServer, *, model: str = "gemini-3-flash") -> GeminiChat:
    return GeminiChat(
        model=model,
        base_url=url_of(server),
        api_key=KEY,
        timeouts=Timeouts(gap_s=5.0),
        retry=RetryPolicy(max_retries=0),
    )


def ask(model: GeminiChat, request: ChatRequest = REQUEST) -> list[ChatEvent]:
    return list(Flow[ChatEvent].of(just(request).pipe(model)))


def test_an_answer_streams_as_deltas_and_its_end() -> None:
    with ChatServer(said("Hel", "lo")) as server:
        events = ask(model_of(server))

    assert events[:-1] == [TextDelta(text="Hel"), TextDelta(text="lo")]
    end = events[-1]
    assert isinstance(end, Finished)
    assert end.response.text == "Hello"
    assert end.response.finish_reason == "stop"
    assert end.response.usage.total_tokens == 12
    assert end.response.transcript == (end.response.message,)
    assert {event.origin for event in events} == {REQUEST.origin}


def test_a_request_that_does_not_stream_differs_only_in_its_address() -> None:
    """Law 3, S001-95."""
    plain = ChatRequest(messages=REQUEST.messages, options=ChatOptions(stream=False))
    with ChatServer(said("Hello"), whole({"text": "Hello"})) as server:
        in_pieces, at_once = ask(model_of(server)), ask(model_of(server), plain)

    assert at_once == in_pieces
    first, second = server.asked
    assert first.body == second.body
    assert first.path == "/v1beta/models/gemini-3-flash:streamGenerateContent?alt=sse"
    assert second.path == "/v1beta/models/gemini-3-flash:generateContent"


@pytest.mark.parametrize(
    ("model", "path"),
    [
        ("models/big", "/v1beta/models/big:generateContent"),
        ("tunedModels/mine", "/v1beta/tunedModels/mine:generateContent"),
        ("a b?key=1#c", "/v1beta/models/a%20b%3Fkey%3D1%23c:generateContent"),
    ],
)
def test_a_name_of_a_model_is_a_part_of_the_address(model: str, path: str) -> None:
    options = ChatOptions(model=model, stream=False)
    with ChatServer(whole({"text": "ok"})) as server:
        ask(model_of(server), ChatRequest(messages=REQUEST.messages, options=options))

    assert server.asked[0].path == path


@pytest.mark.parametrize(
    "name", ["../x", "models/../../x", "a?b#c", "tunedModels/../x"]
)
def test_no_name_of_a_model_leads_elsewhere(name: str) -> None:
    with ChatServer(said("x")) as server:
        ask(model_of(server, model=name))

        path = server.asked[0].path
    assert path.startswith(("/v1beta/models/", "/v1beta/tunedModels/"))
    assert path.count("/") == 3
    assert path.endswith(":streamGenerateContent?alt=sse")


def test_a_name_of_a_model_that_is_no_text_is_refused() -> None:
    with (
        ChatServer(said("x")) as server,
        pytest.raises(RequestError, match="no text"),
    ):
        ask(model_of(server, model="\ud800"))


def test_the_key_is_in_a_header_and_not_in_the_address() -> None:
    with ChatServer(said("ok")) as server:
        ask(model_of(server))

    [asked] = server.asked
    assert asked.headers["x-goog-api-key"] == KEY
    assert KEY not in asked.path
    assert "authorization" not in asked.headers
    assert asked.body == {"contents": [{"role": "user", "parts": [{"text": "hi"}]}]}


def test_key_and_address_come_from_the_environment(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    with ChatServer(said("ok")) as server:
        monkeypatch.setenv("GOOGLE_GEMINI_BASE_URL", url_of(server))
        monkeypatch.setenv("GOOGLE_API_KEY", "second")
        ask(GeminiChat(model="m"))
        monkeypatch.setenv("GEMINI_API_KEY", "first")
        ask(GeminiChat(model="m"))

    keys = [asked.headers["x-goog-api-key"] for asked in server.asked]
    assert keys == ["second", "first"]


def test_a_missing_key_is_refused_when_built() -> None:
    with pytest.raises(ConfigurationError, match="set GEMINI_API_KEY or pass api_key"):
        GeminiChat(model="m")


def test_a_missing_model_is_refused_when_built() -> None:
    with pytest.raises(ConfigurationError, match="the name of a model"):
        GeminiChat(model="", api_key=KEY)


def test_a_server_of_ones_own_needs_no_key() -> None:
    with ChatServer(said("ok")) as server:
        ask(GeminiChat(model="m", base_url=url_of(server)))

    assert "x-goog-api-key" not in server.asked[0].headers


def test_the_key_is_in_no_repr_and_in_no_error() -> None:
    bad = error(
        400,
        "INVALID_ARGUMENT",
        f"API key not valid: {KEY}",
        {"reason": "API_KEY_INVALID"},
    )
    with ChatServer(bad) as server:
        model = model_of(server)
        with pytest.raises(AuthenticationError) as at:
            ask(model)

    assert KEY not in repr(model)
    assert KEY not in str(at.value)
    assert KEY not in repr(at.value.__dict__)
    assert repr(model).startswith("GeminiChat(model='gemini-3-flash', base_url='http")


def test_an_agent_with_tools_over_real_http() -> None:
    """M-46: signatures and ids go back where they came from."""
    ran: list[str] = []

    @tool
    def weather(city: str) -> str:
        """Tell the weather."""
        ran.append(city)
        return f"22 degrees in {city}"

    oslo = {"functionCall": {"name": "weather", "args": {"city": "Oslo"}}}
    bern = {"functionCall": {"name": "weather", "args": {"city": "Bern"}, "id": "b"}}
    signed = {**oslo, "thoughtSignature": "S=="}
    last = {"text": "It is 22.", "thoughtSignature": "T=="}
    with ChatServer(
        streamed(chunk(signed), chunk(bern)), streamed(chunk(last)), said("Bye.")
    ) as server:
        agent = Agent(model_of(server), tools=[weather])
        first = agent.call("weather?").run()
        agent.call([UserMessage.of("weather?"), *first.transcript, bye]).run()

    assert sorted(ran) == ["Bern", "Oslo"]
    assert first.text == "It is 22."
    assert first.usage.requests == 2
    asked, model, results = contents_of(server, 1)
    assert asked == {"role": "user", "parts": [{"text": "weather?"}]}
    assert model == {"role": "model", "parts": [signed, bern]}
    assert results == {
        "role": "user",
        "parts": [
            {
                "functionResponse": {
                    "name": "weather",
                    "response": {"output": "22 degrees in Oslo"},
                }
            },
            {
                "functionResponse": {
                    "id": "b",
                    "name": "weather",
                    "response": {"output": "22 degrees in Bern"},
                }
            },
        ],
    }
    assert contents_of(server, 2)[1:4] == [
        model,
        results,
        {"role": "model", "parts": [last]},
    ]


bye = UserMessage.of("bye")


def contents_of(server: ChatServer, number: int) -> list[object]:
    contents = server.asked[number].body["contents"]
    assert isinstance(contents, list)
    return contents


def test_a_lost_connection_is_an_error_that_says_what_was_delivered() -> None:
    lost = streamed(chunk({"text": "Hello wor"}), finish=None, cut=True)
    with ChatServer(lost) as server, pytest.raises(ModelError) as at:
        ask(model_of(server))

    assert isinstance(at.value, ModelConnectionError | TruncatedStreamError)
    assert at.value.delivered


def test_an_error_says_when_to_come_back() -> None:
    slow_down = error(429, "RESOURCE_EXHAUSTED", "quota", {"retryDelay": "7.5s"})
    with ChatServer(slow_down) as server, pytest.raises(RateLimitError) as at:
        ask(model_of(server))

    assert not at.value.delivered
    assert at.value.retry_after_s == 7.5
    assert at.value.retryable
    assert at.value.provider == "gemini"


def test_leaving_closes_the_connection() -> None:
    """Law 5."""
    one = streamed(chunk({"text": "one"}), finish=None)
    never = Answer(headers=one.headers, pieces=one.pieces, then="hang")
    with ChatServer(never) as server:
        source = just(REQUEST).pipe(model_of(server), ops.take(1))
        assert Flow[ChatEvent].of(source).run() == TextDelta(text="one")
        assert server.hung_up.wait(5)


def test_a_dialect_of_another_name_keeps_its_parts_under_it() -> None:
    dialect = GeminiDialect(name="vertex")
    signed = chunk({"text": "a", "thoughtSignature": "S"})
    with ChatServer(streamed(signed)) as server:
        model = GeminiChat(model="m", base_url=url_of(server), dialect=dialect)
        end = ask(model)[-1]

    assert isinstance(end, Finished)
    assert end.response.message.content[1] == Opaque(
        dialect="vertex", data='{"thoughtSignature":"S"}'
    )
