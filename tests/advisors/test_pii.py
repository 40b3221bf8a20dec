from __future__ import annotations

import json
import logging
import re
from collections.abc import Sequence
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from pydantic import BaseModel
from reactivex.testing import TestScheduler
from reactivex.testing.marbles import marbles_testing

from rxagent.advisors import log, pii, tool_loop
from rxagent.advisors._placeholders import Placeholders
from rxagent.advisors._restoring import RestoreText, restoring
from rxagent.agent import Agent
from rxagent.decisions import Approve
from rxagent.errors import AdvisorError, ConfigurationError, GuardError
from rxagent.events import (
    ChatEvent,
    Finished,
    ReasoningDelta,
    Retracted,
    TextDelta,
    ToolCallDelta,
    ToolFinished,
)
from rxagent.guards import Pattern, patterns
from rxagent.guards._rules import rules_of
from rxagent.messages import (
    AssistantMessage,
    Image,
    Message,
    Opaque,
    Reasoning,
    Refusal,
    SystemMessage,
    Text,
    ToolCall,
    ToolMessage,
    UserMessage,
)
from rxagent.operators import just
from rxagent.requests import ChatOptions, ChatRequest, Origin
from rxagent.responses import ChatResponse
from rxagent.testing import (
    Reply,
    ScriptedModel,
    assert_advisor_laws,
    assert_cut_anywhere,
    tool_call,
)
from rxagent.tools import tool
from rxagent.types import Advisor, AnswerMode
from tests.marbles import Letters, comparable, drawn

ANN, BOB = "ann@x.org", "bob@y.net"
PHONE = "+4915112345678"


EMAIL = Pattern(name="email", expression=r"[\w.]+@[\w.]+\w")
NUMBER = Pattern(name="phone", expression=r"\+\d{8,15}")
PATTERNS = [EMAIL, NUMBER]


def placeholders(*sought: Pattern) -> Placeholders:
    rules = rules_of("pii", sought or PATTERNS, max_hold_chars=1, timeout_s=1)
    return Placeholders(rules)


def masking() -> Advisor:
    return pii(PATTERNS)


def sent(model: ScriptedModel) -> str:
    """Everything that the model was asked, as one text."""
    return "".join(repr(request.messages) for request in model.requests)


def test_the_model_sees_placeholders_and_the_caller_the_values() -> None:
    """S001-139."""
    model = ScriptedModel("I wrote to [EMAIL_1], and called [PHONE_1].")
    agent = Agent(model, advisors=[masking()])

    response = agent.call(f"Write to {ANN} and call {PHONE}").run()

    assert model.requests[0].messages == (
        UserMessage.of("Write to [EMAIL_1] and call [PHONE_1]"),
    )
    assert response.text == f"I wrote to {ANN}, and called {PHONE}."
    assert response.transcript == (response.message,)


def test_each_message_is_masked_by_itself_and_keeps_what_it_is() -> None:
    """S001-140."""
    picture = Image(url="https://x.org/a.png")
    call = ToolCall(id="1", name="find", arguments=json.dumps({"who": ANN}))
    signed = Reasoning(text=f"about {ANN}", signature="s", dialect="d")
    messages: list[Message] = [
        SystemMessage.of(f"You work for {BOB}"),
        UserMessage(content=(Text(text=f"I am {ANN}"), picture), mark="pinned"),
        AssistantMessage.of(
            signed, Reasoning(text=ANN), Refusal(text=BOB), f"So, {ANN}", call
        ),
        ToolMessage.of(f"{ANN} has {PHONE}", call=call, is_error=True),
        UserMessage.of("thanks"),
    ]
    model = ScriptedModel("ok")

    Agent(model, advisors=[masking()]).call(messages).run()

    asked = model.requests[0].messages
    masked_call = ToolCall(id="1", name="find", arguments='{"who": "[EMAIL_2]"}')
    assert asked == (
        SystemMessage.of("You work for [EMAIL_1]"),
        UserMessage(content=(Text(text="I am [EMAIL_2]"), picture)),
        AssistantMessage.of(
            signed,
            Reasoning(text="[EMAIL_2]"),
            Refusal(text="[EMAIL_1]"),
            "So, [EMAIL_2]",
            masked_call,
        ),
        ToolMessage.of("[EMAIL_2] has [PHONE_1]", call=call, is_error=True),
        UserMessage.of("thanks"),
    )
    assert [each.id for each in asked] == [each.id for each in messages]
    assert asked[1].mark == "pinned"
    assert asked[-1] is messages[-1]


def test_nothing_of_a_tool_loop_goes_out_and_tools_get_the_values() -> None:
    """S001-139: three rounds; the third one's value comes from a tool."""
    got: list[str] = []

    @tool
    def look_up(who: str) -> str:
        """Look somebody up."""
        got.append(who)
        return f"{who} can be reached at {BOB} and {PHONE}"

    @tool
    def send(to: str, text: str) -> str:
        """Send."""
        got.append(f"{to}: {text}")
        return "sent"

    model = ScriptedModel(
        Reply(calls=(tool_call("look_up", who="[EMAIL_1]"),)),
        Reply(
            deltas=("To [EMA", "IL_2]"),
            calls=(tool_call("send", to="[EMAIL_2]", text="call [PHONE_1]"),),
        ),
        "Sent to [EMAIL_2].",
    )
    agent = Agent(model, tools=[look_up, send], advisors=[tool_loop(), masking()])

    events = list(agent.stream(f"Help {ANN}"))

    assert got == [ANN, f"{BOB}: call {PHONE}"]
    assert not [value for value in (ANN, BOB, PHONE) if value in sent(model)]
    end = events[-1]
    assert isinstance(end, Finished)
    assert end.response.text == f"Sent to {BOB}."
    assert "[EMAIL" not in repr(events)
    results = [e.message.text for e in events if isinstance(e, ToolFinished)]
    assert results == [f"{ANN} can be reached at {BOB} and {PHONE}", "sent"]
    # What was sent once is sent the same again, so a provider finds it in its cache.
    rounds = [request.messages for request in model.requests]
    assert rounds[1][: len(rounds[0])] == rounds[0]
    assert rounds[2][: len(rounds[1])] == rounds[1]


def test_the_next_turn_has_the_same_placeholders() -> None:
    model = ScriptedModel("Hello [EMAIL_1]", "Bye [EMAIL_1], hello [EMAIL_2]")
    agent = Agent(model, advisors=[masking()])
    question = UserMessage.of(f"I am {ANN}")

    first = agent.call([question]).run()
    second = agent.call([question, first.message, UserMessage.of(f"and {BOB}")]).run()

    assert second.text == f"Bye {ANN}, hello {BOB}"
    assert model.requests[1].messages[:2] == (
        model.requests[0].messages[0],
        AssistantMessage.of("Hello [EMAIL_1]"),
    )


def test_a_placeholder_that_somebody_typed_comes_back_as_it_was_typed() -> None:
    typed = f"What is [EMAIL_1]? I am {ANN}. And [LITERAL_1]?"
    model = ScriptedModel(
        lambda request: f"You said: {request.messages[0].text} And [EMAIL_9].",
    )

    response = Agent(model, advisors=[masking()]).call(typed).run()

    assert model.requests[0].messages[0].text == (
        "What is [LITERAL_1]? I am [EMAIL_1]. And [LITERAL_2]?"
    )
    assert response.text == f"You said: {typed} And [EMAIL_9]."


def test_a_value_that_was_found_is_masked_where_no_pattern_finds_it() -> None:
    model = ScriptedModel("Call [PHONE_1]55, not [PHONE_1].", "ok")
    agent = Agent(model, advisors=[masking()])
    question = UserMessage.of(f"Call {PHONE}")

    first = agent.call([question]).run()
    assert first.text == f"Call {PHONE}55, not {PHONE}."
    agent.call([question, first.message, UserMessage.of("well?")]).run()

    assert PHONE not in sent(model)


def test_overlapping_values_are_one() -> None:
    a, b, c = (
        Pattern(name=name, expression=expression)
        for name, expression in (("a", "ab+"), ("b", "b+c"), ("c", "bb"))
    )
    values = placeholders(a, b, c)

    assert values.masked("abbc bb") == "[A_1] [C_1]"
    assert values.restored("[A_1] [C_1]") == "abbc bb"


def test_a_check_decides_what_is_a_value() -> None:
    even = Pattern(
        name="even", expression=r"\d+", check=lambda text: int(text) % 2 == 0
    )
    values = placeholders(even)

    assert values.masked("1, 2, 3") == "1, [EVEN_1], 3"


def test_a_check_that_fails_names_its_pattern_and_not_the_value() -> None:
    def check(text: str) -> bool:
        raise ValueError(f"{text} is odd")

    pattern = Pattern(name="id no.", expression=r"\d+", check=check)
    agent = Agent(ScriptedModel(), advisors=[pii(pattern)])

    with pytest.raises(GuardError, match=r"'id no\.'.*ValueError") as at:
        agent.call("I am 4711").run()
    assert "4711" not in str(at.value)
    assert at.value.__suppress_context__


JSON_CASES = [
    ('{"to": "ann@x.org"}', '{"to": "[EMAIL_1]"}'),
    ('{"to":"a\\u006en@x.org","n":1}', '{"to":"[EMAIL_1]","n":1}'),
    ('{"to":"x\\nann@x.org"', '{"to":"x\\n[EMAIL_1]"'),
    ('{"to":"ann@x.org', '{"to":"[EMAIL_1]'),
    ('{"to":"\\q ann@x.org"}', '{"to":"\\q [EMAIL_1]"}'),
    ('{"card": 4111, "n": 42}', '{"card": "[CARD_1]", "n": 42}'),
    ("", ""),
    ("ann@x.org", "[EMAIL_1]"),
    ("{to: ann@x.org, 4111}", "{to: [EMAIL_1], [CARD_1]}"),
    ('"4111"', '"[CARD_1]"'),
    ("-4111", '"-[CARD_1]"'),
]


@pytest.mark.parametrize(("text", "expected"), JSON_CASES)
def test_the_arguments_of_a_call_stay_json(text: str, expected: str) -> None:
    values = placeholders(EMAIL, Pattern(name="card", expression="4111"))

    assert values.masked_json(text) == expected


def test_a_value_is_quoted_where_it_goes_back_into_json() -> None:
    name = 'Ann "the\\ax" Ø\n'
    model = ScriptedModel(Reply(calls=(tool_call("f", who="[NAME_1]"),)), "ok")
    got: list[str] = []

    @tool
    def f(who: str) -> str:
        """Take."""
        got.append(who)
        return "ok"

    agent = Agent(
        model,
        tools=[f],
        advisors=[tool_loop(), pii(Pattern(name="name", expression=re.escape(name)))],
    )
    deltas = [e for e in agent.stream(f"I am {name}") if isinstance(e, ToolCallDelta)]

    assert got == [name]
    assert json.loads("".join(each.arguments for each in deltas)) == {"who": name}
    assert name not in sent(model)
    assert json.dumps(name)[1:-1] not in sent(model)


def test_the_ready_patterns_of_guards_work_here_too() -> None:
    text = (
        "mail ann@example.org, call +49 (151) 123-45678, card 4111 1111 1111 1111, "
        "iban DE89 3704 0044 0532 0130 00, from 192.168.0.1, ssn 078-05-1120, "
        "key sk-abcdefghijklmnopqrstuvwx"
    )
    values = placeholders(*(getattr(patterns, name) for name in patterns.__all__))

    masked = values.masked(text)

    assert masked == (
        "mail [EMAIL_1], call [PHONE_1], card [CARD_1], "
        "iban [IBAN_1], from [IPV4_1], ssn [US_SSN_1], key [API_KEY_1]"
    )
    assert values.restored(masked) == text


def test_a_pattern_that_never_ends_is_an_error() -> None:
    agent = Agent(ScriptedModel(), advisors=[pii(r"(x+x+)+y", timeout_s=0.01)])

    with pytest.raises(GuardError, match=r"'pii' took more than 0\.01 s") as at:
        agent.call("x" * 5000).run()
    assert "xx" not in str(at.value)


def test_a_pattern_without_a_name_finds_values() -> None:
    model = ScriptedModel("[VALUE_1]")

    assert Agent(model, advisors=[pii(r"id\d+")]).call("id7").run().text == "id7"
    assert model.requests[0].messages[0].text == "[VALUE_1]"


def test_a_match_of_nothing_is_no_value() -> None:
    assert placeholders(Pattern(name="x", expression="x*")).masked("axxb") == "a[X_1]b"


@pytest.mark.parametrize("in_json", [False, True])
@pytest.mark.parametrize(
    "text",
    [
        "to [EMAIL_1] and [EMAIL_2], not [EMAIL_3] or [EMAIL_11]",
        "[EMAIL_1][EMAIL_1]",
        "[[EMAIL_1]]",
        "[EMAIL_[EMAIL_1] [EMAIL",
        "[",
        "a[0] = [1, 2]",
    ],
)
def test_a_placeholder_may_be_cut_anywhere(text: str, in_json: bool) -> None:
    values = placeholders()
    values.masked(f"{ANN} {BOB}")

    assert_cut_anywhere(
        lambda: RestoreText(values, in_json=in_json), text, aggregate="".join
    )
    restorer = RestoreText(values, in_json=in_json)
    whole = "".join((*restorer.feed(text), *restorer.flush()))
    assert whole == values.restored(text, in_json=in_json)


@given(
    st.lists(
        st.sampled_from(["[", "]", "EMAIL", "_1", "[EMAIL_1]", "[LITERAL_1]", "x", "_"])
    )
)
def test_pieces_of_any_kind_restore_as_the_whole_does(pieces: list[str]) -> None:
    values = placeholders()
    values.masked(f"{ANN} [EMAIL_1]")
    restorer = RestoreText(values)

    out = [piece for each in pieces for piece in restorer.feed(each)]
    assert restorer.held <= len("[LITERAL_1]") - 1
    out += restorer.flush()

    assert "".join(out) == values.restored("".join(pieces))


TYPED = st.sampled_from(
    [ANN, BOB, PHONE, "[EMAIL_1]", "[PHONE_2]", "[LITERAL_1]", " ", "x", "9", "[", "]"]
)


@settings(max_examples=200)
@given(st.lists(st.lists(TYPED, max_size=8).map("".join), max_size=5))
def test_masked_and_restored_is_what_it_was_and_hides_every_value(
    texts: list[str],
) -> None:
    """S001-139."""
    values = placeholders()
    masked = [values.masked(text) for text in texts]

    assert [values.restored(each) for each in masked] == texts
    assert not [each for each in masked for value in (ANN, BOB, PHONE) if value in each]
    again = placeholders()
    assert [again.masked(text) for text in texts[:3]] == masked[:3]


def test_each_text_of_an_answer_is_restored_by_itself_and_all_keeps_its_place() -> None:
    values = placeholders()
    values.masked(ANN)
    end = Finished(response=ChatResponse(message=AssistantMessage.of("[EMAIL_1]")))

    def restored(*events: ChatEvent) -> list[ChatEvent]:
        seen: list[ChatEvent] = []
        just(*events).pipe(restoring(values, in_json=False)).subscribe(seen.append)
        return seen

    assert restored(
        TextDelta(text="to [EMA"),
        ReasoningDelta(text="[EMAIL_1"),
        TextDelta(text="IL_1]!"),
        ReasoningDelta(text="]"),
        end,
    ) == [
        TextDelta(text="to "),
        TextDelta(text=ANN),
        ReasoningDelta(text=ANN),
        TextDelta(text="!"),
        Finished(response=ChatResponse(message=AssistantMessage.of(ANN))),
    ]
    deltas = restored(
        ToolCallDelta(index=0, id="a", name="f", arguments='["[EM'),
        ToolCallDelta(index=1, id="b", name="g", arguments='"[EMAIL_1]"'),
        ToolCallDelta(index=0, arguments='AIL_1]"]'),
    )
    for index, (name, arguments) in enumerate([("f", f'["{ANN}"]'), ("g", f'"{ANN}"')]):
        call = [e for e in deltas if isinstance(e, ToolCallDelta) and e.index == index]
        assert "".join(each.arguments for each in call) == arguments
        assert [each.name for each in call] == [name] + [None] * (len(call) - 1)
    assert restored(TextDelta(text="[EM"), Retracted(reason=""), end)[0] == Retracted(
        reason=""
    )
    assert restored(TextDelta(text="a ["), TextDelta(text="")) == [
        TextDelta(text="a "),
        TextDelta(text="["),
    ]


def test_what_a_provider_has_signed_stays_as_it_wrote_it() -> None:
    signed = Reasoning(text="[EMAIL_1]?", signature="s", dialect="d")
    opaque = Opaque(dialect="d", data='{"x":"[EMAIL_1]"}')
    answer = AssistantMessage.of(signed, Reasoning(text="[EMAIL_1]"), opaque, "ok")

    def model(requests: Any) -> Any:
        return just(Finished(response=ChatResponse(message=answer)))

    response = Agent(model, advisors=[masking()]).call(ANN).run()

    assert response.message.content == (
        signed,
        Reasoning(text=ANN),
        opaque,
        Text(text="ok"),
    )


def test_a_turn_that_pauses_goes_on_with_the_same_placeholders() -> None:
    @tool(needs_approval=True)
    def send(to: str) -> str:
        """Send."""
        return f"sent to {to} and {BOB}"

    model = ScriptedModel(
        Reply(calls=(tool_call("send", to="[EMAIL_1]"),)), "To [EMAIL_1], [EMAIL_2]"
    )
    agent = Agent(model, tools=[send], advisors=[tool_loop(), masking()])

    snapshot = agent.call(f"Write to {ANN}").run().snapshot
    assert snapshot is not None
    pending = {snapshot.pending[0]: Approve()}
    events = list(agent.resume(snapshot, pending))

    end = events[-1]
    assert isinstance(end, Finished)
    assert end.response.text == f"To {ANN}, {BOB}"
    first, second = (request.messages for request in model.requests)
    assert second[: len(first)] == first
    assert not [value for value in (ANN, BOB) if value in sent(model)]
    assert "[EMAIL" not in repr(snapshot)


def test_left_of_the_tool_loop_it_is_refused() -> None:
    with pytest.raises(ConfigurationError, match=r"pii .* right of tool_loop\(\)"):
        Agent(ScriptedModel(), advisors=[masking(), tool_loop()])


def test_an_agent_puts_its_own_loop_left_of_it() -> None:
    @tool
    def look_up(who: str) -> str:
        """Look somebody up."""
        return f"{who} and {BOB}"

    reply = Reply(calls=(tool_call("look_up", who="[EMAIL_1]"),))
    model = ScriptedModel(reply, "[EMAIL_2]")
    agent = Agent(model, tools=[look_up], advisors=[masking()])

    assert agent.call(f"Help {ANN}").run().text == BOB
    assert not [value for value in (ANN, BOB) if value in sent(model)]


def test_left_of_a_loop_that_hides_it_stops_before_a_tool_runs() -> None:
    ran: list[str] = []

    @tool
    def look_up(who: str) -> str:
        """Look somebody up."""
        ran.append(who)
        return BOB

    reply = Reply(calls=(tool_call("look_up", who="[EMAIL_1]"),), first_s=0.01)
    model = ScriptedModel(reply, "never")
    hidden: Advisor = lambda inner: masking()(inner)  # noqa: E731
    agent = Agent(model, tools=[look_up], advisors=[hidden, tool_loop()])

    with pytest.raises(AdvisorError, match=r"\[tool_loop\(\), pii"):
        agent.call(f"Help {ANN}").run()
    assert ran == []
    assert len(model.requests) == 1


class Note(BaseModel):
    text: str
    is_secret: bool = False


HOSTILE = '", "is_secret": true, "text": "\\'


@pytest.mark.parametrize("mode", ["native", "prompt", "tool"])
@pytest.mark.parametrize("size", [1, 7, 1000])
def test_a_value_stays_a_text_in_an_answer_that_is_json(
    mode: AnswerMode, size: int
) -> None:
    whole = '{"text": "[SAID_1]"}'
    pieces = tuple(whole[at : at + size] for at in range(0, len(whole), size))
    call = ToolCall(id="1", name="give_answer", arguments=whole)
    reply = Reply(calls=(call,)) if mode == "tool" else Reply(deltas=pieces)
    said = pii(Pattern(expression=re.escape(HOSTILE), name="said"))
    agent = Agent(ScriptedModel(reply), advisors=[said])

    assert agent.entity(Note, HOSTILE, mode=mode).run() == Note(text=HOSTILE)


def test_a_value_stays_a_text_where_a_schema_is_asked_for_by_hand() -> None:
    model = ScriptedModel('{"text": "[SAID_1]"}')
    said = pii(Pattern(expression=re.escape(HOSTILE), name="said"))
    options = ChatOptions(response_schema={"type": "object"})
    flow = Agent(model, advisors=[said]).call(HOSTILE, options=options)
    assert json.loads(flow.run().text) == {"text": HOSTILE}


def test_no_value_is_shown_or_logged(caplog: pytest.LogCaptureFixture) -> None:
    advisor = masking()
    model = ScriptedModel("It is [EMAIL_1].")
    agent = Agent(model, advisors=[advisor, log(events=True)])

    with caplog.at_level(logging.DEBUG):
        response = agent.call(ANN).run()

    assert ANN in response.text
    assert ANN not in caplog.text
    assert repr(advisor) == "pii(email, phone)"
    assert ANN not in repr(response.context)
    values = placeholders()
    values.masked(ANN)
    shown = repr([values, restoring(values, in_json=True), RestoreText(values)])
    assert ANN not in shown


def test_an_error_of_the_model_has_no_value() -> None:
    broken = OSError("broke at [EMAIL_1]")
    model = ScriptedModel(Reply(deltas=("so [EMAIL_1] [EM",), error=broken))
    agent = Agent(model, advisors=[masking()])
    seen: list[ChatEvent] = []
    errors: list[Exception] = []

    agent.stream(ANN).subscribe(seen.append, errors.append)

    assert errors == [broken]
    assert seen == [TextDelta(text=f"so {ANN} ")]  # an error flushes nothing


def test_a_thousand_turns_at_once_do_not_mix() -> None:
    """Law 7."""
    scheduler = TestScheduler()
    model = ScriptedModel(
        Reply(deltas=("I greet [EM", "AIL_1", "] and [EMAIL_2]"), gap_s=1.0),
        repeat_last=True,
    )
    exchange = masking()(model)
    seen: dict[int, list[ChatEvent]] = {number: [] for number in range(1000)}
    for number, events in seen.items():
        request = ChatRequest(
            messages=(UserMessage.of(f"u{number}@x.org and v{number}@x.org"),),
            origin=Origin(run_id=str(number)),
        )
        just(request).pipe(exchange).subscribe(events.append, scheduler=scheduler)
    scheduler.start()

    for number, events in seen.items():
        text = "".join(each.text for each in events if isinstance(each, TextDelta))
        assert text == f"I greet u{number}@x.org and v{number}@x.org"


def test_two_subscriptions_share_no_values() -> None:
    """Law 2."""
    model = ScriptedModel("[EMAIL_1]", repeat_last=True)
    flow = Agent(model, advisors=[masking()]).call(ANN)

    assert [flow.run().text, flow.run().text] == [ANN, ANN]


REPLIES: Sequence[Reply] = (
    Reply(deltas=("to [EMA", "IL_1]", " or [", "EMAIL_7]")),
    Reply(reasoning=("[EMAIL_1", "]"), deltas=("[",)),
)


@pytest.mark.parametrize("reply", REPLIES)
def test_it_holds_the_laws(reply: Reply) -> None:
    request = ChatRequest(messages=(UserMessage.of(f"{ANN} [EMAIL_1]"),))
    assert_advisor_laws(masking(), request=request, reply=reply)
    assert_advisor_laws(masking(), request=request)


def test_the_marble_of_the_docstring_is_what_happens() -> None:
    given_, expected = drawn(pii.__doc__)
    assert given_ is not None
    request = ChatRequest(messages=(UserMessage.of(ANN),))

    def response(text: str) -> Finished:
        return Finished(response=ChatResponse(message=AssistantMessage.of(text)))

    inner: Letters = {
        "a": TextDelta(text="a"),
        "b": TextDelta(text=" b [EMA"),
        "c": TextDelta(text="IL_1]"),
        "F": response("a b [EMAIL_1]"),
    }
    outer: Letters = {
        "q": request,
        "a": TextDelta(text="a"),
        "b": TextDelta(text=" b "),
        "c": TextDelta(text=ANN),
        "F": response(f"a b {ANN}"),
    }
    with marbles_testing(timespan=1.0) as (start, cold, _, exp):
        answer = cold("--a--b-----(c,F,|)", inner, None)
        source = cold(given_, outer, None)
        got = start(source.pipe(masking()(lambda _: answer)))
        assert comparable(got) == comparable(exp(expected, outer, None))
