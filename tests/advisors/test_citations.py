from __future__ import annotations

from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from rxagent.advisors import (
    CITATIONS,
    QA_DOCUMENTS,
    citations,
    question_answer,
    tool_loop,
)
from rxagent.advisors._markers import MarkerWriter, markers_of
from rxagent.agent import Agent
from rxagent.chain import before
from rxagent.errors import ConfigurationError
from rxagent.events import ChatEvent, Finished, TextDelta
from rxagent.requests import ChatRequest
from rxagent.responses import ChatResponse
from rxagent.retrieval import Document
from rxagent.testing import (
    Reply,
    ScriptedModel,
    assert_cut_anywhere,
    tool_call,
)
from rxagent.tools import tool
from rxagent.types import Advisor
from tests.library import Library, documents

TWO = documents("Nimbus one", "Nimbus two")
ANSWER = "It is blue [1]. Old [2][1]; dear [9]."


def answered(
    text: str, *, held: object = TWO, model: ScriptedModel | None = None
) -> ChatResponse:
    """An answer, where the context holds something under the key."""
    agent = Agent(model or ScriptedModel(text), advisors=[citations()])
    context = {QA_DOCUMENTS.name: held, "rxagent.conversation_id": "c"}
    return agent.call("q", context=context).run()


def cited(text: str, count: int = 3) -> dict[int, list[str]]:
    """What of an answer stands behind which number."""
    found = documents(*"abc"[:count])
    sources = answered(text, held=found).context[CITATIONS]
    return {
        each.number: [text[span.start : span.end] for span in each.passages]
        for each in sources
        if each.passages
    }


def test_the_caller_learns_which_documents_an_answer_rests_on() -> None:
    """S001-131, on both paths."""
    agent = Agent(
        ScriptedModel(ANSWER, repeat_last=True),
        advisors=[citations(), question_answer(Library(*TWO).search, cite=True)],
    )
    end = list(agent.stream("Nimbus?"))[-1]
    assert isinstance(end, Finished)

    for response in (end.response, agent.call("Nimbus?").run()):
        first, second = response.context[CITATIONS]
        assert (first.id, second.id) == ("a", "b")
        assert (first.number, first.document.text) == (1, "Nimbus one")
        said = [ANSWER[each.start : each.end] for each in first.passages]
        assert said == ["It is blue", "Old"]
        assert [ANSWER[each.start : each.end] for each in second.passages] == ["Old"]
        assert response.text == ANSWER


@pytest.mark.parametrize("outside", [True, False])
def test_it_may_stand_on_either_side_of_the_search(outside: bool) -> None:
    advisors = [
        citations(write=lambda number, document: f"({number}: {document.id})"),
        question_answer(Library(*TWO).search, cite=True),
    ]
    if not outside:
        advisors.reverse()
    model = ScriptedModel(Reply(deltas=("Blue ", "[", "2", "]", ".")))
    agent = Agent(model, advisors=advisors)

    events = list(agent.stream("Nimbus?"))

    texts = [each.text for each in events if isinstance(each, TextDelta)]
    assert "".join(texts) == "Blue (2: b)."
    end = events[-1]
    assert isinstance(end, Finished)
    assert end.response.text == "Blue [2]."
    assert [len(each.passages) for each in end.response.context[CITATIONS]] == [0, 1]


@pytest.mark.parametrize("held", [None, (), [], "text", 7, ["no", 1], ("document",)])
def test_without_documents_the_response_stays_as_it_is(held: object) -> None:
    """S001-131."""
    response = answered("Blue [1].", held=held)

    assert CITATIONS not in response.context
    assert response.text == "Blue [1]."
    assert response.context[QA_DOCUMENTS.name] == held


def test_what_is_no_document_is_passed_over() -> None:
    """S001-131."""
    response = answered("Blue [1].", held=["a", TWO[1], None])

    assert [source.id for source in response.context[CITATIONS]] == ["b"]


def test_the_rest_of_the_context_stays() -> None:
    """S001-132."""
    response = answered(ANSWER)

    assert response.context["rxagent.conversation_id"] == "c"
    assert response.context[QA_DOCUMENTS] == TWO


def test_a_number_that_no_document_has_is_logged(
    caplog: pytest.LogCaptureFixture,
) -> None:
    response = answered(ANSWER)

    assert "[9]" in response.text
    assert [source.number for source in response.context[CITATIONS]] == [1, 2]
    assert "names [9], and there are 2 documents" in caplog.text


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("Blue [1].", {1: ["Blue"]}),
        ("Blue.[1]", {1: ["Blue."]}),
        ("Blue. [1] Red.", {1: ["Blue."]}),
        ("Blue [1] and red [2].", {1: ["Blue"], 2: ["and red"]}),
        ("Blue [1, 2].", {1: ["Blue"], 2: ["Blue"]}),
        ("Blue [1][2] [3].", {1: ["Blue"], 2: ["Blue"], 3: ["Blue"]}),
        ("Blue [1][1].", {1: ["Blue", "Blue"]}),
        ("One. Two [1]. Three.", {1: ["Two"]}),
        ("[1] says blue. Red.", {1: ["says blue."]}),
        ("- blue [1]\n- red [2]\n", {1: ["- blue"], 2: ["- red"]}),
        ("蓝色【1】。红色[2]。", {1: ["蓝色"], 2: ["红色"]}),
        ("Mr. Blue is 3.5 m tall [3].", {3: ["Mr. Blue is 3.5 m tall"]}),
        ("[1]", {1: [""]}),
        ("None here [x] [] [ , ] [1.5] (1) 1]", {}),
    ],
)
def test_a_passage_is_what_stands_before_its_marker(
    text: str, expected: dict[int, list[str]]
) -> None:
    assert cited(text) == expected


@given(
    pieces=st.lists(
        st.sampled_from(["[1]", "[2, 3]", "[9]", "Blue. ", "Red", "\n", "[", "]", " "]),
        max_size=12,
    )
)
def test_passages_lie_within_the_text_and_hold_no_space_at_their_ends(
    pieces: list[str],
) -> None:
    text = "".join(pieces)
    named = {number for marker in markers_of(text) for number in marker.numbers}

    found = cited(text)

    assert found.keys() == named & {1, 2, 3}
    for passages in found.values():
        assert [each.strip() for each in passages] == passages


TEXTS = [
    ANSWER,
    "a[1]b[[2]]c[1",
    "[1, 2] [ 1 ] [1,9] [99] 【2】 [12345678901234567890123456]",
    "[1[2][x][]",
    "【1, 【2】",
]


@pytest.mark.parametrize("text", TEXTS)
def test_markers_are_found_wherever_the_text_is_cut(text: str) -> None:
    def make() -> MarkerWriter:
        return MarkerWriter(TWO, lambda number, _: f"<{number}>")

    assert_cut_anywhere(make, text, aggregate="".join)


@given(text=st.text(alphabet="[]【】12 9,x\n", max_size=20))
def test_markers_are_found_wherever_any_text_is_cut(text: str) -> None:
    def make() -> MarkerWriter:
        return MarkerWriter(TWO, lambda number, _: f"<{number}>")

    assert_cut_anywhere(make, text, aggregate="".join)


@pytest.mark.parametrize(
    ("text", "written"),
    [
        ("a [1] b", "a <1> b"),
        ("a [1, 2]", "a <1><2>"),
        ("a [1, 9]", "a <1>[9]"),
        ("a [9] [0]", "a [9] [0]"),
        ("a 【2】", "a <2>"),
        ("x[1", "x[1"),
    ],
)
def test_a_marker_is_written_as_the_caller_wants_it(text: str, written: str) -> None:
    writer = MarkerWriter(TWO, lambda number, _: f"<{number}>")

    assert "".join((*writer.feed(text), *writer.flush())) == written


def test_little_is_held_and_only_while_it_may_be_a_marker() -> None:
    writer = MarkerWriter(TWO, lambda number, _: f"<{number}>")
    most = 0
    for char in "plain [" + "1" * 100:
        writer.feed(char)
        most = max(most, writer.held)

    assert most == 25
    assert writer.held == 0


def test_markers_may_be_left_out_of_what_is_delivered() -> None:
    agent = Agent(ScriptedModel(ANSWER), advisors=[citations(write=lambda *_: "")])

    flow = agent.stream("q", context={QA_DOCUMENTS.name: TWO})

    assert "".join(flow.text()) == "It is blue . Old ; dear [9]."


@tool
def ping() -> str:
    """Answer."""
    return "pong"


def given_documents() -> Advisor:
    def give(request: ChatRequest) -> ChatRequest:
        context = request.context.set(QA_DOCUMENTS, TWO)
        return replace(request, context=context)

    return before(give)


@pytest.mark.parametrize("inside", [False, True])
def test_around_a_loop_the_passages_are_those_of_the_answer(inside: bool) -> None:
    call = Reply(deltas=("I look [2].",), calls=(tool_call("ping"),))
    model = ScriptedModel(call, "Blue [1].")
    advisors = [citations(), tool_loop()]
    if inside:
        advisors.reverse()
    agent = Agent(model, tools=[ping], advisors=[given_documents(), *advisors])

    sources = agent.call("q").run().context[CITATIONS]

    assert [len(each.passages) for each in sources] == [1, 0]


def test_an_answer_that_breaks_off_says_no_more() -> None:
    """Law 4: what is held is dropped on an error."""
    model = ScriptedModel(Reply(deltas=("Blue [",), error=OSError("broken")))
    agent = Agent(model, advisors=[citations(write=lambda *_: "x")])
    seen: list[ChatEvent] = []
    errors: list[Exception] = []

    agent.stream("q", context={QA_DOCUMENTS.name: TWO}).subscribe(
        seen.append, errors.append
    )

    assert [each.text for each in seen if isinstance(each, TextDelta)] == ["Blue "]
    assert len(errors) == 1


def test_what_is_no_function_is_refused() -> None:
    with pytest.raises(ConfigurationError, match="write"):
        citations(write="x")  # type: ignore[arg-type]  # pyright: ignore[reportArgumentType]


def test_a_document_is_shown_by_its_id() -> None:
    [source] = answered("x", held=(Document(id="faq/7", text="t"),)).context[CITATIONS]

    assert (source.id, source.passages) == ("faq/7", ())
