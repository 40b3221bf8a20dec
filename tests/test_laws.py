"""The laws of the design, over everything: who adds a name here has it covered.

An advisor, operator or model that is in its catalogue and not in these tables fails.
"""

from __future__ import annotations

import sys
import threading
from collections.abc import Callable, Mapping
from dataclasses import replace
from typing import Any, TypeAlias

import pytest
import reactivex
from hypothesis import given, settings
from hypothesis import strategies as st
from reactivex import Observable
from reactivex import operators as ops

from rxagent import advisors, entities, guards, models, operators, stages
from rxagent.advisors import (
    QA_DOCUMENTS,
    budget,
    citations,
    exact_cache,
    hold_until,
    log,
    memory,
    pii,
    prompt_memory,
    question_answer,
    rag,
    re_reading,
    safeguard,
    schema_tools,
    semantic_cache,
    summarise,
    tool_loop,
    tool_search,
    trim,
    validate,
    vector_memory,
)
from rxagent.agent import Agent
from rxagent.caching import MemoryAnswers
from rxagent.chain import before
from rxagent.entities import elements, entity, fields, partials
from rxagent.errors import AdvisorError
from rxagent.events import ChatEvent, Finished, TextDelta
from rxagent.guards import (
    EventGuard,
    TextGuard,
    block,
    by_chars,
    by_line,
    by_paragraph,
    by_sentence,
    by_tokens,
    cap_chars,
    cap_tokens,
    guard,
    hold_release,
    json_only,
    moderate,
    redact,
    smooth,
    stop_on,
    think_tags,
)
from rxagent.memory import (
    CONVERSATION_ID,
    LexicalEmbedder,
    MemoryStore,
)
from rxagent.messages import AssistantMessage
from rxagent.operators import (
    coalesce,
    collect_text,
    concat_each,
    expand_rounds,
    fuse,
    just,
    one_finished,
    responses,
    retry_backoff,
    texts,
    timeouts,
    transduce,
)
from rxagent.requests import ChatRequest
from rxagent.responses import ChatResponse, FinishReason
from rxagent.retrieval import Document, MemoryDocuments, Query
from rxagent.runtime import Flow
from rxagent.stages import AnyStage, Retrieval, retrieve, rewrite
from rxagent.testing import (
    Reply,
    ScriptedModel,
    assert_advisor_laws,
    assert_guard_laws,
    assert_operator_laws,
    tool_call,
)
from rxagent.tools import tool
from rxagent.types import Advisor
from tests.embedders import EMBEDDERS, vector_of
from tests.library import Library
from tests.servers import Answer, Asked, ChatServer, never
from tests.test_chain import probe

ADVISORS: Mapping[str, Callable[[], Advisor]] = {
    "hold_until": lambda: hold_until(lambda _: just(True)),
    "log": lambda: log(events=True),
    "memory": lambda: in_conversation(memory(MemoryStore(), on_failure="mark")),
    "prompt_memory": lambda: in_conversation(prompt_memory(MemoryStore())),
    "citations": lambda: with_documents(citations(write=lambda n, _: f"({n})")),
    "budget": lambda: budget(max_tokens=1, count=lambda asked: asked.text.count("l")),
    "pii": lambda: pii("hello"),
    "question_answer": lambda: question_answer(Library("hello").search, cite=True),
    "rag": lambda: rag(
        [rewrite(ScriptedModel("hello", repeat_last=True)), retrieve(_search)]
    ),
    "exact_cache": lambda: anew(lambda: exact_cache(MemoryAnswers(), namespace="law")),
    "re_reading": re_reading,
    "safeguard": lambda: safeguard(["hello"]),
    "schema_tools": schema_tools,
    "semantic_cache": lambda: anew(
        lambda: semantic_cache(
            MemoryAnswers(), MemoryDocuments(LexicalEmbedder()), namespace="law"
        )
    ),
    "summarise": lambda: summarise(ScriptedModel(), when_tokens=1_000),
    "tool_loop": tool_loop,
    "tool_search": tool_search,
    "trim": lambda: trim(1_000),
    "validate": lambda: validate(check=lambda response: None),
    "vector_memory": lambda: in_conversation(
        vector_memory(MemoryDocuments(LexicalEmbedder()))
    ),
}

# What advisors take, and a prompt that one of them reads.
TAKEN = {"AnswerCheck", "Ranking", "by_spelling", "resuming"}


def _search(_: Query) -> Observable[tuple[Document, ...]]:
    return just((Document(id="a", text="hello"),))


def with_documents(advisor: Advisor) -> Advisor:
    """The same, for requests that bring documents along."""

    def given(request: ChatRequest) -> ChatRequest:
        documents = (Document(id="a", text="hello"),)
        return replace(request, context=request.context.set(QA_DOCUMENTS, documents))

    return lambda inner: before(given)(advisor(inner))


def in_conversation(advisor: Advisor) -> Advisor:
    """The same, for requests that say no conversation."""

    def named(request: ChatRequest) -> ChatRequest:
        return replace(request, context=request.context.set(CONVERSATION_ID, "law"))

    return lambda inner: before(named)(advisor(inner))


def anew(make: Callable[[], Advisor]) -> Advisor:
    """One that has seen nothing yet for each turn, of those that are to remember."""
    return lambda inner: lambda asked: reactivex.defer(lambda _: make()(inner)(asked))


GUARDS: Mapping[str, Callable[[], TextGuard | EventGuard]] = {
    "block": lambda: block("never said"),
    "by_chars": lambda: by_chars(3),
    "by_line": by_line,
    "by_paragraph": by_paragraph,
    "by_sentence": by_sentence,
    "by_tokens": lambda: by_tokens(2),
    "cap_chars": lambda: cap_chars(3),
    "cap_tokens": lambda: cap_tokens(2),
    "hold_release": lambda: hold_release(lambda _: None),
    "json_only": json_only,
    "moderate": lambda: moderate(lambda _: True),
    "redact": lambda: redact("l+"),
    "smooth": smooth,
    "stop_on": lambda: stop_on("lo"),
    "think_tags": think_tags,
}

SHAPES = {"Channel", "EventGuard", "Match", "Pattern", "Seconds", "TextGuard"}
CHECKS = {"ask"}  # what guards take


_END = Finished(response=ChatResponse(message=AssistantMessage.of("ab")))
_EVENTS: tuple[ChatEvent, ...] = (TextDelta(text="a"), TextDelta(text="b"), _END)


class _Doubles:
    def feed(self, item: object, /) -> tuple[object, object]:
        return (item, item)

    def flush(self) -> tuple[str]:
        return ("end",)


def _one_round(source: Observable[Any]) -> Observable[Any]:
    def nothing() -> object:
        return None

    def last(_: object, item: object) -> object:
        return item

    return source.pipe(expand_rounds(nothing, last, lambda _: None))


def _twice(item: object) -> Observable[object]:
    return just(item, item)


Vectors: TypeAlias = tuple[tuple[float, ...], ...]
_Operator: TypeAlias = Callable[[Observable[Any]], Observable[Any]]

OPERATORS: Mapping[str, Callable[[], _Operator]] = {
    "coalesce": lambda: coalesce(1),
    "collect_text": collect_text,
    "concat_each": lambda: concat_each(_twice),
    "expand_rounds": lambda: _one_round,
    "fuse": lambda: fuse([transduce(_Doubles), transduce(_Doubles)]),
    "one_finished": lambda: one_finished("law"),
    "responses": responses,
    "retry_backoff": retry_backoff,
    "texts": texts,
    "timeouts": lambda: timeouts(first_s=1000, gap_s=1000, turn_s=1000),
    "transduce": lambda: transduce(_Doubles),
}
_FOUND = tuple(Document(id=each, text=f"hello {each}") for each in "ab")
_RETRIEVAL = replace(Retrieval.of(Query(text="hello")), documents=_FOUND)


def _says(text: str) -> ScriptedModel:
    return ScriptedModel(text, repeat_last=True)


STAGES: Mapping[str, Callable[[], AnyStage]] = {
    "Stage": lambda: stages.Stage(name="own", operator=ops.map(lambda each: each)),
    "compress": lambda: stages.compress(_says("hi")),
    "diversify": lambda: stages.diversify(LexicalEmbedder(), top_n=1),
    "expand": lambda: stages.expand(_says("hi")),
    "fit": lambda: stages.fit(100),
    "judge": lambda: stages.judge(_says("1: 2")),
    "rerank": lambda: stages.rerank(lambda _, found: just([1.0] * len(found))),
    "retrieve": lambda: retrieve(_search),
    "rewrite": lambda: rewrite(_says("hi")),
    "route": lambda: stages.route(lambda _: "a", {"a": [retrieve(_search)]}),
    "translate": lambda: stages.translate(_says("hi"), language="Latin"),
    "widen": lambda: stages.widen(lambda each: just((each,))),
}
AROUND_STAGES = {"Retrieval", "as_retriever", "by_score"}  # what they make, and take

SOURCES = {"just"}  # no operators: they have no source

ENTITIES: Mapping[str, Callable[[], _Operator]] = {
    "elements": lambda: elements(int),
    "entity": lambda: entity(list[int]),
    "fields": fields,
    "partials": lambda: partials(list[int]),
}
_LIST = Finished(response=ChatResponse(message=AssistantMessage.of("[1, 2]")))
_LIST_EVENTS = (*(TextDelta(text=each) for each in ("[1", ", ", "2]")), _LIST)

# What each model is held to where it can answer: over its own server.
MODELS = {
    "AnthropicChat": "tests/models/test_anthropic_chat.py",
    "Fallback": "tests/models/test_fallback.py",
    "GeminiChat": "tests/models/test_gemini_chat.py",
    "LocalChat": "tests/models/test_local_chat.py",
    "OllamaChat": "tests/models/test_ollama_chat.py",
    "OpenAIChat": "tests/models/test_openai_chat.py",
    "OpenAIResponses": "tests/models/test_openai_responses.py",
}
HERE = {"LocalEmbeddings": "tests/models/test_local_embeddings.py"}  # no server
DOORS = {"Provider", "Vendor", "model"}  # how one gets at them

REPLIES = st.builds(
    Reply,
    deltas=st.lists(st.text(max_size=5), max_size=5).map(tuple),
    reasoning=st.lists(st.text(max_size=5), max_size=3).map(tuple),
    finish_reason=st.none()
    | st.sampled_from(list[FinishReason](["stop", "length", "content_filter"])),
)


def names_of(catalogue: Any) -> set[str]:
    found = {name: getattr(catalogue, name) for name in catalogue.__all__}
    return {name for name, each in found.items() if callable(each)}


def test_everything_in_the_catalogues_is_held_to_the_laws() -> None:
    assert names_of(advisors) == set(ADVISORS) | TAKEN
    assert names_of(guards) == set(GUARDS) | SHAPES | CHECKS | {"guard"}
    assert names_of(stages) == set(STAGES) | AROUND_STAGES | {"AnyStage", "Relevance"}
    assert names_of(operators) == set(OPERATORS) | SOURCES
    assert names_of(entities) == set(ENTITIES) | {"Partial"}
    assert names_of(models) == set(MODELS) | set(EMBEDDERS) | set(HERE) | DOORS


@pytest.mark.parametrize("name", GUARDS)
def test_a_text_guard_holds_the_laws(name: str) -> None:
    each = GUARDS[name]()
    if not isinstance(each, EventGuard):
        assert_guard_laws(each)


@pytest.mark.parametrize("name", ADVISORS)
def test_an_advisor_holds_the_laws(name: str) -> None:
    """Laws 1, 2, 5, 7, 8."""
    assert_advisor_laws(ADVISORS[name]())


@pytest.mark.parametrize("name", ADVISORS)
@settings(max_examples=15)
@given(reply=REPLIES)
def test_an_advisor_holds_the_laws_over_any_answer(name: str, reply: Reply) -> None:
    """Laws 1, 2, 5."""
    assert_advisor_laws(ADVISORS[name](), reply=reply)


@pytest.mark.parametrize("name", ADVISORS)
@given(reply=REPLIES)
def test_call_is_the_end_of_stream(name: str, reply: Reply) -> None:
    """Law 3."""
    model = ScriptedModel(reply, repeat_last=True)
    agent = Agent(model, advisors=[ADVISORS[name]()])

    end = list(agent.stream("hello"))[-1]

    assert isinstance(end, Finished)
    assert agent.call("hello").run() == end.response


@pytest.mark.parametrize("name", ADVISORS)
def test_an_error_of_the_model_arrives_as_it_is(name: str) -> None:
    """Laws 3, 8."""
    broken = OSError("the model broke")
    model = ScriptedModel(broken, repeat_last=True)
    agent = Agent(model, advisors=[ADVISORS[name]()])

    for flow in (agent.stream("other"), agent.call("other")):
        with pytest.raises(OSError, match="the model broke") as at:
            flow.run()
        assert at.value is broken


@pytest.mark.parametrize("name", ADVISORS)
def test_the_list_is_the_order_around_every_advisor(name: str) -> None:
    """Law 6."""
    seen: list[str] = []
    chain = [probe("outer", seen), ADVISORS[name](), probe("inner", seen)]

    Agent(ScriptedModel("fine"), advisors=chain).call("other").run()

    assert seen == ["outer in", "inner in", "inner back", "outer back"]


@pytest.mark.parametrize("name", ADVISORS)
def test_work_grows_with_the_answer_and_no_faster(name: str) -> None:
    """Law 9: events in, events out; nothing is looked at twice."""

    def work(deltas: int) -> int:
        reply = Reply(deltas=("x",) * deltas)
        agent = Agent(ScriptedModel(reply), advisors=[ADVISORS[name]()])
        return calls_made(lambda: agent.stream("other").subscribe())

    work(10)  # what is done once in a process
    small, large = work(200), work(400)
    assert large - small <= 1.1 * small


def test_rounds_cost_the_same_however_long_the_history_is() -> None:
    """Law 9."""

    @tool
    def step() -> Observable[str]:
        """Step."""
        return just("ok")

    def work(rounds: int) -> int:
        script = [Reply(calls=(tool_call("step"),))] * rounds
        agent = Agent(
            ScriptedModel(*script, "done"),
            tools=[step],
            advisors=[tool_loop(max_rounds=rounds + 1)],
        )
        return calls_made(lambda: agent.stream("go").subscribe())

    work(3)
    small, large = work(50), work(100)
    assert large - small <= 1.1 * small


def calls_made(run: Callable[[], object]) -> int:
    """How many Python functions ``run`` calls: work, without a clock."""
    count = 0

    def count_calls(_: object, event: str, __: object) -> None:
        nonlocal count
        count += event == "call"

    before = sys.getprofile()
    sys.setprofile(count_calls)
    try:
        run()
    finally:
        sys.setprofile(before)
    return count


@pytest.mark.parametrize("name", GUARDS)
def test_a_guard_holds_the_laws(name: str) -> None:
    """Laws 1, 2, 5, 7, 8."""
    assert_advisor_laws(guard(GUARDS[name]()))


@pytest.mark.parametrize("name", GUARDS)
@settings(max_examples=15)
@given(reply=REPLIES)
def test_a_guard_holds_the_laws_over_any_answer(name: str, reply: Reply) -> None:
    """Laws 1, 2, 5."""
    assert_advisor_laws(guard(GUARDS[name]()), reply=reply)


@pytest.mark.parametrize("name", OPERATORS)
def test_an_operator_holds_the_laws(name: str) -> None:
    assert_operator_laws(OPERATORS[name](), _EVENTS)


@pytest.mark.parametrize("name", ENTITIES)
def test_an_operator_that_reads_answers_holds_the_laws(name: str) -> None:
    assert_operator_laws(ENTITIES[name](), _LIST_EVENTS)


@pytest.mark.parametrize("name", STAGES)
def test_a_stage_holds_the_laws_of_operators(name: str) -> None:
    assert_operator_laws(STAGES[name](), [_RETRIEVAL, Retrieval.of(Query(text="x"))])


@pytest.mark.parametrize("name", sorted(set(OPERATORS) - {"one_finished"}))
@given(events=st.lists(st.sampled_from(_EVENTS), max_size=6))
def test_an_operator_holds_the_laws_over_any_events(
    name: str, events: list[ChatEvent]
) -> None:
    assert_operator_laws(OPERATORS[name](), events)


@pytest.mark.parametrize("name", EMBEDDERS)
def test_vectors_are_in_the_order_of_their_texts(name: str) -> None:
    """Whichever request is answered first: here the first one waits for the third."""
    case = EMBEDDERS[name]
    third_was_asked = threading.Event()

    def answer(asked: Asked) -> Answer:
        if case.texts(asked) == ["a", "b"]:
            assert third_was_asked.wait(5)
        elif case.texts(asked) == ["eeeee"]:
            third_was_asked.set()
        return case.answer(vector_of)(asked)

    texts = ["a", "b", "ccc", "a", "eeeee"]
    with ChatServer(answer) as server:
        embed = case.make(server, batch_size=2, max_concurrency=2)
        vectors = Flow[Vectors].of(embed(texts)).run()

    assert vectors == tuple(tuple(vector_of(text)) for text in texts)
    assert sorted(map(case.texts, server.asked)) == [
        ["a", "b"],
        ["ccc", "a"],
        ["eeeee"],
    ]


@pytest.mark.parametrize("name", EMBEDDERS)
def test_an_embedder_is_cold_and_fresh(name: str) -> None:
    """Law 2; what the caller does with the list afterwards changes nothing."""
    case, texts = EMBEDDERS[name], ["a", "b"]
    with ChatServer(case.answer(vector_of)) as server:
        source = case.make(server)(texts)
        texts.clear()
        assert server.asked == []
        first, second = (Flow[Vectors].of(source).run() for _ in range(2))

    assert first == second == (tuple(vector_of("a")), tuple(vector_of("b")))
    assert [case.texts(asked) for asked in server.asked] == [["a", "b"]] * 2


@pytest.mark.parametrize("name", EMBEDDERS)
def test_no_texts_are_no_request(name: str) -> None:
    case = EMBEDDERS[name]
    with ChatServer(case.answer(vector_of)) as server:
        assert Flow[Vectors].of(case.make(server)([])).run() == ()

    assert server.asked == []


@pytest.mark.parametrize("name", EMBEDDERS)
def test_leaving_an_embedder_closes_its_request_and_asks_no_more(name: str) -> None:
    """Law 5."""
    case = EMBEDDERS[name]
    with ChatServer(never()) as server:
        subscription = case.make(server, batch_size=1)(["a", "b"]).subscribe()
        assert server.was_asked.wait(5)
        subscription.dispose()
        assert server.hung_up.wait(5)

    assert len(server.asked) == 1


def test_a_broken_grammar_never_leaves_an_agent() -> None:
    """Law 1, at the edge: whatever the model does."""

    def silent(requests: Observable[Any]) -> Observable[ChatEvent]:
        return just(TextDelta(text="a"))

    with pytest.raises(AdvisorError):
        Agent(silent).call("hi").run()
