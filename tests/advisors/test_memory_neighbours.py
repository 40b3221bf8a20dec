"""What a memory makes of the advisors that it stands next to."""

from __future__ import annotations

import pytest
from reactivex import Observable
from reactivex import operators as ops
from reactivex.subject import Subject

from rxagent.advisors import memory, pii, summarise, tool_loop, vector_memory
from rxagent.advisors._turn_record import OnFailure
from rxagent.agent import Agent
from rxagent.chain import after, chain
from rxagent.errors import AdvisorError, GuardError, OutputError
from rxagent.events import ChatEvent, Finished, TextDelta
from rxagent.guards import block, guard
from rxagent.guards.patterns import EMAIL
from rxagent.memory import LexicalEmbedder, MemoryStore
from rxagent.messages import AssistantMessage
from rxagent.operators import just
from rxagent.requests import ChatRequest
from rxagent.responses import ChatResponse
from rxagent.retrieval import MemoryDocuments
from rxagent.testing import Reply, ScriptedModel, tool_call
from rxagent.types import Advisor
from tests.advisors.remembering import ID, agent_of, assert_valid, look, shown, stored

POLICIES: tuple[OnFailure, ...] = ("discard", "mark", "keep_user")
LOOK = Reply(deltas=("see",), calls=(tool_call("look", what="x"),))


@pytest.mark.parametrize("on_failure", POLICIES)
@pytest.mark.parametrize("is_live", [False, True], ids=["all at once", "live"])
def test_what_a_guard_outside_of_it_has_stopped_is_not_kept(
    is_live: bool, on_failure: OnFailure
) -> None:
    """Q2: the guard's error goes outwards, and the memory is only left."""
    events = [TextDelta(text=text) for text in ("the bo", "mb is", " here")]
    whole = ChatResponse(message=AssistantMessage.of("the bomb is here"))
    live: Subject[ChatEvent] = Subject()

    def model(_: Observable[ChatRequest]) -> Observable[ChatEvent]:
        return live if is_live else just(*events, Finished(response=whole))

    store = MemoryStore()
    remembering = memory(store, on_failure=on_failure)
    advisors = [guard(block("bomb")), remembering]
    errors: list[Exception] = []
    Agent(model, advisors=advisors, context=ID).stream("a").subscribe(
        on_error=errors.append
    )
    for event in events if is_live else ():
        live.on_next(event)

    assert [type(each) for each in errors] == [GuardError]
    assert stored(store) == ()


def test_what_a_guard_outside_of_it_has_stopped_is_not_recalled() -> None:
    index = MemoryDocuments(LexicalEmbedder())
    model = ScriptedModel(Reply(deltas=("the bo", "mb")))
    advisors = [guard(block("bomb")), vector_memory(index)]

    with pytest.raises(GuardError):
        Agent(model, advisors=advisors, context=ID).call("a").run()

    assert index._kept == {}


@pytest.mark.parametrize("is_model", [True, False], ids=["as a model", "as it is"])
def test_an_agent_within_an_agent_is_stopped_with_it(is_model: bool) -> None:
    store = MemoryStore()
    model = ScriptedModel(Reply(deltas=("the bo", "mb")))
    inner = Agent(model, advisors=[memory(store)], context=ID)
    outer = Agent(
        inner if is_model else chain([memory(store)], model),
        advisors=[guard(block("bomb"))],
        context=ID,
    )

    with pytest.raises(GuardError):
        outer.call("a").run()

    assert stored(store) == ()


def test_a_model_that_failed_once_is_asked_again_and_that_turn_is_kept() -> None:
    """The error of a run within another one is not that of the other."""
    store = MemoryStore()
    model = ScriptedModel(OSError("broke"), "A")
    inner = Agent(model, advisors=[memory(store)], context=ID)

    Agent(inner, advisors=[after(ops.retry(2))]).call("a").run()

    assert shown(stored(store)) == ["user a", "assistant A"]


def test_an_answer_that_did_not_pass_is_not_kept_as_one_that_broke_off() -> None:
    def refuse(event: ChatEvent) -> ChatEvent:
        if isinstance(event, Finished):
            raise OutputError("it is no JSON", text=event.response.text)
        return event

    store = MemoryStore()
    remembering = memory(store, on_failure="mark")
    agent = Agent(
        ScriptedModel(LOOK, "bad"),
        tools=[look],
        advisors=[remembering, after(ops.map(refuse)), tool_loop()],
        context=ID,
    )
    with pytest.raises(OutputError):
        agent.call("a").run()

    assert shown(stored(store)) == ["user a", "assistant see calls look", "tool x!"]


@pytest.mark.parametrize("inside", [False, True], ids=["outside", "inside"])
def test_nothing_is_handed_over_where_the_calls_do_not_run(inside: bool) -> None:
    """S000-16."""
    pair: list[Advisor] = [memory(MemoryStore()), tool_loop(eligible=lambda *_: False)]
    agent = Agent(
        ScriptedModel(LOOK),
        tools=[look],
        advisors=pair[::-1] if inside else pair,
        context=ID,
    )

    assert dict(agent.call("a").run().context) == ID


def test_inside_the_loop_a_flow_that_is_subscribed_to_again_asks_again() -> None:
    """Its rounds go on from its own question, not from that of the turn before."""
    store = MemoryStore()
    model = ScriptedModel("hello", LOOK, "A", LOOK, "B")
    agent = agent_of(model, memory(store), inside=True)
    agent.call("hi").run()
    flow = agent.call("a")
    flow.run()
    flow.run()

    turn = ["user a", "assistant see calls look", "tool x!"]
    before = ["user hi", "assistant hello", *turn, "assistant A"]
    assert shown(model.requests[-1].messages) == [*before, *turn]
    assert shown(stored(store)) == [*before, *turn, "assistant B"]
    for request in model.requests:
        assert_valid(request.messages)


KEEPERS: dict[str, Advisor] = {
    "memory": memory(MemoryStore()),
    "vector_memory": vector_memory(MemoryDocuments(LexicalEmbedder())),
    "summarise": summarise(ScriptedModel(), when_tokens=1, store=MemoryStore()),
}


@pytest.mark.parametrize("name", KEEPERS)
def test_nothing_keeps_placeholders_in_place_of_values(name: str) -> None:
    """Two turns number them alike, so one value would come back as another."""
    model = ScriptedModel()
    agent = Agent(model, advisors=[pii([EMAIL]), KEEPERS[name]], context=ID)

    with pytest.raises(AdvisorError, match=f"'{name}' stands right of pii"):
        agent.call("I am ann@example.org").run()

    assert model.requests == []


@pytest.mark.parametrize("on_failure", POLICIES)
@pytest.mark.parametrize("inside", [False, True], ids=["outside", "inside"])
def test_a_store_has_the_values_and_the_model_the_placeholders(
    inside: bool, on_failure: OnFailure
) -> None:
    store = MemoryStore()
    model = ScriptedModel(
        Reply(deltas=("[EMA", "IL_1]?"), calls=(tool_call("look", what="[EMAIL_1]"),)),
        "Yes, [EMAIL_1].",
        Reply(deltas=("[EMAIL_2]", " and [EMAIL_1"), error=OSError("broke")),
        "[EMAIL_1]",
        repeat_last=True,
    )
    remembering = memory(store, on_failure=on_failure)
    pair = [tool_loop(), remembering] if inside else [remembering, tool_loop()]
    agent = Agent(model, tools=[look], advisors=[*pair, pii([EMAIL])], context=ID)

    agent.call("I am ann@example.org").run()
    with pytest.raises(OSError, match="broke"):
        agent.call("I am bob@example.org").run()
    response = agent.call("Who was I?").run()

    assert response.text == "ann@example.org"
    for request in model.requests:
        assert "@" not in " ".join(each.text for each in request.messages)
    kept = " ".join(shown(stored(store)))
    assert "[EMAIL_" not in kept
    assert "ann@example.org!" in kept
