from __future__ import annotations

import asyncio
import threading
from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import Any

import pytest
import reactivex
from reactivex import GroupedObservable, Observable
from reactivex import operators as ops
from reactivex.testing import ReactiveTest, TestScheduler

from rxagent import Agent, tool
from rxagent.advisors import log, safeguard, tool_loop
from rxagent.chain import around, before
from rxagent.context import Context, Key
from rxagent.errors import AdvisorError, ConfigurationError, RequestError
from rxagent.events import ChatEvent, Finished, TextDelta
from rxagent.messages import Image, Message, SystemMessage, Text, UserMessage
from rxagent.named import named
from rxagent.operators import just
from rxagent.requests import ChatOptions, ChatRequest, ToolSpec
from rxagent.responses import ChatResponse
from rxagent.runtime import Flow
from rxagent.testing import (
    Reply,
    ScriptedModel,
    Step,
    assert_exchange_laws,
    assert_grammar,
    tool_call,
)
from rxagent.types import Advisor, Exchange
from tests.marbles import emitted
from tests.test_chain import probe

on_next, on_completed = ReactiveTest.on_next, ReactiveTest.on_completed


USER = Key("test.user", str)


@tool
def add(a: int, b: int) -> int:
    """Add two numbers."""
    return a + b


@tool(name="add")
def other_add(a: float, b: float) -> float:
    """Add two other numbers."""
    return a + b


def echo(request: ChatRequest) -> Step:
    return Reply(deltas=("you said ", request.messages[-1].text))


def echoing() -> Agent:
    return Agent(ScriptedModel(echo, repeat_last=True))


def answers(events: Sequence[ChatEvent]) -> list[str]:
    return [event.response.text for event in events if isinstance(event, Finished)]


def test_the_same_agent_by_pipe_switch_map_subscribe_run_await_and_async_for() -> None:
    agent = echoing()
    questions = reactivex.from_iterable(["a", "b"])

    piped: list[ChatEvent] = []
    questions.pipe(agent).subscribe(piped.append)
    assert answers(piped) == ["you said a", "you said b"]
    # RxPY's own is a sequence without an end for Python.
    assert answers(list(questions.pipe(agent))) == ["you said a", "you said b"]

    switched: list[ChatEvent] = []
    questions.pipe(ops.map(agent.stream), ops.switch_latest()).subscribe(
        switched.append
    )
    assert answers(switched)[-1] == "you said b"

    subscribed: list[ChatEvent] = []
    agent.stream("c").subscribe(subscribed.append)
    assert answers(subscribed) == ["you said c"]

    assert agent.call("d").run().text == "you said d"
    assert list(agent.stream("e").text()) == ["you said ", "e"]

    async def scenario() -> None:
        assert (await agent.call("f")).text == "you said f"
        events = [event async for event in agent.stream("g")]
        assert answers(events) == ["you said g"]

    asyncio.run(scenario())


def test_the_text_of_responses_is_an_error_and_not_nothing() -> None:
    responses: Flow[Any] = Agent(ScriptedModel("hello")).call("hi")

    with pytest.raises(ConfigurationError, match=r"agent\.stream"):
        responses.text().run()


def test_an_agent_that_is_called_says_how_to_ask_it() -> None:
    asked: Any = "hi"

    with pytest.raises(RequestError, match=r"'hi' is no stream.*agent\.call"):
        Agent(ScriptedModel())(asked)


def test_a_new_question_cancels_the_running_answer() -> None:
    model = ScriptedModel(Reply(deltas=("slow ", "answer"), gap_s=100.0), "quick")
    agent = Agent(model)
    scheduler = TestScheduler()
    questions = scheduler.create_hot_observable(
        on_next(210, "first"), on_next(250, "second"), on_completed(260)
    )

    got = scheduler.start(lambda: questions.pipe(ops.switch_map(agent.stream)))

    texts = [(t, e.text) for t, e in emitted(got.messages) if isinstance(e, TextDelta)]
    assert texts == [(210, "slow "), (250, "quick")]
    assert answers([e for _, e in emitted(got.messages)]) == ["quick"]


def test_call_is_the_end_of_stream() -> None:
    """Law 3, S000-4: the same advisors, the same answer."""
    seen: list[str] = []
    agent = Agent(ScriptedModel("one", "one"), advisors=[probe("a", seen)])

    streamed = list(agent.stream("?"))[-1]
    called = agent.call("?").run()

    assert isinstance(streamed, Finished)
    assert streamed.response == called
    assert seen == ["a in", "a back"] * 2


def test_building_a_flow_asks_nobody() -> None:
    """Law 2."""
    model = ScriptedModel("hello")

    Agent(model).stream("hi")

    assert model.requests == []


def test_two_subscriptions_are_two_runs() -> None:
    """Law 2, S001-101."""
    model = ScriptedModel("one", "two")
    flow = Agent(model).call("hi")

    assert [flow.run().text, flow.run().text] == ["one", "two"]
    assert len({request.origin.run_id for request in model.requests}) == 2


def test_a_retry_runs_the_whole_turn_again() -> None:
    """Law 2."""
    agent = Agent(ScriptedModel(OSError("once"), "fine"))

    assert agent.call("hi").pipe(ops.retry(2)).run().text == "fine"


def test_two_readers_of_a_shared_run_see_the_same_and_ask_once() -> None:
    runs: list[int] = []

    @tool
    def count() -> int:
        """Count."""
        runs.append(1)
        return len(runs)

    model = ScriptedModel(Reply(calls=(tool_call("count"),)), "done")

    async def scenario() -> tuple[list[ChatEvent], list[ChatEvent]]:
        source: Observable[ChatEvent] = Agent(model, tools=[count]).stream("go")
        published = ops.publish()(source)
        first: list[ChatEvent] = []
        second: list[ChatEvent] = []
        done = asyncio.Event()
        published.subscribe(first.append)
        published.subscribe(second.append, on_completed=done.set)
        published.connect()
        await done.wait()
        return first, second

    first, second = asyncio.run(scenario())
    assert first == second
    assert answers(first) == ["done"]
    assert (len(model.requests), len(runs)) == (2, 1)


def test_every_prompt_becomes_messages() -> None:
    picture = Image(url="https://example.org/a.png")
    model = ScriptedModel("ok", repeat_last=True)
    agent = Agent(model)
    conversation: list[Message] = [UserMessage.of("a"), UserMessage.of("b")]

    for prompt in (
        "hi",
        UserMessage.of("hi", picture),
        conversation,
        ChatRequest(messages=(UserMessage.of("hi"),), context=Context({"a": 1})),
    ):
        agent.call(prompt).run()

    assert [request.messages for request in model.requests] == [
        (UserMessage.of("hi"),),
        (UserMessage.of("hi", picture),),
        tuple(conversation),
        (UserMessage.of("hi"),),
    ]
    assert model.requests[-1].context == Context({"a": 1})


@pytest.mark.parametrize(
    "prompt",
    ["", "  \n", UserMessage.of(), UserMessage.of(""), [], ChatRequest(messages=())],
    ids=["empty", "blank", "no parts", "an empty part", "no messages", "a request"],
)
def test_an_empty_prompt_is_refused_with_a_sentence(
    prompt: str | UserMessage | list[Message] | ChatRequest,
) -> None:
    with pytest.raises(RequestError, match="the prompt is empty; pass a text"):
        Agent(ScriptedModel(), system="be brief").stream(prompt)


def test_an_empty_prompt_in_a_stream_of_prompts_is_its_error() -> None:
    errors: list[Exception] = []

    just("").pipe(Agent(ScriptedModel())).subscribe(on_error=errors.append)

    assert [type(error) for error in errors] == [RequestError]


def test_the_system_text_is_first_and_a_prompts_own_wins() -> None:
    model = ScriptedModel("ok", repeat_last=True)
    agent = Agent(model, system="be brief")
    own = SystemMessage.of("be long")

    agent.call("hi").run()
    agent.call([own, UserMessage.of("hi")]).run()

    assert model.requests[0].messages[0] == SystemMessage.of("be brief")
    assert model.requests[1].messages == (own, UserMessage.of("hi"))


def test_a_calls_settings_are_merged_into_the_agents_own() -> None:
    """S001-32, S004-1, S004-11."""
    model = ScriptedModel("ok")
    agent = Agent(
        model,
        tools=[add],
        options=ChatOptions(model="small", temperature=0.5),
        context={"tenant": "a", "lang": "en"},
    )

    @tool
    def ping() -> str:
        """Answer."""
        return "pong"

    agent.call(
        "hi",
        tools=[ping],
        options=ChatOptions(temperature=0.0),
        context={"lang": "de"},
    ).run()

    [request] = model.requests
    assert [each.name for each in request.tools] == ["add", "ping"]
    assert request.options == ChatOptions(model="small", temperature=0.0)
    assert request.context == Context({"tenant": "a", "lang": "de"})


def test_a_calls_advisors_are_around_the_agents_own() -> None:
    """S004-11."""
    seen: list[str] = []
    agent = Agent(ScriptedModel("ok"), advisors=[probe("own", seen)])

    agent.call("hi", advisors=[probe("call", seen)]).run()

    assert seen == ["call in", "own in", "own back", "call back"]


def test_tools_of_a_call_alone_run_too() -> None:
    model = ScriptedModel(Reply(calls=(tool_call("add", a=1, b=2),)), "three")

    assert Agent(model).call("1 + 2?", tools=[add]).run().text == "three"


def test_a_loop_is_added_innermost_only_if_nobody_runs_the_tools() -> None:
    """S001-75, S003-11, V-12."""
    seen: list[str] = []
    model = ScriptedModel(Reply(calls=(tool_call("add", a=1, b=2),)), "three")

    Agent(model, tools=[add], advisors=[probe("a", seen)]).call("?").run()

    assert seen == ["a in", "a back"]
    with_own = Agent(model, tools=[add], advisors=[tool_loop(max_rounds=2), log()])
    assert with_own.describe().count("tool_loop") == 1


def test_two_tools_of_one_name_are_refused_when_built() -> None:
    """M-53."""
    with pytest.raises(ConfigurationError, match="'add'"):
        Agent(ScriptedModel(), tools=[add, other_add])
    with pytest.raises(ConfigurationError, match="'add'"):
        Agent(ScriptedModel(), tools=[add]).stream("hi", tools=[other_add])


def _plain() -> str:
    return "no tool yet"


untyped: Any = Agent  # as from a program without a type checker


@pytest.mark.parametrize(
    ("build", "says"),
    [
        (
            lambda m: untyped(m, tools=[_plain]),
            "no tool; make one of a function with @t",
        ),
        (lambda m: untyped(m, tools=add), "tools takes a list"),
        (lambda m: untyped(m, tools=["add"]), "'add' is no tool"),
        (lambda m: untyped(m, system=["x"]), r"system must be a text, got \['x'\]"),
        (lambda m: untyped(m, advisors=[5]), "5 is no advisor"),
        (lambda m: untyped(m, advisors=log()), "advisors takes a list"),
        (lambda m: untyped(m, options={"seed": 1}), r"options takes ChatOptions\("),
        (lambda m: untyped(m, context={USER: "a"}), "use the name of a Key"),
        (lambda m: untyped("gpt"), "'gpt' is no model"),
        (lambda m: untyped(type(m)), "is no model"),
        (lambda m: untyped(m).call(["hi"]), r"\['hi'\] is no prompt"),
        (lambda m: untyped(m).call(None), "None is no prompt"),
        (lambda m: untyped(m).call({"role": "user"}), "is no prompt; pass a text"),
    ],
)
def test_what_is_not_what_it_should_be_is_refused_with_advice(
    build: Callable[[Any], object], says: str
) -> None:
    with pytest.raises((ConfigurationError, RequestError), match=says):
        build(ScriptedModel())


def test_two_tool_loops_are_refused_with_their_names() -> None:
    """S001-112."""
    with pytest.raises(
        ConfigurationError, match=r"2 advisors run tools.*: tool_loop, to"
    ):
        Agent(ScriptedModel(), advisors=[tool_loop(), log(), tool_loop()])
    with pytest.raises(ConfigurationError, match="2 advisors run tools"):
        Agent(ScriptedModel(), advisors=[tool_loop()]).stream(
            "hi", advisors=[tool_loop()]
        )


def test_the_effective_chain_can_be_read() -> None:
    """S004-10, D-5."""
    agent = Agent(
        ScriptedModel("ok"),
        tools=[add],
        advisors=[safeguard(["bomb"]), tool_loop(), log()],
        name="clerk",
    )

    assert agent.describe() == "\n".join(
        [
            "clerk",
            "  safeguard(words=1)",
            "  tool_loop(max_rounds=10)",
            "    tool add",
            "  each round: log()",
            "  each round: ScriptedModel(steps=1)",
        ]
    )


def test_a_chain_that_answers_nothing_is_an_error_with_the_agents_name() -> None:
    """S004-3."""
    silent = around(lambda request, inner: reactivex.empty())

    with pytest.raises(AdvisorError, match="'clerk' completed without a Finished"):
        Agent(ScriptedModel(), advisors=[silent], name="clerk").call("hi").run()


def test_an_agent_can_be_the_model_of_another() -> None:
    inner = Agent(
        ScriptedModel(Reply(calls=(tool_call("add", a=1, b=2),)), "three"),
        tools=[add],
        name="inner",
    )
    outer = Agent(inner, advisors=[before(_polite)], name="outer")

    events = list(outer.stream("1 + 2"))

    assert answers(events) == ["three"]
    assert {event.origin.path for event in events} == {("outer", "inner")}
    assert len({event.origin.run_id for event in events}) == 1


def _polite(request: ChatRequest) -> ChatRequest:
    last = request.messages[-1]
    assert isinstance(last, UserMessage)
    text = Text(text=f"{last.text}, please")
    return replace(request, messages=(replace(last, content=(text,)),))


def test_merged_runs_can_be_taken_apart_again() -> None:
    agent = echoing()

    def by_run(event: ChatEvent) -> str:
        return event.origin.run_id

    def whole(
        group: GroupedObservable[str, ChatEvent],
    ) -> Observable[list[ChatEvent]]:
        return group.pipe(ops.to_list())

    runs: list[list[ChatEvent]] = []
    merged = reactivex.merge(agent.stream("a"), agent.stream("b"))
    merged.pipe(ops.group_by(by_run), ops.flat_map(whole)).subscribe(runs.append)

    assert sorted(answers(run)[0] for run in runs) == ["you said a", "you said b"]


def _whoami() -> Advisor:
    """Answer from the context, after the inner answer; any mixing would show."""

    def handle(request: ChatRequest, inner: Exchange) -> Observable[ChatEvent]:
        def sign(event: ChatEvent) -> ChatEvent:
            if not isinstance(event, Finished):
                return event
            context = event.response.context | {"signed": request.context[USER]}
            return replace(event, response=replace(event.response, context=context))

        return just(request).pipe(inner, ops.map(sign))

    return named("whoami", around(handle))


def test_a_thousand_turns_at_once_do_not_mix() -> None:
    """Law 7, S001-128."""

    def call_then_say(request: ChatRequest) -> Step:
        user = request.context[USER]
        if len(request.messages) == 1:
            number = int(user)
            call = tool_call("add", a=number, b=1)
            return Reply(calls=(call,), deltas=(user,), first_s=0.001 * (number % 7))
        return Reply(deltas=(f"{user}: {request.messages[-1].text}",))

    model = ScriptedModel(call_then_say, repeat_last=True)
    agent = Agent(model, tools=[_stepwise_add()], advisors=[_whoami()])

    async def turn(number: int) -> ChatResponse:
        return await agent.call("go", context={"test.user": str(number)})

    async def scenario() -> list[ChatResponse]:
        return await asyncio.gather(*map(turn, range(1_000)))

    responses = asyncio.run(scenario())

    for number, response in enumerate(responses):
        assert response.text == f"{number}: {number + 1}"
        assert response.context["signed"] == str(number)
        assert len(response.transcript) == 3
        assert response.usage.requests == 2


def _stepwise_add() -> ToolSpec:
    @tool(name="add")
    async def stepwise(a: int, b: int) -> int:
        """Add two numbers, slowly."""
        await asyncio.sleep(0)
        return a + b

    return stepwise


def test_threads_share_an_agent() -> None:
    agent = echoing()
    seen: dict[str, str] = {}

    def turn(text: str) -> None:
        seen[text] = agent.call(text).run().text

    threads = [threading.Thread(target=turn, args=(str(n),)) for n in range(50)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(20)

    assert seen == {str(n): f"you said {n}" for n in range(50)}


def test_an_agent_holds_the_laws_of_an_exchange() -> None:
    agent = Agent(ScriptedModel("hello", repeat_last=True), advisors=[log()])

    assert_exchange_laws(agent)


def test_its_repr_is_short() -> None:
    assert repr(echoing()) == "Agent('agent', ScriptedModel(steps=1))"


def test_the_events_of_a_turn_keep_the_grammar() -> None:
    """Law 1."""
    model = ScriptedModel(Reply(calls=(tool_call("add", a=1, b=2),)), "three")

    assert_grammar(list(Agent(model, tools=[add]).stream("?")))
