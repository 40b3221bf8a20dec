"""How each model is told, through its own dialect."""

from __future__ import annotations

import json
from dataclasses import replace
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from pydantic import BaseModel, TypeAdapter

from rxagent.advisors import tool_loop
from rxagent.agent import Agent
from rxagent.chain import chain
from rxagent.entities.asking import asking_for
from rxagent.errors import NoAnswerError
from rxagent.events import ChatEvent, Finished, TextDelta, ToolCallDelta
from rxagent.messages import AssistantMessage, Text, ToolCall, UserMessage
from rxagent.models import (
    AnthropicChat,
    GeminiChat,
    OllamaChat,
    OpenAIChat,
    OpenAIResponses,
)
from rxagent.operators import just
from rxagent.output import output_type
from rxagent.requests import ChatOptions, ChatRequest, ToolSpec
from rxagent.responses import ChatResponse
from rxagent.testing import Reply, ScriptedModel, tool_call
from rxagent.tools import tool
from rxagent.types import AnswerMode, Exchange
from rxagent.wire import (
    AnthropicDialect,
    GeminiDialect,
    OllamaDialect,
    OpenAIChatDialect,
    OpenAIResponsesDialect,
)
from tests import messages_api
from tests.servers import ChatServer, streamed
from tests.wire.test_partial import JSON, pieces


class Film(BaseModel):
    title: str
    year: int


ALIEN = Film(title="Alien", year=1979)
FILM = TypeAdapter(Film).json_schema()
SEARCH = ToolSpec(name="search", description="Search.", parameters={"type": "object"})
TOOL = "give_answer"

ANTHROPIC = AnthropicChat(model="m", api_key="k")
GEMINI = GeminiChat(model="m", api_key="k")
OLLAMA = OllamaChat(model="m")
OPENAI = OpenAIChat(model="m", api_key="k")
RESPONSES = OpenAIResponses(model="m", api_key="k")
DEEPSEEK = OpenAIChat(
    model="m",
    base_url="http://localhost:1/v1",
    api_key="k",
    dialect=OpenAIChatDialect(refused=frozenset({"response_format"})),
)


def told(
    model: Exchange,
    kind: object = Film,
    *tools: ToolSpec,
    mode: AnswerMode | None = None,
    **options: Any,
) -> ChatRequest:
    """The request that comes to the model."""
    inner = ScriptedModel("{}")
    advisor = asking_for(output_type(kind), model=model, mode=mode)
    request = ChatRequest(
        messages=(UserMessage.of("a film"),),
        tools=tools,
        options=ChatOptions(**options),
    )
    just(request).pipe(chain([advisor], inner)).subscribe()
    return inner.requests[0]


def body(dialect: Any, request: ChatRequest) -> Any:
    return json.loads(dialect.encode(request, model="m", stream=True))


def test_openai_gets_a_schema_that_it_holds_the_answer_to() -> None:
    """S001-50: what is sent is not what validates."""
    dialect = OpenAIChatDialect(strict_schemas=True)
    sent = body(dialect, told(OPENAI))["response_format"]["json_schema"]
    assert sent["strict"] is True
    assert sent["schema"]["additionalProperties"] is False
    assert "additionalProperties" not in output_type(Film).schema


def test_openai_responses_gets_it_as_the_format_of_its_text() -> None:
    sent = body(OpenAIResponsesDialect(), told(RESPONSES))["text"]["format"]
    assert sent["schema"]["required"] == ["title", "year"]


def test_a_server_without_schemas_gets_a_tool() -> None:
    dialect = OpenAIChatDialect(refused=frozenset({"response_format"}))
    sent = body(dialect, told(DEEPSEEK))
    assert [each["function"]["name"] for each in sent["tools"]] == [TOOL]
    assert sent["tool_choice"]["function"]["name"] == TOOL


def test_anthropic_gets_its_option_or_a_tool_where_it_has_no_word() -> None:
    sent = body(AnthropicDialect(), told(ANTHROPIC))
    assert sent["output_config"]["format"]["schema"]["additionalProperties"] is False
    for kind in (dict[str, int], dict[str, object], {"type": "object"}):
        sent = body(AnthropicDialect(), told(ANTHROPIC, kind))
        assert "output_config" not in sent
        assert sent["tool_choice"]["name"] == TOOL


def test_gemini_gets_a_schema_alone_and_a_tool_beside_tools() -> None:
    """Many of its models refuse a schema beside tools."""
    alone = body(GeminiDialect(), told(GEMINI))
    assert alone["generationConfig"]["responseJsonSchema"] == FILM_SENT
    beside = body(GeminiDialect(), told(GEMINI, Film, SEARCH))
    assert "generationConfig" not in beside
    (tools,) = beside["tools"]
    names = [each["name"] for each in tools["functionDeclarations"]]
    assert names == ["search", TOOL]
    assert beside["toolConfig"]["functionCallingConfig"]["mode"] == "ANY"


FILM_SENT = output_type(Film).schema


def test_ollama_gets_a_schema_alone_and_words_beside_tools() -> None:
    """A schema keeps its models from calling."""
    assert body(OllamaDialect(), told(OLLAMA))["format"] == FILM_SENT
    beside = body(OllamaDialect(), told(OLLAMA, Film, SEARCH))
    assert "format" not in beside
    assert '"required":["title","year"]' in beside["messages"][0]["content"]


def test_ollama_gets_no_pattern_that_it_would_refuse() -> None:
    """It refuses one that is not anchored, as most are."""
    code = {"type": "string", "pattern": "[0-9]"}
    asked = {"type": "object", "properties": {"code": code}}
    sent = body(OllamaDialect(), told(OLLAMA, asked))["format"]
    assert sent["properties"]["code"]["description"] == '(pattern: "[0-9]")'
    assert "pattern" not in sent["properties"]["code"]


@pytest.mark.parametrize("mode", ["native", "tool", "prompt"])
def test_a_mode_of_the_call_wins(mode: AnswerMode) -> None:
    request = told(OLLAMA, Film, SEARCH, mode=mode)
    assert (request.options.response_schema is not None) == (mode == "native")
    assert (TOOL in [each.name for each in request.tools]) == (mode == "tool")
    assert (len(request.messages) == 2) == (mode == "prompt")


@pytest.mark.parametrize(
    ("tools", "choice", "sent"),
    [
        ((), None, TOOL),
        ((), "required", TOOL),
        ((SEARCH,), None, "required"),
        ((SEARCH,), "auto", "required"),
        ((SEARCH,), "required", "required"),
        ((SEARCH,), "search", "search"),
        ((SEARCH,), "none", TOOL),  # as the loop says at a limit
    ],
)
def test_the_choice_of_a_tool_is_heeded_and_leads_to_an_answer(
    tools: tuple[ToolSpec, ...], choice: str | None, sent: str
) -> None:
    request = told(DEEPSEEK, Film, *tools, tool_choice=choice)
    assert request.options.tool_choice == sent


def test_an_entity_comes_by_the_option_over_real_http() -> None:
    text = ALIEN.model_dump_json()
    with ChatServer(streamed(text[:9], text[9:])) as server:
        model = OpenAIChat(model="m", base_url=server.base_url, api_key="k")
        assert Agent(model).entity(Film, "a film").run() == ALIEN
    assert server.asked[0].body["response_format"]


def test_an_entity_comes_by_a_tool_over_real_http() -> None:
    answer = messages_api.called(TOOL, value=1, other=2)
    with ChatServer(answer) as server:
        url = server.base_url.removesuffix("/v1")
        model = AnthropicChat(model="m", base_url=url, api_key="k")
        found = Agent(model).entity(dict[str, int], "numbers").run()
    assert found == {"value": 1, "other": 2}


def delivered(*events: ChatEvent) -> list[ChatEvent]:
    """What comes out of a model that takes the answer by a tool."""

    def model(_: object) -> Any:
        return just(*events)

    advisor = asking_for(output_type(Film), model=model, mode="tool")
    request = ChatRequest(messages=(UserMessage.of("go"),))
    out: list[ChatEvent] = []
    just(request).pipe(chain([advisor], model)).subscribe(out.append)
    return out


def finished(*calls: ToolCall, reason: Any = "tool_calls", words: str = "") -> Finished:
    said = (Text(text=words),) if words else ()
    message = AssistantMessage(content=(*said, *calls))
    response = ChatResponse(
        message=message, finish_reason=reason, transcript=(message,)
    )
    return Finished(response=response)


@settings(max_examples=60)
@given(value=st.dictionaries(st.text(max_size=3), JSON), size=st.integers(1, 9))
def test_a_call_that_answers_is_text_wherever_it_is_cut(
    value: dict[str, object], size: int
) -> None:
    text = json.dumps(value)
    names = [
        ToolCallDelta(index=0, id="c" if not at else None, name=TOOL[at : at + size])
        for at in range(0, len(TOOL), size)
    ]
    parts = [ToolCallDelta(index=0, arguments=each) for each in pieces(text, size)]
    call = ToolCall(id="c", name=TOOL, arguments=text)
    *deltas, end = delivered(*names, *parts, finished(call))
    assert all(isinstance(each, TextDelta) for each in deltas)
    assert "".join(each.text for each in deltas if isinstance(each, TextDelta)) == text
    assert isinstance(end, Finished)
    assert (end.response.text, end.response.finish_reason) == (text, "stop")
    assert end.response.transcript == (end.response.message,)


def test_a_call_of_another_tool_passes_whatever_its_name_begins_with() -> None:
    deltas = [
        ToolCallDelta(index=0, id="c", name="give_"),
        ToolCallDelta(index=0, name="up"),
        ToolCallDelta(index=0, arguments="{}"),
    ]
    end = finished(ToolCall(id="c", name="give_up"))
    assert delivered(*deltas, end) == [*deltas, end]


def test_a_call_beside_the_answer_runs_first() -> None:
    calls = (ToolCall(id="a", name="search"), ToolCall(id="b", name=TOOL))
    (end,) = delivered(finished(*calls, words="Let me see."))
    assert isinstance(end, Finished)
    assert end.response.finish_reason == "tool_calls"
    assert end.response.tool_calls == calls[:1]


def test_a_call_that_was_cut_off_is_a_cut_answer() -> None:
    call = replace(tool_call(TOOL, title="A"), truncated=True)
    model = ScriptedModel(Reply(calls=(call,), finish_reason="length"))
    with pytest.raises(NoAnswerError) as caught:
        Agent(model).entity(Film, "a film", mode="tool").run()
    assert caught.value.finish_reason == "length"


def test_at_a_limit_the_answer_is_still_given_by_its_tool() -> None:
    """The loop tells the model to call no more; that is not about the answer."""

    @tool
    def search() -> str:
        """Search."""
        return "nothing"

    again = Reply(calls=(tool_call("search"),))
    answer = Reply(calls=(tool_call(TOOL, title="Alien", year=1979),))
    model = ScriptedModel(again, answer)
    loop = tool_loop(max_rounds=1, on_limit="tell")
    agent = Agent(model, tools=[search], advisors=[loop])
    assert agent.entity(Film, "a film", mode="tool").run() == ALIEN
    assert model.requests[1].options.tool_choice == TOOL
