"""Answers to the same question in other words, and to no other one."""

from __future__ import annotations

import logging
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
import reactivex
from hypothesis import given, settings
from hypothesis import strategies as st
from reactivex import Observable
from reactivex.testing import TestScheduler

from rxagent import Agent, Context
from rxagent.advisors import semantic_cache
from rxagent.caching import AnswerStore, MemoryAnswers, QuestionIndex, SqliteAnswers
from rxagent.errors import RetrievalError
from rxagent.memory import LexicalEmbedder
from rxagent.messages import AssistantMessage, Image, SystemMessage, UserMessage
from rxagent.models import LocalEmbeddings
from rxagent.operators import just
from rxagent.requests import ChatRequest, Origin
from rxagent.responses import ChatResponse
from rxagent.retrieval import (
    Document,
    Filter,
    MemoryDocuments,
    Query,
    SqliteDocuments,
)
from rxagent.runtime import run
from rxagent.testing import ScriptedModel
from rxagent.types import Advisor, Exchange
from rxagent.usage import Usage
from tests.advisors.test_exact_cache import (
    OTHERS,
    Asking,
    answers,
    ask,
    end,
    said,
    slow,
)

HOW, ALSO = "How do I reset my password?", "how can I reset my password"


def cache(
    store: AnswerStore | None = None,
    index: QuestionIndex | None = None,
    **options: Any,
) -> Advisor:
    known: dict[str, Any] = {"namespace": "test", "threshold": 0.7, **options}
    return semantic_cache(
        store or MemoryAnswers(),
        index or MemoryDocuments(LexicalEmbedder()),
        **known,
    )


def ends(exchange: Exchange, *requests: ChatRequest) -> list[ChatResponse]:
    return [end(each) for each in answers(exchange, *requests)]


def counting() -> ScriptedModel:
    """A model that says how often it was asked."""
    model = ScriptedModel(lambda _: str(len(model.requests)), repeat_last=True)
    return model


def test_the_same_in_other_words_is_answered_without_a_model_call() -> None:
    """S001-81."""
    model = counting()

    first, second, third = answers(cache()(model), ask(HOW), ask(ALSO), ask(HOW))

    assert len(model.requests) == 1
    assert said(second) == said(third) == "1"
    assert (end(first).cached, end(second).cached, end(third).cached) == (
        False,
        True,
        True,
    )
    assert end(second).usage == Usage()


def test_another_question_is_asked() -> None:
    model = counting()
    texts = [HOW, "What is the capital of France?", "Where is the next station?"]
    assert [each.text for each in ends(cache()(model), *map(ask, texts))] == [
        "1",
        "2",
        "3",
    ]


def test_two_and_two_is_not_two_and_three() -> None:
    """However close they are: here all questions are the same to the embedder."""

    def alike(texts: Sequence[str]) -> Observable[tuple[tuple[float, ...], ...]]:
        return just(tuple((1.0, 0.0) for _ in texts))

    def exchange(**options: Any) -> Exchange:
        index = MemoryDocuments(alike)
        return cache(index=index, threshold=1.0, **options)(counting())

    sums = ask("What is 2+2?"), ask("What is 2+3?"), ask("What's 2+3?")
    assert [each.text for each in ends(exchange(), *sums)] == ["1", "2", "2"]
    anything = exchange(check=lambda _, __: True)
    assert [each.text for each in ends(anything, *sums)] == ["1", "1", "1"]


def test_a_close_one_that_fails_the_check_hides_no_other_one() -> None:
    questions = [f"What is the sum of 2 and {n}?" for n in range(6)]
    again = "what's the sum of 2 and 0?"
    found = ends(cache()(counting()), *map(ask, questions), ask(again))
    assert [each.text for each in found] == [*"123456", "1"]


@pytest.mark.parametrize("name", sorted(OTHERS.keys() - {"question", "pieces"}))
def test_only_the_words_of_the_question_may_differ(name: str) -> None:
    """V-20; acceptance 74, 75: all else is exact."""
    other = OTHERS[name]
    entry = other.entry
    assert entry is not None
    shown = [each for each in entry.content if isinstance(each, Image)]
    said_before = UserMessage.of(ALSO, *shown)
    asked = replace(other, messages=(*other.messages[:-1], said_before))

    found = ends(cache()(counting()), ask(HOW), asked, asked)

    assert [each.text for each in found] == ["1", "2", "2"]


NAMES = st.text(max_size=3)


@settings(max_examples=40)
@given(
    tenants=st.tuples(NAMES, NAMES),
    namespaces=st.tuples(NAMES, NAMES),
)
def test_two_tenants_never_share(
    tenants: tuple[str, str], namespaces: tuple[str, str]
) -> None:
    """V-20, in one store and one index."""
    store, index = MemoryAnswers(), MemoryDocuments(LexicalEmbedder())
    model = ScriptedModel(lambda asked: asked.origin.run_id, repeat_last=True)

    found = [
        said(
            answers(
                cache(store, index, namespace=namespace)(model),
                ask(
                    text,
                    context=Context({"tenant": tenant}),
                    origin=Origin(run_id=name),
                ),
            )[0]
        )
        for name, text, tenant, namespace in zip(
            ("me", "you"), (HOW, ALSO), tenants, namespaces, strict=True
        )
    ]

    is_same = tenants[0] == tenants[1] and namespaces[0] == namespaces[1]
    assert found == (["me", "me"] if is_same else ["me", "you"])


def test_a_picture_alone_is_looked_up_exactly() -> None:
    def show(data: bytes) -> ChatRequest:
        return ask(messages=(UserMessage.of(Image(data=data)),))

    found = ends(cache()(counting()), show(b"1"), show(b"2"), show(b"1"))
    assert [each.text for each in found] == ["1", "2", "1"]


def test_a_request_that_does_not_end_with_the_user_is_looked_up_exactly() -> None:
    half = ask(messages=(UserMessage.of(HOW), AssistantMessage.of("You")))
    found = ends(cache()(counting()), half, half)
    assert [each.text for each in found] == ["1", "1"]


def test_a_system_text_that_is_shared_keeps_nothing_apart() -> None:
    system = SystemMessage.of("Be brief.")
    asked = [ask(messages=(system, UserMessage.of(each))) for each in (HOW, ALSO)]
    assert [each.text for each in ends(cache()(counting()), *asked)] == ["1", "1"]


def ids_in(index: MemoryDocuments) -> list[str]:
    found: list[str] = []
    query = Query(text=HOW, top_k=9)
    index.by_vector(query).subscribe(lambda each: found.extend(d.text for d in each))
    return sorted(found)


def test_an_index_that_knows_no_filter_answers_nobody(
    caplog: pytest.LogCaptureFixture,
) -> None:
    class Deaf(MemoryDocuments):
        def by_vector(self, query: Query) -> Observable[tuple[Document, ...]]:
            return super().by_vector(replace(query, filter=None))

    model, index = counting(), Deaf(LexicalEmbedder())
    exchange = cache(index=index, key=lambda asked: asked.context["who"])(model)

    def of(who: str) -> ChatRequest:
        asked = ask(HOW if who == "ann" else ALSO)
        return replace(asked, context=Context({"who": who}))

    assert [each.text for each in ends(exchange, of("ann"), of("bob"))] == ["1", "2"]
    assert "the filter excludes it" in caplog.text


def test_a_question_whose_answer_is_too_old_is_forgotten() -> None:
    index = MemoryDocuments(LexicalEmbedder())
    model = counting()
    exchange = cache(index=index, ttl_s=60)(model)
    questions = Asking(exchange=exchange, clock=TestScheduler())
    first = questions.at(100, ask(HOW))
    late = questions.at(161, ask(ALSO))

    questions.clock.start()

    assert (first.text, late.text) == ("1", "2")
    assert ids_in(index) == [ALSO]


def test_a_question_without_an_answer_hides_no_other_one() -> None:
    """The closest ones are dead, and what is behind them lives."""
    store, index = MemoryAnswers(), MemoryDocuments(LexicalEmbedder())
    dead = [f"How do I reset my password{end}" for end in (" today", " now", " again")]

    def never(_asked: str, _known: str) -> bool:
        return False

    def always(_asked: str, _known: str) -> bool:
        return True

    apart = cache(store, index, check=never)
    ends(apart(counting()), *map(ask, dead))
    assert run(store.clear()) == 3
    ends(apart(ScriptedModel("live")), ask("reset my password"))

    close = cache(store, index, threshold=0.3, check=always)
    [found] = ends(close(ScriptedModel()), ask("How do I reset my password today?"))

    assert (found.text, found.cached) == ("live", True)
    assert ids_in(index) == ["reset my password"]


def test_a_question_whose_answer_had_to_go_is_forgotten() -> None:
    """The index is bounded as the store is."""
    index = MemoryDocuments(LexicalEmbedder())
    exchange = cache(MemoryAnswers(max_entries=2), index)(counting())
    texts = ["Reset 1?", "Reset 2?", "Reset 3?", "Reset 4?"]
    ends(exchange, *map(ask, texts))
    assert ids_in(index) == ["Reset 3?", "Reset 4?"]


def test_of_those_who_ask_the_same_at_once_one_asks() -> None:
    model = ScriptedModel(slow())
    questions = Asking(exchange=cache()(model), clock=TestScheduler())
    asked = [questions.at(when, ask(HOW)) for when in (100, 101, 102)]
    questions.clock.start()
    assert [each.text for each in asked] == ["yes"] * 3
    assert len(model.requests) == 1


class BrokenIndex:
    """An index whose embedder is down."""

    def add(self, documents: Sequence[Document]) -> Observable[int]:
        return reactivex.throw(RetrievalError("the embedder is down"))

    def by_vector(self, query: Query) -> Observable[tuple[Document, ...]]:
        raise RetrievalError("the embedder is down")

    def delete(self, which: Iterable[str] | Filter) -> Observable[int]:
        return just(0)


def test_an_embedder_that_fails_is_logged_and_the_model_asked(
    caplog: pytest.LogCaptureFixture,
) -> None:
    """Law 8.  What is kept is found exactly all the same."""
    with caplog.at_level(logging.WARNING):
        found = ends(cache(index=BrokenIndex())(counting()), ask(HOW), ask(ALSO))
        again = ends(cache(index=BrokenIndex())(counting()), ask(HOW), ask(HOW))
    assert [each.text for each in found] == ["1", "2"]
    assert [each.text for each in again] == ["1", "1"]
    told = [each.getMessage() for each in caplog.records]
    assert told[0] == "an answer cannot be looked up: the embedder is down"
    assert told[1] == "an answer cannot be kept: the embedder is down"


def test_it_shows_its_settings_and_nothing_that_was_said() -> None:
    advisor = semantic_cache(
        MemoryAnswers(), MemoryDocuments(LexicalEmbedder()), namespace="faq"
    )
    answers(advisor(ScriptedModel("secret")), ask("secret"))
    assert repr(advisor) == (
        "semantic_cache(namespace='faq', threshold=0.95, check=same_facts, "
        "ttl_s=3600.0, tools=False)"
    )


def test_a_wrong_option_is_refused_at_once() -> None:
    wrong: list[Mapping[str, Any]] = [
        {"threshold": 0},
        {"threshold": 1.1},
        {"threshold": "0.9"},
        {"store": MemoryAnswers},
        {"index": "documents"},
        {"namespace": None},
        {"check": None},
        {"ttl_s": -1},
        {"check": 0.9},
        {"key": "tenant"},
    ]
    for options in wrong:
        [name] = options
        with pytest.raises(ValueError, match=name):
            cache(**options)


def test_it_works_in_an_agent_behind_instructions() -> None:
    agent = Agent(counting(), system="Be brief.", advisors=[cache()])
    texts = [agent.call(each).run().text for each in (HOW, ALSO, "Who are you?")]
    assert texts == ["1", "1", "2"]


def test_questions_and_answers_outlive_the_process(tmp_path: Path) -> None:
    cached: list[bool] = []
    for text in (HOW, ALSO):
        with (
            SqliteAnswers(tmp_path / "answers.db") as store,
            SqliteDocuments(
                tmp_path / "questions.db", embedder=LexicalEmbedder()
            ) as index,
        ):
            agent = Agent(ScriptedModel("So."), advisors=[cache(store, index)])
            cached.append(agent.call(text).run().cached)
    assert cached == [False, True]


CLOSE = [
    (HOW, "How can I reset my password?"),
    ("What's the weather in Oslo today?", "How is the weather in Oslo today?"),
]
FAR = [
    ("Is aspirin safe for dogs?", "Is aspirin not safe for dogs?"),
    ("Ibuprofen with alcohol?", "Ibuprofen without alcohol?"),
    ("from Paris to London by train", "from London to Paris by train"),
    ("What is 2+2?", "What is 2+3?"),
    ("How do I enable logging?", "How do I disable logging?"),
    ("what is the capital of france", "what is the capital of germany"),
]


def test_with_a_real_embedder_the_defaults_tell_questions_apart() -> None:
    """Three of those far apart are closer to it than those that are the same."""
    index = MemoryDocuments(LocalEmbeddings())
    store = MemoryAnswers()
    advisor = semantic_cache(store, index, namespace="real")
    agent = Agent(counting(), advisors=[advisor])

    def is_cached(text: str) -> bool:
        return agent.call(text).run().cached

    for known, _ in CLOSE + FAR:
        assert not is_cached(known)
    assert [is_cached(asked) for _, asked in CLOSE] == [True] * len(CLOSE)
    assert [is_cached(asked) for _, asked in FAR] == [False] * len(FAR)
