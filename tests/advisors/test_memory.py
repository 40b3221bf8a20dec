"""What a memory sends, and what it stores of turns that end well."""

from __future__ import annotations

import asyncio
from dataclasses import replace
from typing import Any
from uuid import UUID

import pytest
from reactivex import Observable
from reactivex import operators as ops
from reactivex.testing import TestScheduler
from reactivex.testing.marbles import marbles_testing

from rxagent.advisors import memory, safeguard, tool_loop
from rxagent.agent import Agent
from rxagent.chain import after, around, before
from rxagent.context import Context, Key
from rxagent.errors import ConfigurationError, MissingContextError, StoreError
from rxagent.events import ChatEvent, Finished, Retracted, RoundFinished, TextDelta
from rxagent.memory import MemoryStore, last_messages, last_turns
from rxagent.messages import (
    AssistantMessage,
    Message,
    Reasoning,
    SystemMessage,
    ToolMessage,
    UserMessage,
)
from rxagent.operators import concat_each, just
from rxagent.requests import ChatRequest
from rxagent.responses import ChatResponse
from rxagent.runtime import Flow
from rxagent.testing import Reply, ScriptedModel, tool_call
from rxagent.tools import tool
from rxagent.types import Exchange
from tests.advisors.remembering import (
    ID,
    Watched,
    agent_of,
    assert_valid,
    shown,
    stored,
)
from tests.marbles import Letters, comparable, drawn

in_or_out = pytest.mark.parametrize("inside", [False, True], ids=["outside", "inside"])

LOOK = Reply(deltas=("let me see",), calls=(tool_call("look", what="x"),))


def test_the_history_stands_in_front_of_the_next_question() -> None:
    """S001-21, S001-25."""
    store, model = MemoryStore(), ScriptedModel("A", "B")
    agent = Agent(model, system="Be brief.", advisors=[memory(store)], context=ID)

    agent.call("a").run()
    agent.call("b").run()

    sent = shown(model.requests[1].messages)
    assert sent == ["system Be brief.", "user a", "assistant A", "user b"]
    assert shown(stored(store)) == ["user a", "assistant A", "user b", "assistant B"]


@in_or_out
def test_all_that_a_turn_added_is_stored_and_sent_again(inside: bool) -> None:
    """S000-81, S001-71, S001-73, S003-6, S003-8, S003-10, D-6: nothing has to be set,
    and nothing is sent twice."""
    store = MemoryStore()
    model = ScriptedModel(LOOK, LOOK, "done", "again")
    agent = agent_of(model, memory(store), inside=inside)

    assert agent.call("a").run().text == "done"
    agent.call("b").run()

    turn = [
        "user a",
        *["assistant let me see calls look", "tool x!"] * 2,
        "assistant done",
    ]
    assert shown(stored(store)) == [*turn, "user b", "assistant again"]
    assert [shown(each.messages) for each in model.requests] == [
        turn[:1],
        turn[:3],
        turn[:5],
        [*turn, "user b"],
    ]


@pytest.mark.parametrize(
    ("inside", "asked"),
    [
        (False, ["load", "append 4"]),
        (True, ["load", "append 2", "load", "append 2"]),
    ],
)
def test_outside_a_turn_is_read_once_and_written_once_inside_a_round(
    inside: bool, asked: list[str]
) -> None:
    """S001-33, S003-7."""
    store = Watched()
    agent = agent_of(ScriptedModel(LOOK, "done"), memory(store), inside=inside)
    flow = agent.stream("a")
    assert store.asked == []

    events = list(flow)

    assert store.asked == asked
    assert isinstance(events[-1], Finished)


@in_or_out
def test_a_result_that_is_the_answer_is_stored_as_a_result(inside: bool) -> None:
    """S000-14, S000-15, S000-16, S000-17: the loop hands the last results over, and
    nobody else sees how."""
    store = MemoryStore()
    model = ScriptedModel(Reply(calls=(tool_call("notice"),)), "it said NOTICE")
    agent = agent_of(model, memory(store), inside=inside)

    events = list(agent.stream("a"))
    last = events[-1]
    assert isinstance(last, Finished)
    response = last.response
    agent.call("what did it say?").run()

    assert (response.text, response.finish_reason) == ("NOTICE", "return_direct")
    direct = ["user a", "assistant calls notice", "tool NOTICE"]
    assert shown(stored(store))[:3] == direct
    assert shown(model.requests[-1].messages) == [*direct, "user what did it say?"]
    for event in events:
        if isinstance(event, Finished | RoundFinished):
            assert {*event.response.context} == {*ID}


@in_or_out
@pytest.mark.parametrize("direct", [False, True])
def test_the_words_alone_may_be_kept(inside: bool, direct: bool) -> None:
    """Acceptance 63: no interim text, no thought, no call."""
    store = MemoryStore()
    name = "notice" if direct else "look"
    arguments = {} if direct else {"what": "x"}
    script = [
        Reply(deltas=("interim",), calls=(tool_call(name, **arguments),)),
        Reply(reasoning=("hm",), deltas=("do", "ne")),
    ]
    agent = agent_of(
        ScriptedModel(*script), memory(store, keep="answer"), inside=inside
    )

    agent.call("a").run()

    answer = "NOTICE" if direct else "done"
    assert stored(store) == (UserMessage.of("a"), AssistantMessage.of(answer))


@pytest.mark.parametrize("reply", [Reply(), Reply(deltas=(" ",))])
def test_without_words_nothing_is_kept_of_an_answer(reply: Reply) -> None:
    store = MemoryStore()
    agent = agent_of(ScriptedModel(reply), memory(store, keep="answer"))

    agent.call("a").run()

    assert stored(store) == ()


def test_signed_thoughts_are_stored_and_sent_as_they_came() -> None:
    """M-57."""
    thought = Reasoning(text="hm", signature="sig", dialect="anthropic")
    said = AssistantMessage.of(thought, "yes")
    end = Finished(response=ChatResponse(message=said, transcript=(said,)))
    asked: list[ChatRequest] = []

    def model(requests: Observable[ChatRequest]) -> Observable[ChatEvent]:
        return requests.pipe(ops.do_action(asked.append), ops.map(lambda _: end))

    agent = Agent(model, advisors=[memory(MemoryStore())], context=ID)
    agent.call("a").run()
    agent.call("b").run()

    assert asked[1].messages[1] == said


def test_only_the_last_message_of_the_prompt_is_stored() -> None:
    """S001-25."""
    store = MemoryStore()
    agent = Agent(ScriptedModel("A"), advisors=[memory(store)], context=ID)
    prompt: list[Message] = [
        SystemMessage.of("s"),
        UserMessage.of("document"),
        UserMessage.of("a"),
    ]

    agent.call(prompt).run()

    assert shown(stored(store)) == ["user a", "assistant A"]


def test_results_that_a_program_brings_are_stored() -> None:
    """S001-25: a loop of the caller's own."""
    store, model = MemoryStore(), ScriptedModel(LOOK, "done")
    agent = Agent(model, advisors=[memory(store)], context=ID)
    response = agent.call("a").run()
    results = [ToolMessage.of("x!", call=call) for call in response.tool_calls]

    agent.call([UserMessage.of("a"), response.message, *results]).run()

    assert shown(stored(store))[2:] == ["tool x!", "assistant done"]


def test_a_prompt_that_begins_the_answer_is_stored_with_its_question() -> None:
    store, model = MemoryStore(), ScriptedModel("nce", "alone")
    agent = Agent(model, advisors=[memory(store)], context=ID)

    agent.call([UserMessage.of("a"), AssistantMessage.of("O")]).run()
    agent.call([AssistantMessage.of("O")]).run()

    assert shown(stored(store)) == ["user a", "assistant nce", "assistant alone"]


@pytest.mark.parametrize("id_", [7, "7", UUID(int=7)])
def test_an_id_of_any_type_reads_what_it_wrote(id_: object) -> None:
    """S001-31, S001-32."""
    store, model = MemoryStore(), ScriptedModel("A", "B")
    agent = Agent(model, advisors=[memory(store)])

    for text in ("a", "b"):
        agent.call(text, context={"rxagent.conversation_id": id_}).run()

    assert len(model.requests[1].messages) == 3
    assert len(Flow.of(store.load(str(id_))).run().messages) == 4


def test_without_an_id_nothing_is_asked() -> None:
    """S001-30, M-60, M-61; acceptance 53."""
    store, model = Watched(), ScriptedModel()
    agent = Agent(model, advisors=[memory(store)])

    with pytest.raises(MissingContextError, match=r"context=\{"):
        agent.call("a").run()

    assert (store.asked, model.requests) == ([], [])


def test_the_id_stands_in_the_response_whatever_the_rest_does() -> None:
    """S001-29."""

    def drop(event: ChatEvent) -> ChatEvent:
        if isinstance(event, Finished):
            return replace(event, response=replace(event.response, context=Context()))
        return event

    store = MemoryStore()
    forgetful = before(lambda request: replace(request, context=Context()))
    agent = Agent(
        ScriptedModel("A"),
        advisors=[memory(store), forgetful, after(ops.map(drop))],
        context=ID,
    )

    assert agent.call("a").run().context == Context(ID)
    assert len(stored(store)) == 2


def test_the_id_may_be_under_another_key() -> None:
    store = MemoryStore()
    session = Key("app.session", int)
    agent = Agent(ScriptedModel("A"), advisors=[memory(store, key=session)])

    assert agent.call("a", context={"app.session": 7}).run().context[session] == 7
    assert len(stored(store)) == 2


@pytest.mark.parametrize("outermost", ["safeguard", "memory"])
def test_nothing_of_a_blocked_turn_is_stored(outermost: str) -> None:
    """Q2: in both places."""
    store = Watched()
    both = [safeguard(["bomb"]), memory(store)]
    model = ScriptedModel("A")
    advisors = both if outermost == "safeguard" else both[::-1]
    agent = Agent(model, advisors=advisors, context=ID)

    assert agent.call("a bomb").run().blocked_by == "safeguard"
    assert stored(store) == ()
    agent.call("a").run()
    assert shown(model.requests[0].messages) == ["user a"]


def test_an_answer_without_a_transcript_is_stored_as_its_message() -> None:
    """S001-28: an advisor that answers in the model's place, and blocks nothing."""

    def cached(request: ChatRequest, _: Exchange) -> Observable[ChatEvent]:
        message = AssistantMessage.of("cached")
        return just(Finished(response=ChatResponse(message=message)))

    store = MemoryStore()
    agent = Agent(ScriptedModel(), advisors=[memory(store), around(cached)], context=ID)
    agent.call("a").run()

    assert shown(stored(store)) == ["user a", "assistant cached"]


def test_only_what_the_end_says_is_stored() -> None:
    """S001-27; acceptance 61: neither retracted text, nor an attempt that was not
    chosen."""

    def second(request: ChatRequest, inner: Exchange) -> Observable[ChatEvent]:
        attempt = just(request).pipe(inner)
        first = attempt.pipe(ops.filter(lambda each: not isinstance(each, Finished)))
        return first.pipe(ops.concat(just(Retracted(reason="no")), attempt))

    store = MemoryStore()
    model = ScriptedModel("wrong", "right")
    agent = Agent(
        model,
        advisors=[memory(store, on_failure="mark"), around(second)],
        context=ID,
    )

    assert agent.call("a").run().text == "right"
    assert shown(stored(store)) == ["user a", "assistant right"]


def test_a_window_bounds_what_is_sent_and_not_what_is_stored() -> None:
    """S001-34."""
    store = MemoryStore()
    model = ScriptedModel("A", repeat_last=True)
    agent = Agent(model, advisors=[memory(store, window=last_messages(3))], context=ID)

    for text in "abcd":
        agent.call(text).run()

    sizes = [len(request.messages) for request in model.requests]
    assert sizes == [1, 3, 3, 3]
    assert len(stored(store)) == 8


def test_a_window_never_cuts_the_rounds_of_an_open_turn() -> None:
    store = MemoryStore()
    model = ScriptedModel("A", LOOK, LOOK, "done")
    agent = agent_of(model, memory(store, window=last_turns(1)), inside=True)

    agent.call("a").run()
    agent.call("b").run()

    assert [len(each.messages) for each in model.requests] == [1, 1, 3, 5]


def test_a_flow_that_is_subscribed_to_twice_asks_twice() -> None:
    store, model = MemoryStore(), ScriptedModel("A", "B")
    flow = Agent(model, advisors=[memory(store)], context=ID).call("a")

    assert (flow.run().text, flow.run().text) == ("A", "B")

    assert shown(model.requests[1].messages) == ["user a", "assistant A", "user a"]
    assert shown(stored(store)) == ["user a", "assistant A", "user a", "assistant B"]
    assert len({each.id for each in stored(store)}) == 4


def test_a_caller_may_bring_the_whole_conversation_too() -> None:
    """S001-22: under other ids."""
    store, model = MemoryStore(), ScriptedModel("A", "B")
    agent = Agent(model, advisors=[memory(store)], context=ID)
    agent.call("a").run()

    agent.call(
        [UserMessage.of("a"), AssistantMessage.of("A"), UserMessage.of("b")]
    ).run()

    assert shown(model.requests[1].messages) == ["user a", "assistant A", "user b"]
    assert shown(stored(store)) == ["user a", "assistant A", "user b", "assistant B"]


@pytest.mark.parametrize("failing", ["load", "append"])
@in_or_out
def test_a_store_that_fails_is_the_error(failing: str, inside: bool) -> None:
    """Law 8: what was delivered stays delivered, and the end is the error."""
    store, model = Watched(failing=[failing]), ScriptedModel("A")
    agent = agent_of(model, memory(store), inside=inside)
    events: list[ChatEvent] = []

    with pytest.raises(StoreError, match="on fire"):
        agent.stream("a").pipe(ops.do_action(events.append)).run()

    assert events == ([] if failing == "load" else [TextDelta(text="A")])
    assert len(model.requests) == (failing == "append")


def test_a_hundred_turns_at_once_lose_nothing_and_stay_whole() -> None:
    """Acceptance 62: each is written behind what is there when it ends."""
    store = MemoryStore()

    def echo(request: ChatRequest) -> Reply:
        text = request.messages[-1].text
        return Reply(deltas=(f"to {text}",), first_s=float(text) % 7, gap_s=1.0)

    agent = Agent(
        ScriptedModel(echo, repeat_last=True), advisors=[memory(store)], context=ID
    )
    scheduler = TestScheduler()
    for number in range(100):
        agent.stream(str(number)).subscribe(scheduler=scheduler)
    scheduler.start()

    messages = stored(store)
    assert len(messages) == 200
    asked = [each.text for each in messages[::2]]
    assert [each.text for each in messages[1::2]] == [f"to {text}" for text in asked]
    assert sorted(asked, key=int) == [str(number) for number in range(100)]


def test_a_hundred_turns_at_once_on_one_loop_do_the_same() -> None:
    store = MemoryStore()

    def echo(request: ChatRequest) -> Reply:
        text = request.messages[-1].text
        return Reply(deltas=(f"to {text}",), first_s=0.001)

    agent = Agent(
        ScriptedModel(echo, repeat_last=True), advisors=[memory(store)], context=ID
    )

    async def all_of_them() -> None:
        flows = [agent.call(str(number)) for number in range(100)]

        async def ask(flow: Flow[ChatResponse]) -> None:
            await flow

        await asyncio.gather(*map(ask, flows))

    asyncio.run(all_of_them())
    messages = stored(store)
    assert [each.text for each in messages[1::2]] == [
        f"to {each.text}" for each in messages[::2]
    ]
    assert len(messages) == 200


@in_or_out
def test_a_flow_that_is_subscribed_to_twice_at_once_loses_no_question(
    inside: bool,
) -> None:
    """Acceptance 62."""
    store, loaded = MemoryStore(), asyncio.Event()

    async def main() -> None:
        @tool
        async def wait() -> str:
            """Wait until all have asked."""
            await loaded.wait()
            return "now"

        model = ScriptedModel(
            lambda request: (
                Reply(calls=(tool_call("wait"),))
                if request.origin.round == 0
                else Reply(deltas=("A",))
            ),
            repeat_last=True,
        )
        pair = [memory(store), tool_loop()]
        agent = Agent(
            model,
            tools=[wait],
            advisors=pair[::-1] if inside else pair,
            context=ID,
        )
        flow = agent.call("a")

        async def once() -> None:
            await flow

        async with asyncio.TaskGroup() as tasks:
            for _ in range(3):
                tasks.create_task(once())
            await asyncio.sleep(0)
            loaded.set()
        for request in model.requests:
            assert_valid(request.messages)

    asyncio.run(main())
    roles = [each.role for each in stored(store)]
    assert roles.count("user") == 3
    assert len(roles) == 12


def test_rounds_of_turns_at_once_are_sent_in_an_order_that_is_valid() -> None:
    store = MemoryStore()

    def reply(request: ChatRequest) -> Reply:
        if request.origin.round == 2:
            return Reply(deltas=("done",))
        return replace(LOOK, first_s=1.0)

    model = ScriptedModel(reply, repeat_last=True)
    agent = agent_of(model, memory(store), inside=True)
    scheduler = TestScheduler()
    for text in "abc":
        agent.stream(text).subscribe(scheduler=scheduler)
    scheduler.start()

    assert len(stored(store)) == 3 * 6
    agent.call("last").run()
    open_calls: list[str] = []
    for message in model.requests[-1].messages:
        if isinstance(message, ToolMessage):
            assert open_calls.pop(0) == message.tool_call_id
            continue
        assert open_calls == []
        if isinstance(message, AssistantMessage):
            open_calls = [each.id for each in message.tool_calls]


def test_it_says_what_it_was_made_with() -> None:
    def short(messages: tuple[Message, ...]) -> tuple[Message, ...]:
        return messages[-3:]

    store = MemoryStore()
    assert (
        str(memory(store, window=last_messages(3)))
        == "memory(window=last_messages(3), keep='transcript', on_failure='discard')"
    )
    assert "short" in str(memory(store, window=short))


def test_a_wrong_word_is_refused() -> None:
    store = MemoryStore()
    wrong: list[dict[str, Any]] = [
        {"keep": "all"},
        {"on_failure": "ignore"},
        {"window": 20},
        {"key": "app.session"},
    ]
    for options in wrong:
        with pytest.raises(ConfigurationError):
            memory(store, **options)


def test_what_is_no_store_is_refused_where_it_is_given() -> None:
    wrong: list[Any] = [None, "postgresql://me:secret@host/chats", MemoryStore]
    for given in wrong:
        with pytest.raises(ConfigurationError, match=r"such as MemoryStore\(\)") as at:
            memory(given)
        assert "secret" not in str(at.value)


def test_the_marble_of_the_docstring_is_what_happens() -> None:
    given_, expected = drawn(memory.__doc__)
    assert given_ is not None
    end = ChatResponse(message=AssistantMessage.of("ab"), context=Context(ID))
    letters: Letters = {
        "q": ChatRequest(messages=(UserMessage.of("a"),), context=Context(ID)),
        "a": TextDelta(text="a"),
        "b": TextDelta(text="b"),
        "F": Finished(response=end),
    }
    with marbles_testing(timespan=1.0) as (start, cold, _, exp):
        answer = cold("--a--b--(F,|)", letters, None)
        advised = memory(MemoryStore())(concat_each(lambda _: answer))
        got = start(cold(given_, letters, None).pipe(advised))
        assert comparable(got) == comparable(exp(expected, letters, None))


def test_calls_that_nobody_runs_do_not_matter() -> None:
    """An agent without a loop."""
    store = MemoryStore()
    agent = Agent(ScriptedModel(LOOK, "B"), advisors=[memory(store)], context=ID)
    response = agent.call("a").run()
    agent.call("b").run()

    assert response.tool_calls[0].name == "look"
    assert response.context == Context(ID)

    assert shown(stored(store))[0:2] == ["user a", "assistant let me see calls look"]
