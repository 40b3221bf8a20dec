from __future__ import annotations

import pytest
import reactivex
from hypothesis import given
from hypothesis import strategies as st
from reactivex.testing.marbles import marbles_testing

from rxagent.advisors import REFUSAL, safeguard
from rxagent.agent import Agent
from rxagent.chain import chain
from rxagent.context import Context
from rxagent.errors import ConfigurationError
from rxagent.events import ChatEvent, Finished, TextDelta
from rxagent.messages import (
    AssistantMessage,
    Message,
    SystemMessage,
    ToolCall,
    ToolMessage,
    UserMessage,
)
from rxagent.requests import ChatRequest
from rxagent.responses import ChatResponse
from rxagent.testing import ScriptedModel, assert_advisor_laws
from rxagent.usage import Usage
from tests.marbles import Letters, comparable, drawn


def is_blocked(text: str, *words: str, look_alikes: bool = True) -> bool:
    advisor = safeguard(words, look_alikes=look_alikes)
    response = Agent(ScriptedModel("fine"), advisors=[advisor]).call(text).run()
    return response.finish_reason == "blocked"


def test_a_banned_word_is_answered_without_the_model() -> None:
    """S000-84, S000-85, S001-17, S001-18, M-64."""
    model = ScriptedModel()
    agent = Agent(model, advisors=[safeguard(["bomb"])], context={"tenant": "a"})

    response = agent.call("how to build a bomb").run()

    assert response.text == REFUSAL
    assert (response.finish_reason, response.blocked_by) == ("blocked", "safeguard")
    assert response.usage == Usage()
    assert response.context == Context({"tenant": "a"})
    assert response.transcript == ()
    assert model.requests == []


def test_a_blocked_answer_streams_as_one_text_and_its_end() -> None:
    """S001-11."""
    agent = Agent(ScriptedModel(), advisors=[safeguard(["bomb"], refusal="No.")])

    events = list(agent.stream("bomb"))

    assert [type(event) for event in events] == [TextDelta, Finished]
    assert list(agent.stream("bomb").text()) == ["No."]


@pytest.mark.parametrize(
    ("text", "word"),
    [
        ("BOMB", "bomb"),
        ("bomb", "BOMB"),
        ("ｂｏｍｂ", "bomb"),
        ("b\u200bomb", "bomb"),
        ("b\u00adomb", "bomb"),
        ("bоmb", "bomb"),  # a Cyrillic о
        ("cаt", "cat"),  # a Cyrillic а
        ("IRAN", "iran"),
        ("İRAN", "iran"),
        ("ıran", "iran"),
        ("STRASSE", "straße"),
        ("straße", "STRASSE"),
        ("CAFE\u0301", "café"),
        ("炸弹怎么做", "炸弹"),
    ],
)
def test_disguise_does_not_hide_a_word(text: str, word: str) -> None:
    """S000-86, S001-12, S001-14."""
    assert is_blocked(f"about {text} please", word)


def test_letters_of_other_scripts_can_be_taken_as_they_are() -> None:
    assert not is_blocked("bоmb", "bomb", look_alikes=False)
    assert is_blocked("İRAN ıran", "iran", look_alikes=False)


@pytest.mark.parametrize("words", [(), ("",), (" ", "\u200b")])
def test_no_words_and_blank_words_block_nothing(words: tuple[str, ...]) -> None:
    """S001-15."""
    assert not is_blocked("anything at all", *words)


def test_history_and_system_text_are_not_looked_at() -> None:
    """S000-87, S001-13."""
    messages: list[Message] = [
        SystemMessage.of("never speak of the bomb"),
        UserMessage.of("bomb?"),
        AssistantMessage.of("no"),
        UserMessage.of("then a poem"),
    ]
    scan_all = Agent(ScriptedModel(), advisors=[safeguard(["bomb"], whole_prompt=True)])
    scan_entry = Agent(ScriptedModel("ok"), advisors=[safeguard(["bomb"])])

    assert scan_entry.call(messages).run().text == "ok"
    assert scan_all.call(messages).run().blocked_by == "safeguard"


def test_a_turn_without_an_entry_passes() -> None:
    """S000-89, S000-90: a resume, or a tool result that holds the word."""
    call = ToolCall(id="1", name="f")
    messages: list[Message] = [
        UserMessage.of("go on"),
        AssistantMessage.of(call),
        ToolMessage.of("bomb", call=call),
    ]
    agent = Agent(ScriptedModel("ok"), advisors=[safeguard(["bomb"])])

    assert agent.call(messages).run().text == "ok"


def test_one_string_is_not_a_list_of_letters() -> None:
    with pytest.raises(ConfigurationError, match=r"write safeguard\(\['bomb'\]\)"):
        safeguard("bomb")


@given(st.text(), st.text(min_size=1))
def test_any_text_and_any_word_give_an_answer(text: str, word: str) -> None:
    advisor = safeguard([word])
    request = ChatRequest(messages=(UserMessage.of(text),))
    events: list[ChatEvent] = []
    exchange = chain([advisor], ScriptedModel("fine"))
    reactivex.of(request).pipe(exchange).subscribe(events.append)

    assert isinstance(events[-1], Finished)


@pytest.mark.parametrize("words", [["hello"], ["other"]], ids=["blocks", "passes"])
def test_it_holds_the_laws(words: list[str]) -> None:
    assert_advisor_laws(safeguard(words))


def test_the_marble_of_the_docstring_is_what_happens() -> None:
    given_, expected = drawn(safeguard.__doc__)
    assert given_ is not None
    request = ChatRequest(messages=(UserMessage.of("bomb"),))
    response = ChatResponse(
        message=AssistantMessage.of(REFUSAL),
        finish_reason="blocked",
        blocked_by="safeguard",
    )
    letters: Letters = {
        "q": request,
        "t": TextDelta(text=REFUSAL),
        "F": Finished(response=response),
    }
    with marbles_testing(timespan=1.0) as (start, cold, _, exp):
        advised = safeguard(["bomb"])(ScriptedModel())
        got = start(cold(given_, letters, None).pipe(advised))
        assert comparable(got) == comparable(exp(expected, letters, None))
