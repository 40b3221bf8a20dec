from __future__ import annotations

import json
from dataclasses import replace

import pytest

from rxagent import Agent, ChatOptions, tool
from rxagent.errors import ConfigurationError, ModelError, RequestError
from rxagent.events import ChatEvent, Finished, ReasoningDelta, TextDelta
from rxagent.messages import Reasoning, UserMessage
from rxagent.models import VENDORS, OpenAIChat, Vendor
from rxagent.operators import just
from rxagent.requests import ChatRequest
from rxagent.runtime import Flow
from tests.servers import Answer, ChatServer, called, error, streamed

KEY = "sk-test-very-secret"
SSE = {"content-type": "text/event-stream"}

by_vendor = pytest.mark.parametrize("vendor", VENDORS.values(), ids=list(VENDORS))


@pytest.fixture(autouse=True)
def no_environment(monkeypatch: pytest.MonkeyPatch) -> None:
    for vendor in VENDORS.values():
        for variable in (*vendor.key_variables, vendor.base_url_variable):
            monkeypatch.delenv(variable, raising=False)


@tool
def weather(city: str) -> str:
    """Tell the weather."""
    return f"22 degrees in {city}"


def chat(vendor: Vendor, server: ChatServer) -> OpenAIChat:
    return OpenAIChat(model="m", vendor=vendor, base_url=server.base_url, api_key=KEY)


def sent(server: ChatServer, number: int = 0) -> list[dict[str, object]]:
    found: list[dict[str, object]] = json.loads(
        json.dumps(server.asked[number].body["messages"])
    )
    return found


@by_vendor
def test_a_vendor_answers_and_calls_tools(vendor: Vendor) -> None:
    with ChatServer(called("weather", city="Oslo"), streamed("22.")) as server:
        answer = Agent(chat(vendor, server), tools=[weather]).call("weather?").run()

    assert answer.text == "22."
    assert answer.usage.total_tokens == 24
    assert [each["role"] for each in sent(server, 1)] == ["user", "assistant", "tool"]


@by_vendor
def test_what_a_vendor_is_asked_has_its_path_its_key_and_its_words(
    vendor: Vendor,
) -> None:
    with ChatServer(streamed("ok")) as server:
        model = chat(vendor, server)
        options = ChatOptions(max_tokens=7, temperature=0.5)
        Agent(model, options=options).call("hi").run()

    [asked] = server.asked
    assert asked.path == "/v1/chat/completions"
    [(name, text)] = vendor.headers.items()
    assert asked.headers[name] == text.replace("{key}", KEY)
    names = vendor.dialect.names
    assert asked.body[names.get("max_tokens", "max_tokens")] == 7
    assert asked.body["temperature"] == 0.5
    assert ("stream_options" in asked.body) == vendor.dialect.asks_for_usage


@by_vendor
def test_the_key_of_a_vendor_is_in_no_repr_and_in_no_error(vendor: Vendor) -> None:
    with ChatServer(error(401, f"wrong key {KEY}")) as server:
        model = chat(vendor, server)
        with pytest.raises(ModelError) as at:
            Agent(model).call("hi").run()

    assert at.value.provider == vendor.dialect.name
    assert KEY not in repr(model) + str(at.value) + repr(at.value.__dict__)


@by_vendor
def test_a_vendor_that_needs_a_key_says_where_it_looked(
    vendor: Vendor, monkeypatch: pytest.MonkeyPatch
) -> None:
    if not vendor.base_url:
        monkeypatch.setenv(vendor.base_url_variable, "https://mine.example")
    if not vendor.needs_key:
        assert vendor.base_url in repr(OpenAIChat(model="m", vendor=vendor))
        return
    with pytest.raises(ConfigurationError) as at:
        OpenAIChat(model="m", vendor=vendor)
    for words in (vendor.title, vendor.key_variables[0], vendor.base_url_variable):
        assert words in str(at.value)

    monkeypatch.setenv(vendor.key_variables[0], KEY)
    assert vendor.base_url in repr(OpenAIChat(model="m", vendor=vendor))


@by_vendor
@pytest.mark.parametrize("slash", ["", "/"])
def test_the_address_in_the_environment_may_end_where_the_vendors_client_wants_it(
    vendor: Vendor, slash: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    for told in ("http://[::1]:1", f"http://[::1]:1{vendor.base_url_path}"):
        monkeypatch.setenv(vendor.base_url_variable, told + slash)
        model = OpenAIChat(model="m", vendor=vendor, api_key=KEY)
        assert f"'http://[::1]:1{vendor.base_url_path}'" in repr(model)


def test_a_key_is_not_asked_for_by_a_server_in_the_vendors_place() -> None:
    with ChatServer(streamed("ok")) as server:
        model = OpenAIChat(model="m", vendor=VENDORS["groq"], base_url=server.base_url)
        Agent(model).call("hi").run()

    assert "authorization" not in server.asked[0].headers


def test_azure_is_where_the_customer_says() -> None:
    with pytest.raises(ConfigurationError, match="set AZURE_OPENAI_ENDPOINT or pass"):
        OpenAIChat(model="deployment", vendor=VENDORS["azure"], api_key=KEY)


def test_the_older_azure_has_the_deployment_in_its_address_and_a_dated_version() -> (
    None
):
    dated = replace(VENDORS["azure"], path="/chat/completions?api-version=2024-10-21")
    with ChatServer(streamed("ok")) as server:
        base_url = server.base_url.replace("/v1", "/openai/deployments/mine")
        model = OpenAIChat(model="mine", vendor=dated, base_url=base_url, api_key=KEY)
        Agent(model).call("hi").run()

    [asked] = server.asked
    path = "/openai/deployments/mine/chat/completions?api-version=2024-10-21"
    assert (asked.path, asked.headers["api-key"]) == (path, KEY)
    assert "authorization" not in asked.headers


def test_openai_itself_is_told_the_limit_that_its_reasoning_models_take(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    assert VENDORS["openai"].dialect.names == {"max_tokens": "max_completion_tokens"}
    with ChatServer(streamed("ok")) as server:
        monkeypatch.setenv("OPENAI_BASE_URL", server.base_url)
        options = ChatOptions(max_tokens=7)
        Agent(OpenAIChat(model="m"), options=options).call("hi").run()

    assert server.asked[0].body["max_tokens"] == 7, "whose server that is, nobody knows"


def test_a_dialect_of_ones_own_stands_in_place_of_the_vendors() -> None:
    vendor = VENDORS["deepseek"]
    lenient = replace(vendor.dialect, refused=frozenset[str]())
    with ChatServer(streamed("ok")) as server:
        model = OpenAIChat(
            model="m",
            vendor=vendor,
            dialect=lenient,
            base_url=server.base_url,
            api_key=KEY,
        )
        Agent(model, options=ChatOptions(seed=1)).call("hi").run()
        with pytest.raises(RequestError, match="deepseek does not take 'seed'"):
            Agent(chat(vendor, server), options=ChatOptions(seed=1)).call("hi").run()

    assert [asked.body["seed"] for asked in server.asked] == [1]


def reasoned(member: str) -> Answer:
    """A tool call after a thought, in the member where some vendor has it."""
    call = {"index": 0, "id": "c", "function": {"name": "weather", "arguments": "{}"}}
    deltas = [{member: "Let me look."}, {"tool_calls": [call]}]
    chunks = [{"choices": [{"index": 0, "delta": each}]} for each in deltas]
    end = {"choices": [{"index": 0, "delta": {}, "finish_reason": "tool_calls"}]}
    pieces = (f"data: {json.dumps(each)}\n\n".encode() for each in [*chunks, end])
    return Answer(headers=SSE, pieces=(*pieces, b"data: [DONE]\n\n"))


@by_vendor
@pytest.mark.parametrize("member", ["reasoning", "reasoning_content"])
def test_what_was_thought_before_a_call_goes_back_as_the_vendor_wants_it(
    vendor: Vendor, member: str
) -> None:
    """loop-reasoning-goes-back."""

    @tool(name="weather")
    def here() -> str:
        """Tell the weather."""
        return "22"

    with ChatServer(reasoned(member), streamed("22.")) as server:
        answer = Agent(chat(vendor, server), tools=[here]).call("weather?").run()

    thought = answer.transcript[0].content[0]
    assert thought == Reasoning(text="Let me look.")
    back = sent(server, 1)[1]
    told = {
        "never": {},
        "thinking": {
            "content": [
                {
                    "type": "thinking",
                    "thinking": [{"type": "text", "text": "Let me look."}],
                }
            ]
        },
    }
    dialect = vendor.dialect
    how = "never" if dialect.send_reasoning == "never" else dialect.reasoning_member
    expected = told.get(how, {how: "Let me look."})
    held = {"reasoning", "reasoning_content"} & back.keys()
    assert held == {"reasoning", "reasoning_content"} & expected.keys()
    assert {name: back[name] for name in expected} == expected


def test_groq_thinks_between_tags_where_it_is_not_asked_otherwise() -> None:
    with ChatServer(streamed("<think>hm", "</think>Yes.")) as server:
        request = ChatRequest(messages=(UserMessage.of("?"),))
        model = chat(VENDORS["groq"], server)
        events = list(Flow[ChatEvent].of(just(request).pipe(model)))

    assert events[:-1] == [ReasoningDelta(text="hm"), TextDelta(text="Yes.")]
    assert isinstance(events[-1], Finished)


def test_mistral_gets_its_own_seed_and_ids_that_it_takes() -> None:
    with ChatServer(called("weather", city="Oslo"), streamed("22.")) as server:
        agent = Agent(
            chat(VENDORS["mistral"], server),
            tools=[weather],
            options=ChatOptions(seed=3),
        )
        agent.call("weather?").run()

    second = server.asked[1].body
    assert (second["random_seed"], second.get("seed")) == (3, None)
    [call] = json.loads(json.dumps(sent(server, 1)[1]["tool_calls"]))
    assert call["id"] == sent(server, 1)[2]["tool_call_id"]
    assert len(call["id"]) == 9
    assert call["id"].isalnum()


def test_names_are_what_stands_before_a_colon() -> None:
    for name, vendor in VENDORS.items():
        assert name == vendor.dialect.name
        assert name.isalnum()
        assert name.islower()
