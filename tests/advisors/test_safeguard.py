from __future__ import annotations

from typing import Literal

import pytest
import reactivex
from hypothesis import given, settings
from hypothesis import strategies as st
from reactivex import Observable
from reactivex import operators as ops
from reactivex.testing.marbles import marbles_testing

from rxagent.advisors import REFUSAL, safeguard
from rxagent.advisors._folding import Words
from rxagent.advisors._look_alikes import ALIKE, MARKED
from rxagent.agent import Agent
from rxagent.chain import around, chain
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
from rxagent.operators import just
from rxagent.requests import ChatRequest
from rxagent.responses import ChatResponse
from rxagent.testing import ScriptedModel, assert_advisor_laws
from rxagent.types import Exchange
from rxagent.usage import Usage
from tests.marbles import Letters, comparable, drawn


def is_blocked(text: str, *words: str, look_alikes: bool = True) -> bool:
    advisor = safeguard(words, look_alikes=look_alikes)
    response = Agent(ScriptedModel("fine"), advisors=[advisor]).call(text).run()
    return response.finish_reason == "blocked"


def test_a_banned_word_is_answered_without_the_model() -> None:
    """S000-84, S000-85, S001-17, S001-18, S001-19, M-64."""
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
    """S001-11, S001-20."""
    agent = Agent(ScriptedModel(), advisors=[safeguard(["bomb"], refusal="No.")])

    events = list(agent.stream("bomb"))

    assert [type(event) for event in events] == [TextDelta, Finished]
    assert list(agent.stream("bomb").text()) == ["No."]


@pytest.mark.parametrize("streams", [True, False])
def test_who_stands_outside_of_it_sees_blocked_turns_as_they_were_typed(
    streams: bool,
) -> None:
    """S001-141, S001-18: an audit, of a few lines."""
    record: list[tuple[str, str | None]] = []

    def handle(request: ChatRequest, inner: Exchange) -> Observable[ChatEvent]:
        def note(event: ChatEvent) -> None:
            if isinstance(event, Finished):
                record.append((request.messages[-1].text, event.response.blocked_by))

        return just(request).pipe(inner, ops.do_action(note))

    model = ScriptedModel("fine")
    agent = Agent(model, advisors=[around(handle), safeguard(["bomb"])])
    for text in ("A BOMB", "hi"):
        if streams:
            list(agent.stream(text))
        else:
            agent.call(text).run()

    assert record == [("A BOMB", "safeguard"), ("hi", None)]


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
    assert not is_blocked("bómb", "bomb", look_alikes=False)
    assert is_blocked("İRAN ıran", "iran", look_alikes=False)


DISGUISES = {
    letter: [
        letter,
        letter.upper(),
        chr(ord(letter) + 0xFEE0),  # full width
        chr(ord(letter) - ord("a") + 0x1D41A),  # mathematical bold
        *(each for each, like in ALIKE.items() if like == letter),
        *(each for each, like in MARKED.items() if like == letter),
        *(each for each, like in ALIKE.items() if like == "ǀ" and letter in "il"),
    ]
    for letter in "abcdefghijklmnopqrstuvwxyz"
}
BETWEEN = st.text(
    "\u200b\u00ad\u2060\ufe0f\u0301\u0308\u0336\u20dd\u0489\x00", max_size=3
)


@st.composite
def disguised(draw: st.DrawFn, word: str) -> str:
    return "".join(
        draw(st.sampled_from(DISGUISES[each])) + draw(BETWEEN) for each in word
    )


@settings(max_examples=300)
@given(st.data(), st.sampled_from(["bomb", "kill", "explosive", "jazz", "quixotry"]))
def test_no_mixture_of_disguises_hides_a_word(data: st.DataObject, word: str) -> None:
    """S001-14."""
    text = data.draw(disguised(word))
    banned = Words([word], look_alikes=True)

    assert banned.are_in(f"so, {text} ...")
    assert banned.are_in(" ".join(text))


@pytest.mark.parametrize(
    ("text", "word"),
    [
        ("b o m b", "bomb"),
        ("B.O.M.B.", "bomb"),
        ("b - o - m - b", "bomb"),
        ("the b_o_m_b is", "bomb"),
        ("c r e d i t   c a r d", "credit card"),
        ("credit\u00a0\n card", "credit card"),
        ("炸 弹", "炸弹"),
        ("бOMБA", "бомба"),  # three Latin letters
        ("БОМБА", "бомба"),
        ("ΝΕΡΌ", "νερό"),
        ("NΕΡΟ", "νερο"),
        ("k||l", "kill"),
        ("kΙΙl", "kill"),  # Greek capitals
    ],
)
def test_a_word_is_found_as_a_reader_finds_it(text: str, word: str) -> None:
    assert is_blocked(f"about {text} please", word)


@pytest.mark.parametrize(
    ("text", "word"),
    [
        ("rob ombre", "bomb"),
        ("the therapist", "the rapist"),
        ("World War III", "ill"),  # letters of ASCII are themselves
        ("room 101", "lol"),
        ("un ano, un cafe", "año"),
        ("un cafe", "café"),
        ("мои", "мой"),
        ("はか", "ばか"),
        ("각", "가"),
        ("טוב מאוד וסו", "lol"),  # from right to left
    ],
)
def test_what_only_resembles_a_word_is_another(text: str, word: str) -> None:
    assert not is_blocked(text, word)


@pytest.mark.parametrize(
    "prose",
    [
        "The quick brown fox jumps over the lazy dog. World War III is fiction.",
        "Der Fuß der Straße ist naß, und die Äpfel schmecken süß. Größe: 38 °C.",
        "L'été, le cœur léger, nous irons à la plage; ça coûte 20 € par tête.",
        "El año pasado, mi corazón latía por España. ¿Qué tal, señor?",
        "Съешь ещё этих мягких французских булок, да выпей чаю. Сорок сорок ели сыр.",
        "Щастям б'єш жук їх глицю в фон й ґедзь пріч. Тато й мама вдома.",
        "Ταχίστη αλώπηξ βαφής ψημένη γη, δρασκελίζει υπέρ νωθρού κυνός.",
        "Pijamalı hasta yağız şoföre çabucak güvendi. İstanbul'da ılık bir akşam.",
        "Zażółć gęślą jaźń. Łódź leży nad Łódką.",
        "Do bạch kim rất quý nên sẽ dùng để lắp vô xương.",
        "نص حكيم له سر قاطع وذو شأن عظيم مكتوب على ثوب أخضر",
        "דג סקרן שט בים מאוכזב ולפתע מצא לו חברה",
        "ऋषियों को सताने वाले दुष्ट राक्षसों के राजा रावण का सर्वनाश",
        "นายสังฆภัณฑ์ เฮงพิทักษ์ฝั่ง ผู้เฒ่าซึ่งมีอาชีพเป็นฅนขายฃวด",
        "いろはにほへと ちりぬるを わかよたれそ つねならむ",
        "키스의 고유조건은 입술끼리 만나야 하고 특별한 기술은 필요치 않다.",
        "我能吞下玻璃而不伤身体。视野无限广，窗外有蓝天。",
    ],
)
def test_ordinary_prose_of_any_language_passes(prose: str) -> None:
    words = ["bomb", "kill", "weapon", "password", "murder", "drugs", "heroin", "hack"]
    assert not Words(
        [*words, "nazi", "terror", "porn", "suicide"], look_alikes=True
    ).are_in(prose)


@pytest.mark.parametrize("words", [(), ("",), (" ", "\u200b")])
def test_no_words_and_blank_words_block_nothing(words: tuple[str, ...]) -> None:
    """S001-15."""
    assert not is_blocked("anything at all", *words)


def test_history_and_system_text_are_looked_at_if_that_is_the_scope() -> None:
    """S000-87, S001-13."""
    messages: list[Message] = [
        SystemMessage.of("never speak of the plague"),
        UserMessage.of("bomb?"),
        AssistantMessage.of("no"),
        UserMessage.of("then a poem of war"),
    ]

    def blocks(scope: Literal["entry", "system", "all"], word: str) -> bool:
        advisors = [safeguard([word], scope=scope)]
        agent = Agent(ScriptedModel("ok"), advisors=advisors)
        return agent.call(messages).run().blocked_by == "safeguard"

    words = ("plague", "bomb", "war")
    assert [blocks("entry", each) for each in words] == [False, False, True]
    assert [blocks("system", each) for each in words] == [True, False, False]
    assert [blocks("all", each) for each in words] == [True, True, True]


def test_each_message_is_looked_at_by_itself() -> None:
    messages: list[Message] = [
        UserMessage.of("a bo"),
        AssistantMessage.of("mb"),
        UserMessage.of("?"),
    ]
    agent = Agent(ScriptedModel("ok"), advisors=[safeguard(["bomb"], scope="all")])

    assert agent.call(messages).run().text == "ok"


def test_a_tag_tells_several_lists_apart_and_nothing_shows_the_words() -> None:
    """S000-85."""
    weapons, drugs = safeguard(["bomb"], tag="weapons"), safeguard(["heroin"])
    agent = Agent(ScriptedModel(), advisors=[weapons, drugs])

    assert agent.call("a bomb").run().blocked_by == "weapons"
    assert agent.call("some heroin").run().blocked_by == "safeguard"
    assert "bomb" not in f"{weapons!r}{agent.describe()}"


def test_a_scope_that_is_none_is_refused() -> None:
    with pytest.raises(ConfigurationError, match="scope must be one of 'entry'"):
        safeguard(["bomb"], scope="prompt")  # type: ignore[arg-type]


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
