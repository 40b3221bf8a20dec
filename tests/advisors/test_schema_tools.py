from __future__ import annotations

import json
from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import Any, cast

import jsonschema
import pytest
import reactivex
from hypothesis import given
from hypothesis import strategies as st
from reactivex import Observable
from reactivex import operators as ops
from reactivex.testing import TestScheduler

from rxagent.advisors import Ranking, by_spelling, schema_tools, tool_loop
from rxagent.advisors._choice_sample import sample_arguments
from rxagent.advisors._choice_schema import choice_schema
from rxagent.advisors._plain_history import plain_history
from rxagent.agent import Agent
from rxagent.context import Context, Key
from rxagent.errors import (
    ConfigurationError,
    MalformedResponseError,
    RequestError,
)
from rxagent.events import (
    ChatEvent,
    Finished,
    ReasoningDelta,
    TextDelta,
    ToolCallDelta,
    ToolFinished,
)
from rxagent.messages import (
    AssistantMessage,
    Image,
    Message,
    Reasoning,
    SystemMessage,
    ToolCall,
    ToolMessage,
    UserMessage,
)
from rxagent.models import OpenAIChat
from rxagent.operators import just
from rxagent.requests import ChatOptions, ChatRequest, JsonSchema, Origin, ToolSpec
from rxagent.responses import ChatResponse
from rxagent.testing import (
    Reply,
    ScriptedModel,
    Step,
    assert_exchange_laws,
    assert_grammar,
    tool_call,
)
from rxagent.tools import tool
from rxagent.usage import Usage
from tests.marbles import emitted
from tests.servers import ChatServer, streamed
from tests.test_chain import ask


@tool
def weather(city: str, *, days: int = 1) -> str:
    """Get the weather of a city.

    Args:
        city: Its name.
        days: How many.
    """
    return f"{city}: rain, {days}"


@tool
def clock() -> str:
    """Get the time."""
    return "21:42"


WEATHER = '{"tool": "weather", "arguments": {"city": "Oslo"}}'
CLOCK = '{"tool": "clock", "arguments": {}}'
NONE = '{"tool": "none"}'


def request(
    *messages: str | Message,
    tools: Sequence[ToolSpec] = (weather, clock),
    **options: Any,
) -> ChatRequest:
    return ChatRequest(
        messages=tuple(
            UserMessage.of(each) if isinstance(each, str) else each for each in messages
        ),
        tools=tuple(tools),
        options=ChatOptions(**options),
        origin=Origin(run_id="r"),
    )


def finished(events: Sequence[ChatEvent]) -> ChatResponse:
    assert_grammar(events)
    end = events[-1]
    assert isinstance(end, Finished)
    return end.response


def choices(asked: ChatRequest) -> list[str]:
    """The names that the schema of a request for a choice allows."""
    schema: Any = asked.options.response_schema
    return [
        each["properties"]["tool"]["const"] for each in schema.get("anyOf", [schema])
    ]


def test_a_choice_leaves_as_a_tool_call_and_its_text_is_not_seen() -> None:
    model = ScriptedModel(Reply(deltas=tuple(WEATHER)))

    events = ask(schema_tools()(model), request("How is Oslo?"))

    call = ToolCall(id="call_0", name="weather", arguments='{"city":"Oslo"}')
    delta = ToolCallDelta(
        index=0, id="call_0", name="weather", arguments='{"city":"Oslo"}'
    )
    assert events[:-1] == [delta]
    response = finished(events)
    assert response.message == AssistantMessage.of(call)
    assert response.finish_reason == "tool_calls"
    assert response.transcript == ()
    assert {event.origin for event in events} == {Origin(run_id="r")}


def test_the_choice_comes_when_the_inner_answer_ends() -> None:
    """The docstring's marble, in virtual time."""
    reply = Reply(deltas=(WEATHER[:9], WEATHER[9:]), first_s=10, gap_s=10)
    scheduler = TestScheduler()
    exchange = schema_tools()(ScriptedModel(reply))

    got = scheduler.start(lambda: just(request("How is Oslo?")).pipe(exchange))

    assert [(time, type(event)) for time, event in emitted(got.messages)] == [
        (230, ToolCallDelta),
        (230, Finished),
    ]


def test_the_model_is_asked_for_one_choice_without_tools() -> None:
    model = ScriptedModel(WEATHER)
    asked = request(
        SystemMessage.of("Be brief."),
        "How is Oslo?",
        stop=("\n",),
        max_tokens=5,
        parallel_tool_calls=False,
        stream=False,
    )

    ask(schema_tools(max_choice_tokens=99)(model), asked)

    (seen,) = model.requests
    assert seen.tools == ()
    assert seen.options == ChatOptions(
        temperature=0.0,
        max_tokens=99,
        stream=False,
        response_schema={
            "anyOf": [
                {
                    "type": "object",
                    "properties": {
                        "tool": {"const": "weather"},
                        "arguments": weather.parameters,
                    },
                    "required": ["tool", "arguments"],
                    "additionalProperties": False,
                },
                {
                    "type": "object",
                    "properties": {
                        "tool": {"const": "clock"},
                        "arguments": clock.parameters,
                    },
                    "required": ["tool", "arguments"],
                    "additionalProperties": False,
                },
                {
                    "type": "object",
                    "properties": {"tool": {"const": "none"}},
                    "required": ["tool"],
                    "additionalProperties": False,
                },
            ]
        },
    )
    system, *examples, last = seen.messages
    assert isinstance(system, SystemMessage)
    assert "- weather: Get the weather of a city. (city: string Its name.," in (
        system.text
    )
    assert "- clock: Get the time. (no arguments)" in system.text
    assert system.text.endswith("Be brief.")
    assert last == UserMessage.of("How is Oslo?")
    roles = [each.role for each in examples]
    assert roles == ["user", "assistant"] * (len(roles) // 2)


def test_every_worked_example_of_a_tool_meets_the_schema() -> None:
    model = ScriptedModel(WEATHER)

    ask(schema_tools()(model), request("How is Oslo?"))

    (seen,) = model.requests
    schema: Any = seen.options.response_schema
    answers = [
        json.loads(each.text)
        for each in seen.messages
        if isinstance(each, AssistantMessage)
    ]
    offered = [each for each in answers if each["tool"] in choices(seen)]
    assert [each["tool"] for each in offered][:2] == ["weather", "clock"]
    for each in offered:
        jsonschema.validate(each, schema)


@pytest.mark.parametrize(
    ("text", "order"),
    [
        ("How is the weather?", ["none", "none", "weather", "clock"]),
        ("Good morning!", ["weather", "clock", "none", "none"]),
    ],
)
def test_examples_of_small_talk_are_near_unless_a_request_sounds_like_a_tool(
    text: str, order: list[str]
) -> None:
    model = ScriptedModel(WEATHER)

    ask(schema_tools()(model), request(text))

    answers = [
        json.loads(each.text)["tool"]
        for each in model.requests[0].messages
        if isinstance(each, AssistantMessage)
    ]
    assert answers[:4] == order


def test_the_temperature_of_a_request_is_kept() -> None:
    model = ScriptedModel(WEATHER)

    ask(schema_tools()(model), request("How is Oslo?", temperature=0.7))

    assert model.requests[0].options.temperature == 0.7


def test_a_model_that_chooses_no_tool_is_asked_to_answer() -> None:
    model = ScriptedModel(
        Reply(deltas=(NONE,), usage=Usage(output_tokens=4, requests=1)),
        Reply(deltas=("Hel", "lo"), usage=Usage(output_tokens=2, requests=1)),
    )
    asked = request("Hello!", response_schema={"type": "string"}, max_tokens=5)

    events = ask(schema_tools()(model), asked)

    assert events[:-1] == [TextDelta(text="Hel"), TextDelta(text="lo")]
    response = finished(events)
    assert response.finish_reason == "stop"
    assert (response.usage.output_tokens, response.usage.requests) == (6, 2)
    # The user's own schema is for the answer.
    assert model.requests[1] == replace(asked, tools=())
    model.assert_used_up()


@pytest.mark.parametrize(
    ("tool_choice", "allowed"),
    [
        (None, ["weather", "clock", "none"]),
        ("auto", ["weather", "clock", "none"]),
        ("required", ["weather", "clock"]),
        ("clock", ["clock"]),
    ],
)
def test_the_tool_choice_of_a_request_is_heeded(
    tool_choice: str | None, allowed: list[str]
) -> None:
    model = ScriptedModel(CLOCK)

    ask(schema_tools()(model), request("Hello!", tool_choice=tool_choice))

    assert choices(model.requests[0]) == allowed


def test_tool_choice_none_asks_for_an_answer_at_once() -> None:
    model = ScriptedModel("Hello!")

    response = finished(
        ask(schema_tools()(model), request("Hello!", tool_choice="none"))
    )

    assert response.text == "Hello!"
    assert model.requests == [request("Hello!", tools=())]


def test_a_tool_choice_that_is_not_there_is_an_error() -> None:
    with pytest.raises(RequestError, match="'map', but the tools are weather, clock"):
        ask(schema_tools()(ScriptedModel()), request("Hello!", tool_choice="map"))


def test_a_request_without_tools_passes_as_it_is() -> None:
    model = ScriptedModel("Hello!")
    asked = request("Hello!", tools=())

    ask(schema_tools()(model), asked)

    assert model.requests == [asked]
    assert model.requests[0].messages[0] is asked.messages[0]


def test_an_agent_runs_the_tool_and_answers_with_its_result() -> None:
    model = ScriptedModel(WEATHER, "It rains.")
    agent = Agent(model, tools=[weather], advisors=[tool_loop(), schema_tools()])

    response = agent.call("How is Oslo?").run()

    assert response.text == "It rains."
    assert response.usage.requests == 2
    call = ToolCall(id="call_0", name="weather", arguments='{"city":"Oslo"}')
    assert response.transcript == (
        AssistantMessage.of(call),
        ToolMessage.of("Oslo: rain, 1", call=call),
        AssistantMessage.of("It rains."),
    )
    answering = model.requests[1]
    assert answering.messages == (
        UserMessage.of("How is Oslo?"),
        AssistantMessage.of('I call weather({"city":"Oslo"}).'),
        UserMessage.of("weather returned: ", "Oslo: rain, 1"),
    )
    assert answering.options.response_schema is None


def test_a_model_may_go_on_calling_for_as_many_rounds_as_it_is_given() -> None:
    model = ScriptedModel(WEATHER, CLOCK, "It rains at 21:42.")
    agent = Agent(
        model,
        tools=[weather, clock],
        advisors=[tool_loop(), schema_tools(max_rounds=2)],
    )

    response = agent.call("How is Oslo now?").run()

    assert response.text == "It rains at 21:42."
    calls = [
        call
        for message in response.transcript
        if isinstance(message, AssistantMessage)
        for call in message.tool_calls
    ]
    assert [(call.id, call.name) for call in calls] == [
        ("call_0", "weather"),
        ("call_1", "clock"),
    ]
    assert model.requests[1].messages[-1].text == (
        "How is Oslo now?\n\nDone so far:\n"
        'Assistant: I call weather({"city":"Oslo"}).\n'
        "User: weather returned: Oslo: rain, 1"
    )


def test_rounds_of_earlier_turns_do_not_count() -> None:
    old = ToolCall(id="call_0", name="weather")
    model = ScriptedModel(CLOCK)
    asked = request(
        "How is Oslo?",
        AssistantMessage.of(old),
        ToolMessage.of("rain", call=old),
        AssistantMessage.of("It rains."),
        "And the time?",
    )

    response = finished(ask(schema_tools()(model), asked))

    assert [call.id for call in response.tool_calls] == ["call_1"]
    assert model.requests[0].messages[-1].text == (
        "Earlier:\n"
        "User: How is Oslo?\n"
        "Assistant: I call weather({}).\n"
        "User: weather returned: rain\n"
        "Assistant: It rains.\n\n"
        "Request: And the time?"
    )


def test_a_new_id_is_not_one_that_is_taken() -> None:
    other = ToolCall(id="call_1", name="weather")
    asked = request(
        "How is Oslo?", AssistantMessage.of(other), ToolMessage.of("rain", call=other)
    )

    response = finished(ask(schema_tools(max_rounds=2)(ScriptedModel(CLOCK)), asked))

    assert response.tool_calls[0].id == "call_2"


def test_a_conversation_that_no_user_began_can_go_on() -> None:
    model = ScriptedModel(CLOCK)

    ask(schema_tools()(model), request(AssistantMessage.of("Hello!")))

    assert model.requests[0].messages[-1].text == (
        "Earlier:\nAssistant: Hello!\n\nRequest: Go on."
    )


def test_pictures_of_the_request_reach_the_model() -> None:
    picture = Image(url="https://example.org/a.png")
    model = ScriptedModel(CLOCK)
    asked = request(
        AssistantMessage.of("Hello!"), UserMessage.of("What is this?", picture)
    )

    ask(schema_tools()(model), asked)

    assert picture in model.requests[0].messages[-1].content


def test_reasoning_and_unknown_events_pass_and_thoughts_are_kept() -> None:
    class Unknown:
        """An event of a kind that no operator knows."""

    unknown = cast("ChatEvent", Unknown())
    model = ScriptedModel(Reply(reasoning=("hm",), deltas=(WEATHER,)))

    def inner(requests: Observable[ChatRequest]) -> Observable[ChatEvent]:
        return reactivex.concat(just(unknown), model(requests))

    events = ask(schema_tools()(inner), request("How is Oslo?"))

    assert events[:2] == [unknown, ReasoningDelta(text="hm")]
    thought, call = finished(events).message.content
    assert thought == Reasoning(text="hm")
    assert isinstance(call, ToolCall)


def test_what_inner_advisors_note_in_the_context_is_kept() -> None:
    noted = Key("noted", int)

    def note(value: int) -> Callable[[ChatRequest], Step]:
        def step(request: ChatRequest) -> Step:
            seen.append(request.context.get(noted, 0))
            return NONE if value == 1 else "Hello!"

        return step

    seen: list[int] = []
    model = ScriptedModel(note(1), note(2))

    def inner(requests: Observable[ChatRequest]) -> Observable[ChatEvent]:
        def count(event: ChatEvent) -> ChatEvent:
            if not isinstance(event, Finished):
                return event
            context = Context().set(noted, len(seen))
            return replace(event, response=replace(event.response, context=context))

        return model(requests).pipe(ops.map(count))

    response = finished(ask(schema_tools()(inner), request("Hello!")))

    assert seen == [0, 1]
    assert response.context[noted] == 2


def test_a_choice_that_is_cut_off_is_a_call_that_does_not_run() -> None:
    cut = '{"tool": "weather", "arguments": {"city": "Osl'
    model = ScriptedModel(Reply(deltas=(cut,), finish_reason="length"), "Sorry.")
    agent = Agent(model, tools=[weather], advisors=[tool_loop(), schema_tools()])

    events = list(agent.stream("How is Oslo?"))

    (result,) = [each for each in events if isinstance(each, ToolFinished)]
    assert result.call.truncated
    assert result.message.is_error
    assert "cut off" in result.message.text
    assert finished(events).text == "Sorry."


def test_a_whole_choice_before_the_limit_on_tokens_is_a_call() -> None:
    reply = Reply(deltas=(WEATHER,), finish_reason="length")

    response = finished(ask(schema_tools()(ScriptedModel(reply)), request("Oslo?")))

    assert [call.truncated for call in response.tool_calls] == [False]
    assert response.finish_reason == "tool_calls"


@pytest.mark.parametrize("cut", ["", "{", '{"tool": "wea', '{"tool": "weather"'])
def test_a_choice_that_is_cut_off_too_early_is_an_error(cut: str) -> None:
    reply = Reply(deltas=(cut,), finish_reason="length")

    with pytest.raises(MalformedResponseError, match="raise max_choice_tokens"):
        ask(schema_tools()(ScriptedModel(reply)), request("How is Oslo?"))


@pytest.mark.parametrize(
    "said",
    ["It rains.", "", "[]", '"weather"', '{"name": "weather"}', '{"tool": 1}'],
)
def test_an_answer_that_is_no_choice_is_an_error_that_says_why(said: str) -> None:
    """The server does not heed the schema."""
    with pytest.raises(MalformedResponseError, match="response_schema") as caught:
        ask(schema_tools()(ScriptedModel(said)), request("How is Oslo?"))

    assert not caught.value.retryable


def test_a_long_answer_that_is_no_choice_is_not_shown_whole() -> None:
    with pytest.raises(MalformedResponseError) as caught:
        ask(schema_tools()(ScriptedModel("x" * 9999)), request("How is Oslo?"))

    assert len(str(caught.value)) < 300


@pytest.mark.parametrize(
    "said", [f"```json\n{WEATHER}\n```", f"<think>hm</think>{WEATHER}"]
)
def test_prose_around_a_choice_is_skipped(said: str) -> None:
    response = finished(ask(schema_tools()(ScriptedModel(said)), request("Oslo?")))

    assert [call.name for call in response.tool_calls] == ["weather"]


def test_an_unknown_tool_is_for_the_tool_loop_to_refuse() -> None:
    model = ScriptedModel('{"tool": "map", "arguments": {}}', "Sorry.")
    agent = Agent(model, tools=[weather], advisors=[tool_loop(), schema_tools()])

    (result,) = [
        each for each in agent.stream("Where?") if isinstance(each, ToolFinished)
    ]

    assert "there is no tool 'map'" in result.message.text


def test_a_tool_may_be_named_as_no_tool_is() -> None:
    @tool
    def none() -> str:
        """Do nothing."""
        return ""

    said = '{"tool": "none", "arguments": {}}'

    response = finished(
        ask(schema_tools()(ScriptedModel(said)), request("Hello!", tools=[none]))
    )

    assert [call.name for call in response.tool_calls] == ["none"]


@pytest.mark.parametrize("reason", ["refusal", "content_filter", "blocked"])
def test_an_answer_that_was_refused_passes(reason: Any) -> None:
    model = ScriptedModel(Reply(deltas=("I can't",), finish_reason=reason))

    events = ask(schema_tools()(model), request("How is Oslo?"))

    assert events[:-1] == [TextDelta(text="I can't")]
    assert finished(events).finish_reason == reason


def test_calls_of_a_model_that_knows_tools_pass() -> None:
    model = ScriptedModel(Reply(calls=(tool_call("weather", city="Oslo"),)))

    response = finished(ask(schema_tools()(model), request("How is Oslo?")))

    assert [call.name for call in response.tool_calls] == ["weather"]


def test_an_error_of_the_model_is_the_error_of_the_stream() -> None:
    model = ScriptedModel(Reply(deltas=('{"tool"',), error=OSError("gone")))

    with pytest.raises(OSError, match="gone"):
        ask(schema_tools()(model), request("How is Oslo?"))


@pytest.mark.parametrize("steps", [(WEATHER,), (NONE, "Hello!")])
def test_the_laws_hold_over_a_choice(steps: tuple[Step, ...]) -> None:
    """Laws 1, 2 and 5: each subscription and each cut asks a new script."""

    def inner(requests: Observable[ChatRequest]) -> Observable[ChatEvent]:
        def step(asked: ChatRequest) -> Step:
            return steps[0] if asked.options.response_schema else steps[-1]

        return ScriptedModel(step, repeat_last=True)(requests)

    assert_exchange_laws(schema_tools()(inner), request=request("How is Oslo?"))


def test_turns_that_run_at_once_do_not_mix() -> None:
    """Law 7."""

    def step(asked: ChatRequest) -> Step:
        city = asked.messages[-1].text
        if asked.options.response_schema is None:
            return Reply(deltas=(f"I know {city}.",), first_s=5)
        if city < "C":
            return Reply(deltas=tuple(NONE), gap_s=1)
        said = json.dumps({"tool": "weather", "arguments": {"city": city}})
        return Reply(deltas=tuple(said), gap_s=1)

    exchange = schema_tools()(ScriptedModel(step, repeat_last=True))
    scheduler = TestScheduler()
    seen: dict[str, list[ChatEvent]] = {}
    for city in ("A", "B", "Cairo", "Dakar"):
        events = seen[city] = []
        asked = just(request(city)).pipe(exchange)
        asked.subscribe(events.append, scheduler=scheduler)
    scheduler.start()

    ends = {city: finished(events) for city, events in seen.items()}
    assert {city: end.text for city, end in ends.items()} == {
        "A": "I know A.",
        "B": "I know B.",
        "Cairo": "",
        "Dakar": "",
    }
    for city in ("Cairo", "Dakar"):
        (call,) = ends[city].tool_calls
        assert json.loads(call.arguments) == {"city": city}


def test_only_the_most_likely_tools_are_offered() -> None:
    model = ScriptedModel(CLOCK)

    ask(schema_tools(max_tools=1)(model), request("What time is it?"))

    assert choices(model.requests[0]) == ["clock", "none"]


def test_a_ranking_of_your_own_decides_which_tools_are_offered() -> None:
    seen: list[str] = []

    def backwards(text: str, tools: Sequence[ToolSpec]) -> Sequence[ToolSpec]:
        seen.append(text)
        return tools[::-1]

    rank: Ranking = backwards
    model = ScriptedModel(CLOCK)
    asked = request("Hello!", AssistantMessage.of("Yes?"), "What time is it?")

    ask(schema_tools(max_tools=1, rank=rank)(model), asked)

    assert seen == ["What time is it?"]
    assert choices(model.requests[0]) == ["clock", "none"]


def test_a_ranking_that_drops_all_tools_asks_for_an_answer() -> None:
    model = ScriptedModel("Hello!")
    exchange = schema_tools(max_tools=1, rank=lambda _, __: [])(model)

    assert finished(ask(exchange, request("Hello!"))).text == "Hello!"


@pytest.mark.parametrize("option", ["max_rounds", "max_tools", "max_choice_tokens"])
def test_a_limit_that_is_not_positive_is_refused(option: str) -> None:
    with pytest.raises(ConfigurationError, match=f"{option} must be 1 or more, got 0"):
        schema_tools(**{option: 0})  # type: ignore[arg-type]


def test_openai_chat_sends_the_schema_and_no_tools() -> None:
    with ChatServer(streamed(*WEATHER), streamed("It rains.")) as server:
        model = OpenAIChat(model="m", base_url=server.base_url, api_key="k")
        agent = Agent(model, tools=[weather], advisors=[tool_loop(), schema_tools()])
        text = agent.call("How is Oslo?").run().text

    assert text == "It rains."
    first, second = (cast("dict[str, Any]", asked.body) for asked in server.asked)
    assert first["response_format"]["type"] == "json_schema"
    assert "response_format" not in second
    assert "tools" not in {*first, *second}
    assert [each["role"] for each in second["messages"]] == [
        "user",
        "assistant",
        "user",
    ]


def test_results_of_a_round_are_one_message_and_say_what_failed() -> None:
    one, two = ToolCall(id="1", name="weather"), ToolCall(id="2", name="clock")
    picture = Image(url="https://example.org/a.png")
    said = AssistantMessage.of("Let me see.", one, two)

    assert plain_history(
        [
            UserMessage.of("Hello!"),
            said,
            ToolMessage.of("no such city", call=one, is_error=True),
            ToolMessage.of(picture, call=two),
            AssistantMessage.of("Sorry."),
        ]
    ) == (
        UserMessage.of("Hello!"),
        AssistantMessage.of("Let me see.\nI call weather({}).\nI call clock({})."),
        UserMessage.of(
            "weather failed: ", "no such city", "\nclock returned: ", picture
        ),
        AssistantMessage.of("Sorry."),
    )


NESTED: JsonSchema = {
    "type": "object",
    "properties": {
        "home": {"$ref": "#/$defs/Place"},
        "kind": {"enum": ["b", "a"]},
        "fixed": {"const": 7},
        "tags": {"type": "array", "items": {"type": "number"}},
        "maybe": {"anyOf": [{"type": "null"}, {"type": "string"}]},
        "shown": {"type": "string", "examples": ["like this"]},
        "left out": {"type": "string"},
        "sure": {"type": "boolean"},
    },
    "required": ["home", "kind", "fixed", "tags", "maybe", "shown", "sure"],
    "$defs": {
        "Place": {
            "type": "object",
            "properties": {"city": {"type": "string"}, "size": {"type": "integer"}},
            "required": ["city", "size"],
            "additionalProperties": False,
        }
    },
}


def test_sample_arguments_take_what_the_schema_offers() -> None:
    assert sample_arguments(NESTED) == {
        "home": {"city": "abc", "size": 3},
        "kind": "b",
        "fixed": 7,
        "tags": [3.5],
        "maybe": None,
        "shown": "like this",
        "sure": True,
    }


@pytest.mark.parametrize(
    "parameters",
    [
        {"type": "object"},
        {"type": "object", "properties": {"a": True}, "required": ["a"]},
        {
            "type": "object",
            "properties": {"a": {"$ref": "#"}, "b": {"$ref": "#/$defs/lost/it"}},
            "required": ["a", "b"],
        },
        {
            "type": "object",
            "properties": {"a": {"type": ["string", "null"]}},
            "required": ["a"],
        },
    ],
)
def test_sample_arguments_come_to_an_end_for_any_schema(
    parameters: JsonSchema,
) -> None:
    assert set(sample_arguments(parameters)) <= {"a", "b"}


def test_references_in_the_schema_of_a_tool_still_lead_somewhere() -> None:
    spec = ToolSpec(name="move", description="Move.", parameters=NESTED)
    schema = dict(choice_schema([spec, clock], may_decline=True))
    arguments = sample_arguments(NESTED)
    good = {"tool": "move", "arguments": arguments}
    bad = {"tool": "move", "arguments": {**arguments, "home": {"city": 1}}}

    jsonschema.Draft202012Validator.check_schema(schema)
    jsonschema.validate(good, schema)
    with pytest.raises(jsonschema.ValidationError):
        jsonschema.validate(bad, schema)


def test_the_arguments_of_a_tool_are_closed_unless_it_says_otherwise() -> None:
    def allows_more(parameters: JsonSchema) -> bool:
        spec = ToolSpec(name="t", description="", parameters=parameters)
        schema = dict(choice_schema([spec], may_decline=False))
        return jsonschema.Draft202012Validator(schema).is_valid(
            {"tool": "t", "arguments": {"more": 1}}
        )

    assert not allows_more({"type": "object"})
    assert allows_more({"type": "object", "additionalProperties": True})


SPECS = st.lists(
    st.builds(
        ToolSpec,
        name=st.sampled_from(["weather", "clock", "map", "mail", "天气"]),
        description=st.text(max_size=20),
        parameters=st.sampled_from(
            [{"type": "object", "properties": {"a": True}}, {"type": "object"}]
        ),
    ),
    max_size=5,
)


@given(st.text(max_size=30), SPECS)
def test_a_ranking_by_spelling_only_sorts(text: str, specs: list[ToolSpec]) -> None:
    ranked = by_spelling(text, specs)

    assert sorted(map(id, ranked)) == sorted(map(id, specs))


def test_a_ranking_by_spelling_reads_names_descriptions_and_parameters() -> None:
    def named(name: str, description: str = "", **properties: object) -> ToolSpec:
        parameters = {"type": "object", "properties": properties}
        return ToolSpec(name=name, description=description, parameters=parameters)

    specs = [
        named("other"),
        named("set_timer"),
        named("a", "Send an email."),
        named("b", city={"type": "string", "description": "Name of a town"}),
        named("c", unit={"enum": ["fahrenheit", 1]}),
        named("查询天气"),
    ]

    def first(text: str) -> str:
        return by_spelling(text, specs)[0].name

    assert first("Please start a timer") == "set_timer"
    assert first("emails, please") == "a"
    assert first("which towns?") == "b"
    assert first("in Fahrenheit") == "c"
    assert first("北京天气") == "查询天气"
    assert by_spelling("", specs) == specs
