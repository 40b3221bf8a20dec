from __future__ import annotations

import json

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from pydantic import BaseModel

from rxagent.entities import Partial, elements, entity, fields, partials
from rxagent.errors import InvalidAnswerError, NoAnswerError, RxAgentError
from rxagent.events import ChatEvent, Finished, Retracted, RoundFinished, TextDelta
from rxagent.messages import AssistantMessage, ToolCall
from rxagent.operators import just
from rxagent.responses import ChatResponse, FinishReason
from rxagent.types import Operator
from rxagent.wire.json_reader import JsonValue
from tests.wire.test_partial import JSON, begins, pieces


class Film(BaseModel):
    title: str
    year: int = 0


ALIEN = '{"title": "Alien", "year": 1979}'
LIST = '[{"title": "Alien"}, {"title": "Brazil"}]'


def answer(text: str, reason: FinishReason = "stop") -> Finished:
    message = AssistantMessage.of(text)
    return Finished(response=ChatResponse(message=message, finish_reason=reason))


def streamed(text: str, size: int = 5) -> tuple[ChatEvent, ...]:
    deltas = [TextDelta(text=piece) for piece in pieces(text, size)]
    return (*deltas, answer(text))


def seen(
    operator: Operator[ChatEvent, object], *events: ChatEvent
) -> tuple[list[object], list[Exception]]:
    items: list[object] = []
    errors: list[Exception] = []
    just(*events).pipe(operator).subscribe(items.append, errors.append)
    return items, errors


def test_an_entity_is_the_answer_as_a_value() -> None:
    film = Film(title="Alien", year=1979)
    assert seen(entity(Film), *streamed(ALIEN)) == ([film], [])


@pytest.mark.parametrize(
    "reason",
    ["length", "content_filter", "refusal", "pause", "paused", "tool_limit"],
)
@pytest.mark.parametrize("operator", [entity(Film), partials(Film), elements(Film)])
def test_a_turn_without_an_answer_says_why(
    operator: Operator[ChatEvent, object], reason: FinishReason
) -> None:
    _, errors = seen(operator, answer(ALIEN, reason))
    (error,) = errors
    assert isinstance(error, NoAnswerError)
    assert error.finish_reason == reason
    assert isinstance(error.response, ChatResponse)
    assert error.response.text == ALIEN


def test_an_answer_that_does_not_fit_is_an_error() -> None:
    _, (error,) = seen(entity(Film), *streamed("{}"))
    assert isinstance(error, InvalidAnswerError)
    assert error.problem == "title is missing, and is required"


def test_partials_grow_and_the_last_one_is_validated() -> None:
    items, errors = seen(partials(Film), *streamed(ALIEN, 12))
    assert errors == []
    assert items == [
        Partial(value={"title": "A"}),
        Partial(value={"title": "Alien"}),
        Partial(value={"title": "Alien", "year": 1979}),
        Partial(
            value={"title": "Alien", "year": 1979},
            entity=Film(title="Alien", year=1979),
        ),
    ]


@settings(max_examples=150)
@given(value=st.dictionaries(st.text(max_size=3), JSON), size=st.integers(1, 9))
def test_partials_are_a_chain_of_beginnings(value: object, size: int) -> None:
    text = json.dumps(value)
    items, errors = seen(partials(dict[str, object]), *streamed(text, size))
    assert errors == []
    values = [item.value for item in items if isinstance(item, Partial)]
    assert values[-1] == value
    for part in values:
        assert begins(part, value)


def test_a_list_is_shown_without_its_wrap() -> None:
    items, _ = seen(partials(list[int]), *streamed('{"value": [1, 2]}', 3))
    values = [item.value for item in items if isinstance(item, Partial)]
    assert values == [[], [1], [1, 2], [1, 2]]
    assert items[-1] == Partial(value=[1, 2], entity=[1, 2])


@pytest.mark.parametrize(
    "boundary", [Retracted(reason="no"), RoundFinished(response=answer("").response)]
)
def test_a_boundary_begins_anew(boundary: ChatEvent) -> None:
    before = TextDelta(text='{"title": "Br')
    items, errors = seen(partials(Film), before, boundary, *streamed(ALIEN, 50))
    assert errors == []
    assert [item.value for item in items if isinstance(item, Partial)] == [
        {"title": "Br"},
        {"title": "Alien", "year": 1979},
        {"title": "Alien", "year": 1979},
    ]
    items, _ = seen(elements(Film), before, boundary, *streamed(LIST))
    assert items == [Film(title="Alien"), Film(title="Brazil")]
    found, _ = seen(fields(), before, boundary, TextDelta(text=ALIEN), answer(""))
    assert len(found) == 2


@pytest.mark.parametrize("size", range(1, len(LIST) + 1))
@pytest.mark.parametrize("shape", ["{}", '{{"value": {}}}', "Here:\n```json\n{}\n```"])
def test_elements_come_one_by_one_wherever_it_is_cut(size: int, shape: str) -> None:
    text = shape.format(LIST) if shape != "{}" else LIST
    items, errors = seen(elements(Film), *streamed(text, size))
    assert (items, errors) == ([Film(title="Alien"), Film(title="Brazil")], [])


def test_an_element_is_there_before_the_next_one_streams() -> None:
    items, _ = seen(elements(Film), TextDelta(text=LIST[:22]))
    assert items == [Film(title="Alien")]


def test_an_element_that_does_not_fit_is_an_error_with_its_number() -> None:
    text = '[{"title": "Alien"}, {"year": 1}]'
    items, (error,) = seen(elements(Film), *streamed(text))
    assert items == [Film(title="Alien")]
    assert isinstance(error, InvalidAnswerError)
    assert error.problem == (
        "element 1 of the answer: title is missing, and is required"
    )


def test_elements_that_only_the_end_can_read_come_at_the_end() -> None:
    text = '[{"title": "Ali\nen"}, {"title": "Brazil"}]'  # a raw newline
    items, errors = seen(elements(Film), *streamed(text))
    assert errors == []
    assert items == [Film(title="Ali\nen"), Film(title="Brazil")]


def test_elements_of_a_schema_are_json() -> None:
    items, _ = seen(elements({"type": "integer"}), *streamed("[1, 2]"))
    assert items == [1, 2]


def test_fields_come_as_they_are_complete() -> None:
    text = '{"cast": ["Ann", "Bob"], "year": 1979}'
    items, errors = seen(fields(), *streamed(text))
    assert errors == []
    assert items == [
        JsonValue(path=("cast", 0), value="Ann"),
        JsonValue(path=("cast", 1), value="Bob"),
        JsonValue(path=("cast",), value=["Ann", "Bob"]),
        JsonValue(path=("year",), value=1979),
    ]


def test_an_error_of_the_stream_passes() -> None:
    import reactivex

    errors: list[Exception] = []
    failing = reactivex.throw(RxAgentError("broken"))
    for operator in (entity(Film), partials(Film), elements(Film), fields()):
        failing.pipe(operator).subscribe(on_error=errors.append)
    assert [str(error) for error in errors] == ["broken"] * 4


def test_a_second_list_cannot_take_back_the_first_and_is_an_error() -> None:
    draft = f'First {LIST}, better [{{"title": "Dune"}}]'
    items, (error,) = seen(elements(Film), *streamed(draft))
    assert items == [Film(title="Alien"), Film(title="Brazil")]
    assert isinstance(error, InvalidAnswerError)
    assert "several lists" in error.problem


THOUGHTS = ("", "<think>maybe {}?</think>", "\n<think>\n[1] {}</think>\n\n")


@pytest.mark.parametrize("thoughts", THOUGHTS)
@pytest.mark.parametrize("size", [*range(1, 12), 100])
def test_a_draft_among_thoughts_is_no_part_of_what_grows(
    thoughts: str, size: int
) -> None:
    text = thoughts.format('{"title": "Brazil"}') + ALIEN
    items, errors = seen(partials(Film), *streamed(text, size))
    assert errors == []
    values = [item.value for item in items if isinstance(item, Partial)]
    assert values[-1] == json.loads(ALIEN)
    assert all(begins(value, values[-1]) for value in values)


def test_a_tag_within_the_answer_is_text() -> None:
    text = '{"title": "<think>a</think>b"}'
    items, _ = seen(fields(), *streamed(text, 3))
    assert items == [JsonValue(path=("title",), value="<think>a</think>b")]


def test_what_is_no_json_is_never_a_part_of_it() -> None:
    text = '{"title": "Alien", "year": NaN}'
    items, (error,) = seen(partials(Film), *streamed(text, 2))
    assert isinstance(error, InvalidAnswerError)
    assert isinstance(items[-1], Partial)
    assert items[-1].value == {"title": "Alien"}


def test_an_answer_of_calls_that_nobody_runs_is_no_answer() -> None:
    message = AssistantMessage.of(ToolCall(id="c", name="search"))
    end = Finished(response=ChatResponse(message=message, finish_reason="tool_calls"))
    _, (error,) = seen(entity(Film), end)
    assert isinstance(error, NoAnswerError)
    assert "nobody runs them" in str(error)


def cut(text: str, places: list[int]) -> list[ChatEvent]:
    """A text as deltas, cut wherever; an empty delta among them is possible."""
    ends = sorted(place % (len(text) + 1) for place in places)
    pairs = zip([0, *ends], [*ends, len(text)], strict=True)
    return [TextDelta(text=text[begin:end]) for begin, end in pairs]


PLACES = st.lists(st.integers(0, 10_000), max_size=8)


@settings(max_examples=100)
@given(st.dictionaries(st.text(max_size=3), JSON), PLACES, PLACES, st.integers(0, 50))
def test_a_retraction_anywhere_voids_what_grew_and_nothing_else(
    value: dict[str, object], places: list[int], others: list[int], many: int
) -> None:
    """Any value, any cuts, any place for the end of the attempt before."""
    text = json.dumps(value)
    bad = cut('{"title": ["Alien", {"year": 1979}]}', others)[:many]
    good = [*cut(text, places), answer(text)]
    anew = (*bad, Retracted(reason="bad"), *good)
    for operator in (partials(dict[str, object]), fields()):
        clean, no_errors = seen(operator, *good)
        before, _ = seen(operator, *bad)
        items, errors = seen(operator, *anew)
        assert no_errors == errors == []
        assert items == [*before, *clean]


@settings(max_examples=100)
@given(st.lists(st.dictionaries(st.text(max_size=3), JSON), min_size=1), PLACES)
def test_elements_are_those_of_the_list_wherever_it_is_cut(
    value: list[dict[str, object]], places: list[int]
) -> None:
    text = json.dumps(value)
    items, errors = seen(elements(dict[str, object]), *cut(text, places), answer(text))
    assert (items, errors) == (value, [])
