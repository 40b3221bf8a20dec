"""Whatever a user gets wrong, or a server, is a typed error that helps."""

from __future__ import annotations

import inspect
import socket
from collections.abc import Callable
from dataclasses import replace

import pytest

from rxagent.agent import Agent, Prompt
from rxagent.errors import (
    AuthenticationError,
    ConfigurationError,
    EmptyStreamError,
    MalformedResponseError,
    ModelConnectionError,
    ModelError,
    ModelNotFoundError,
    ModelTimeoutError,
    RateLimitError,
    RequestError,
    ServerError,
    TruncatedStreamError,
)
from rxagent.events import ChatEvent, TextDelta
from rxagent.messages import UserMessage
from rxagent.models import OpenAIChat
from rxagent.patience import RetryPolicy, Timeouts
from rxagent.testing import ScriptedModel
from rxagent.tools import tool
from tests.servers import (
    Answer,
    ChatServer,
    cut_off,
    error,
    html,
    never,
)

KEY = "sk-secret-of-the-user"


@pytest.fixture(autouse=True)
def no_provider(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("OPENAI_API_KEY", raising=False)
    monkeypatch.delenv("OPENAI_BASE_URL", raising=False)


def agent_of(base_url: str, *, gap_s: float = 30.0) -> Agent:
    model = OpenAIChat(
        model="test-model",
        base_url=base_url,
        api_key=KEY,
        timeouts=Timeouts(gap_s=gap_s),
        retry=RetryPolicy(max_retries=0),
    )
    return Agent(model)


def failure_of(answer: Answer) -> ModelError:
    """The error of a stream, and of a call, which is the same."""
    with ChatServer(answer) as server:
        agent = agent_of(server.base_url)
        with pytest.raises(ModelError) as streamed_:
            list(agent.stream("hi"))
        with pytest.raises(ModelError) as called_:
            agent.call("hi").run()
    assert type(streamed_.value) is type(called_.value)
    assert str(streamed_.value) == str(called_.value)
    return streamed_.value


def test_no_key_says_where_to_put_one_and_how_to_do_without() -> None:
    with pytest.raises(ConfigurationError, match=r"OPENAI_API_KEY.*base_url"):
        OpenAIChat(model="gpt")


@pytest.mark.parametrize("url", ["localhost:8080/v1", "/v1", "ftp://host", "http://"])
def test_an_address_that_is_none_is_refused_at_once(url: str) -> None:
    with pytest.raises(ConfigurationError, match=r"base_url.*https?://"):
        OpenAIChat(model="m", base_url=url)


def test_a_wrong_address_asks_whether_it_is_right() -> None:
    with ChatServer(never()) as server:
        gone = server.base_url
    with pytest.raises(ModelConnectionError, match=r"base_url.*server run") as failure:
        agent_of(gone).call("hi").run()
    assert gone in str(failure.value)
    assert failure.value.retryable


@pytest.mark.parametrize(
    ("answer", "kind", "says"),
    [
        pytest.param(
            error(401, "Incorrect API key provided", code="invalid_api_key"),
            AuthenticationError,
            "check the API key",
            id="401",
        ),
        pytest.param(
            error(404, "The model does not exist", code="model_not_found"),
            ModelNotFoundError,
            "check the model's name",
            id="404-model",
        ),
        pytest.param(
            html(404, "<html><h1>Not Found</h1></html>"),
            ModelNotFoundError,
            "base_url",
            id="404-address",
        ),
        pytest.param(
            error(429, "slow down", headers={"retry-after": "7"}),
            RateLimitError,
            "slow down",
            id="429",
        ),
        pytest.param(
            html(502, "<html><head><title>Bad Gateway</title></head></html>"),
            ServerError,
            "502 Bad Gateway",
            id="502-html",
        ),
        pytest.param(
            html(200, "<html>Sign in to the network of this hotel</html>"),
            MalformedResponseError,
            "check base_url",
            id="200-html",
        ),
        pytest.param(
            Answer(headers={"content-type": "text/event-stream"}),
            EmptyStreamError,
            "then nothing",
            id="empty",
        ),
        pytest.param(
            cut_off("Hel"), ModelConnectionError, "was lost", id="connection-lost"
        ),
        pytest.param(
            replace(cut_off("Hel"), then="end"),
            TruncatedStreamError,
            "cut off",
            id="cut-but-ended",
        ),
    ],
)
def test_each_bad_answer_has_its_type_and_a_sentence(
    answer: Answer, kind: type[ModelError], says: str
) -> None:
    failure = failure_of(answer)
    assert type(failure) is kind
    assert says in str(failure)
    assert "<html" not in str(failure)
    assert KEY not in f"{failure!s}{failure!r}{vars(failure)}"


def test_a_rate_limit_says_when_to_come_back() -> None:
    failure = failure_of(error(429, "slow down", headers={"retry-after": "7"}))
    assert (failure.retry_after_s, failure.retryable) == (7.0, True)


@pytest.mark.parametrize("deltas", [(), ("Hel",)], ids=["from-the-start", "half-way"])
def test_a_server_that_never_answers_is_a_timeout_that_names_its_option(
    deltas: tuple[str, ...],
) -> None:
    seen: list[ChatEvent] = []
    with ChatServer(never(*deltas)) as server:
        agent = agent_of(server.base_url, gap_s=0.1)
        with pytest.raises(ModelTimeoutError, match="raise gap_s") as failure:
            seen.extend(agent.stream("hi"))
        assert server.hung_up.wait(30)
    assert (failure.value.clock, failure.value.limit_s) == ("gap", 0.1)
    assert failure.value.delivered == bool(deltas)


def test_what_came_before_the_cut_was_delivered() -> None:
    seen: list[ChatEvent] = []
    with ChatServer(cut_off("Hel", "lo")) as server:
        flow = agent_of(server.base_url).stream("hi")
        with pytest.raises(ModelConnectionError) as failure:
            seen.extend(flow)
    assert seen == [TextDelta(text="Hel"), TextDelta(text="lo")]
    assert failure.value.delivered


@pytest.mark.parametrize(
    "prompt",
    ["", " \n", (), UserMessage.of(), [UserMessage.of(" ")]],
    ids=["empty", "blank", "no-messages", "no-parts", "blank-part"],
)
def test_an_empty_prompt_is_refused_before_anything_is_sent(prompt: Prompt) -> None:
    model = ScriptedModel("never asked")
    with pytest.raises(RequestError, match="prompt is empty"):
        Agent(model).stream(prompt)
    assert model.requests == []


def words(*all_: str) -> str:
    """Star parameters."""
    return " ".join(all_)


def options(**all_: str) -> str:
    """Double star parameters."""
    return str(all_)


def positional(text: str, /) -> str:
    """A positional-only parameter."""
    return text


def bare(text) -> str:  # type: ignore[no-untyped-def]
    """A parameter without an annotation."""
    return str(text)


def of_sockets(connection: socket.socket) -> str:
    """A type that JSON cannot express."""
    return str(connection)


@pytest.mark.parametrize(
    "function", [words, options, positional, bare, of_sockets], ids=lambda f: f.__name__
)
def test_a_signature_that_no_schema_can_tell_is_refused_with_both_names(
    function: Callable[..., str],
) -> None:
    (parameter,) = inspect.signature(function).parameters
    with pytest.raises(ConfigurationError) as failure:
        tool(function)
    assert repr(function.__name__) in str(failure.value)
    assert parameter in str(failure.value)


def test_two_tools_of_one_name_are_refused_with_their_places() -> None:
    @tool(name="look")
    def one() -> str:
        """Look here."""
        return ""

    @tool(name="look")
    def other() -> str:
        """Look there."""
        return ""

    with pytest.raises(ConfigurationError, match=r"'look'.*one.*other"):
        Agent(ScriptedModel(), tools=[one, other])
    with pytest.raises(ConfigurationError, match=r"'look'.*one.*other"):
        Agent(ScriptedModel(), tools=[one]).stream("hi", tools=[other])
