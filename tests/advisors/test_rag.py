from __future__ import annotations

import json
from dataclasses import replace
from typing import Any

import pytest
from reactivex import Observable
from reactivex import operators as ops
from reactivex.testing import TestScheduler

from rxagent.advisors import QA_DOCUMENTS, memory, rag
from rxagent.agent import Agent
from rxagent.cli.json_line import json_line
from rxagent.errors import (
    ConfigurationError,
    DocumentError,
    OverloadedError,
    RateLimitError,
    RetrievalError,
)
from rxagent.events import ChatEvent, Finished, StageFinished
from rxagent.memory import CONVERSATION_ID, MemoryStore
from rxagent.operators import just
from rxagent.retrieval import Document, Field, Filter
from rxagent.stages import (
    AnyStage,
    Retrieval,
    Stage,
    compress,
    expand,
    fit,
    rerank,
    retrieve,
    rewrite,
)
from rxagent.testing import Reply, ScriptedModel
from rxagent.usage import Usage
from tests.library import Library, words

COFFEE = "The Nimbus-7 coffee machine is descaled every 42 days."
KETTLE = "The Stratus kettle boils within 91 seconds."
SPENT = Usage(input_tokens=3, output_tokens=2, requests=1)


def overlap(question: str, found: tuple[Any, ...]) -> Observable[list[float]]:
    return just([float(len(words(question) & words(each.text))) for each in found])


def told(events: list[ChatEvent]) -> list[StageFinished]:
    return [each for each in events if isinstance(each, StageFinished)]


def test_a_pipeline_runs_in_its_order_and_each_stage_is_told() -> None:
    """S004-18, S000-102."""
    library = Library(COFFEE, KETTLE)
    agent = Agent(
        ScriptedModel("42 days"),
        advisors=[
            rag(
                [
                    rewrite(ScriptedModel("Nimbus-7 descaled")),
                    expand(ScriptedModel("Stratus kettle\nNimbus-7 machine")),
                    retrieve(library.search, top_k=20),
                    rerank(overlap, top_n=1),
                    fit(100),
                ]
            )
        ],
    )

    events = list(agent.stream("Hello! How often do I have to clean it?"))

    stages = told(events)
    names = ["rewrite", "expand", "retrieve", "rerank", "fit"]
    assert [each.stage for each in stages] == names
    assert events[:5] == stages
    values = [each.value for each in stages if isinstance(each.value, Retrieval)]
    assert [len(each.queries) for each in values] == [1, 3, 3, 3, 3]
    assert [len(each.documents) for each in values] == [0, 0, 2, 1, 1]
    assert library.asked == ["Nimbus-7 descaled", "Stratus kettle", "Nimbus-7 machine"]
    end = events[-1]
    assert isinstance(end, Finished)
    assert [each.text for each in end.response.context[QA_DOCUMENTS]] == [COFFEE]


def test_the_model_is_asked_with_the_users_words_and_not_with_the_query() -> None:
    model = ScriptedModel("ok")
    stages = [rewrite(ScriptedModel("Nimbus")), retrieve(Library(COFFEE).search)]
    Agent(model, advisors=[rag(stages)]).call("How often?").run()

    text = model.requests[0].messages[-1].text
    assert text.startswith("How often?\n")
    assert COFFEE in text


def test_any_operator_is_a_stage() -> None:
    def without_old(retrieval: Retrieval) -> Retrieval:
        return replace(retrieval, documents=retrieval.documents[:1])

    library = Library("Nimbus a", "Nimbus b")
    plain = ops.map(without_old)
    own = Stage(name="fresh", operator=plain)
    agent = Agent(
        ScriptedModel("ok"), advisors=[rag([retrieve(library.search), plain, own])]
    )

    events = list(agent.stream("Nimbus?"))

    assert [each.stage for each in told(events)][::2] == ["retrieve", "fresh"]
    assert "rag(retrieve, " in agent.describe()


OF_ANN, OF_BOB = (
    Document(id=name, text=f"Nimbus {name}", metadata={"tenant": name})
    for name in ("ann", "bob")
)
ANNS = Field("tenant") == "ann"


def test_no_stage_brings_what_the_filter_excludes() -> None:
    """S001-47: whoever watches is not told of it either."""

    def leaky(retrieval: Retrieval) -> Retrieval:
        return replace(retrieval, documents=(OF_ANN, OF_BOB))

    own = Stage(name="leaky", operator=ops.map(leaky))
    model, seen = ScriptedModel("ok"), list[ChatEvent]()
    agent = Agent(model, advisors=[rag([own], filter=ANNS)])

    with pytest.raises(DocumentError, match="'bob' came from the stage 'leaky', and"):
        agent.stream("Nimbus?").pipe(ops.do_action(seen.append)).run()
    assert (seen, model.requests) == ([], [])

    skipping = Agent(model, advisors=[rag([own], filter=ANNS, on_failure="skip")])
    [stage] = told(list(skipping.stream("Nimbus?")))
    assert "the filter excludes it" in stage.problem
    assert model.requests[0].messages[-1].text == "Nimbus?"


def test_a_stage_that_finds_nothing_is_not_blamed_for_what_was_there_before() -> None:
    """Another one may have narrowed the filter for those behind it."""

    def narrower(retrieval: Retrieval) -> Retrieval:
        return replace(retrieval, query=retrieval.query.within(Field("year") == 2024))

    found = retrieve(lambda _: just((OF_ANN,)))
    narrow = Stage(name="narrow", operator=ops.map(narrower))
    same = Stage(name="same", operator=ops.map(lambda each: each))
    agent = Agent(ScriptedModel("ok"), advisors=[rag([found, narrow, same])])

    assert [each.problem for each in told(list(agent.stream("Nimbus?")))] == [""] * 3


@pytest.mark.parametrize(
    ("other", "found"),
    [
        (None, ["ann"]),
        (Field("tenant") == "bob", []),
        (Field("tenant").is_not_null(), ["ann"]),
        (ANNS & (Field("tenant") != "ann"), []),
    ],
)
def test_a_stage_narrows_the_filter_and_never_widens_it(
    other: Filter | None, found: list[str]
) -> None:
    def changed(retrieval: Retrieval) -> Retrieval:
        return replace(retrieval, query=replace(retrieval.query, filter=other))

    search = Library(OF_ANN, OF_BOB).search
    stages: list[AnyStage] = [ops.map(changed), ops.map(changed), retrieve(search)]
    agent = Agent(ScriptedModel("ok"), advisors=[rag(stages, filter=ANNS)])

    response = agent.call("Nimbus?").run()

    assert [each.id for each in response.context[QA_DOCUMENTS]] == found


def test_a_stage_is_told_before_the_next_one_starts() -> None:
    scheduler, seen = TestScheduler(), list[tuple[float, str]]()
    slow = Reply(deltas=("Nimbus",), first_s=100)
    stages = [
        rewrite(ScriptedModel(slow)),
        expand(ScriptedModel(slow)),
        retrieve(Library(COFFEE).search),
    ]
    agent = Agent(ScriptedModel(slow), advisors=[rag(stages)])

    def note(event: ChatEvent) -> None:
        name = event.stage if isinstance(event, StageFinished) else type(event).__name__
        seen.append((round(scheduler.clock, -2), name))

    agent.stream("q").subscribe(note, scheduler=scheduler)
    scheduler.start()

    assert seen == [
        (100, "rewrite"),
        (200, "expand"),
        (200, "retrieve"),
        (300, "TextDelta"),
        (300, "Finished"),
    ]


@pytest.mark.parametrize("leave_at", [50, 150, 250])
def test_leaving_stops_whatever_is_at_work(leave_at: int) -> None:
    """Law 5."""
    scheduler = TestScheduler()
    models = [ScriptedModel(Reply(deltas=("Nimbus",), first_s=100)) for _ in range(3)]
    stages = [rewrite(models[0]), expand(models[1]), retrieve(Library(COFFEE).search)]
    agent = Agent(models[2], advisors=[rag(stages)])
    events: list[ChatEvent] = []

    subscription = agent.stream("q").subscribe(events.append, scheduler=scheduler)
    scheduler.advance_to(leave_at)
    subscription.dispose()
    count = len(events)
    scheduler.start()

    assert len(events) == count
    assert sum(len(model.requests) for model in models) == 1 + leave_at // 100


def test_what_the_stages_cost_is_counted_for_the_turn() -> None:
    reply = Reply(deltas=("Nimbus",), usage=SPENT)
    stages = [rewrite(ScriptedModel(reply)), expand(ScriptedModel(reply))]
    agent = Agent(ScriptedModel(reply), advisors=[rag(stages)])

    usage = agent.call("q").run().usage

    assert (usage.requests, usage.prompt_tokens, usage.output_tokens) == (3, 9, 6)


def test_an_error_says_what_was_spent_before_it() -> None:
    """Of a stage, and of the model."""
    reply = Reply(deltas=("Nimbus",), usage=SPENT)
    busy = ScriptedModel(OverloadedError("busy"), repeat_last=True)
    broken = rag([rewrite(ScriptedModel(reply)), expand(busy)])
    fine = rag([rewrite(ScriptedModel(reply))])

    for advisor, model in ((broken, ScriptedModel()), (fine, busy)):
        with pytest.raises(OverloadedError) as at:
            Agent(model, advisors=[advisor]).call("q").run()
        assert at.value.usage is not None
        assert at.value.usage.prompt_tokens == 3


def test_a_stage_that_fails_may_be_left_out(caplog: pytest.LogCaptureFixture) -> None:
    busy = ScriptedModel(RateLimitError("slow down"))
    stages = [rewrite(busy), retrieve(Library(COFFEE).search)]
    agent = Agent(ScriptedModel("ok"), advisors=[rag(stages, on_failure="skip")])

    events = list(agent.stream("Nimbus?"))

    assert [each.problem for each in told(events)] == ["slow down", ""]
    end = events[-1]
    assert isinstance(end, Finished)
    assert len(end.response.context[QA_DOCUMENTS]) == 1
    assert "'rewrite' is left out: slow down" in caplog.text


@pytest.mark.parametrize(
    ("operator", "problem"),
    [
        (ops.filter(lambda _: False), "emitted 0 items"),
        (ops.repeat(2), "emitted 2 items"),
        (lambda _: None, "returned None, which is no Observable"),
        (ops.map(lambda _: 1 / 0), "failed with ZeroDivisionError"),
        (ops.map(lambda _: None), "emitted a NoneType, and it has to emit a Retrieval"),
    ],
    ids=["nothing", "twice", "no observable", "raises", "no retrieval"],
)
def test_a_stage_that_is_none_is_an_error_with_its_name(
    operator: Any, problem: str
) -> None:
    stage = Stage(name="odd", operator=operator)

    with pytest.raises(RetrievalError, match=f"'odd' {problem}"):
        Agent(ScriptedModel(), advisors=[rag([stage])]).call("q").run()


def test_a_follow_up_finds_what_it_points_to() -> None:
    """S001-48: inside of the memory the pipeline sees what was said."""
    library, writer = Library(COFFEE, KETTLE), ScriptedModel("Stratus kettle boiling")
    stages = [compress(writer), retrieve(library.search)]
    agent = Agent(
        ScriptedModel("Two machines: Nimbus-7 and Stratus.", "91 seconds"),
        advisors=[memory(MemoryStore()), rag(stages)],
    )
    for prompt in ("Which machines are there?", "And the second one?"):
        agent.call(prompt, context={CONVERSATION_ID.name: "c"}).run()

    [asked] = writer.requests
    assert "Which machines are there?" in asked.messages[-1].text
    assert "Two machines" in asked.messages[-1].text
    assert library.asked == ["Which machines are there?", "Stratus kettle boiling"]


def test_an_event_is_a_line_of_json_without_the_history() -> None:
    store = MemoryStore()
    agent = Agent(
        ScriptedModel("ok", repeat_last=True),
        advisors=[memory(store), rag([retrieve(Library(COFFEE).search)])],
    )
    context = {CONVERSATION_ID.name: "c"}
    agent.call("A long story", context=context).run()

    stage, *_ = agent.stream("Nimbus?", context=context)

    line = json_line(stage)
    assert "A long story" not in line
    decoded = json.loads(line)
    assert (decoded["type"], decoded["stage"]) == ("StageFinished", "retrieve")
    assert decoded["value"]["documents"][0]["text"] == COFFEE


def test_stages_that_are_none_are_refused() -> None:
    not_a_list: Any = retrieve(Library().search)
    not_a_stage: Any = ["retrieve"]
    for stages in (not_a_list, not_a_stage):
        with pytest.raises(ConfigurationError):
            rag(stages)
