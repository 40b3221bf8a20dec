from __future__ import annotations

from dataclasses import replace
from typing import Annotated

import pytest
from pydantic import AfterValidator
from reactivex import Observable

from rxagent.errors import ToolError
from rxagent.events import ToolFinished
from rxagent.messages import Image, ToolCall
from rxagent.operators import just
from rxagent.requests import ToolSpec
from rxagent.tools import Tool, ToolContext, ToolEvent, tool
from rxagent.tools.withheld import Withheld
from rxagent.wire.tool_results import told_text
from tests.tools.scene import (
    CONTEXT,
    ORIGIN,
    answer,
    calling,
    finished,
    progress,
    refused,
    started,
)

ran: list[str] = []


@pytest.fixture(autouse=True)
def _nothing_ran() -> None:
    ran.clear()


@tool
def book(day: str, seats: int = 1) -> Observable[str]:
    """Book seats."""
    ran.append("book")
    return just(f"{seats} on {day}")


def explode(_: str) -> str:
    raise RuntimeError("not a validation error")


@tool
def touchy(text: Annotated[str, AfterValidator(explode)]) -> str:
    ran.append("touchy")
    return text


def heard(source: Observable[ToolEvent]) -> list[ToolEvent]:
    """The events of a call that is answered while it is subscribed."""
    events: list[ToolEvent] = []
    errors: list[Exception] = []
    done: list[bool] = []
    source.subscribe(events.append, errors.append, lambda: done.append(True))
    if errors:
        raise errors[0]
    assert done == [True]
    return events


def refusal(call: ToolCall, *tools: ToolSpec) -> str:
    (event,) = heard(answer(call, *tools))
    assert isinstance(event, ToolFinished)
    assert ran == []
    assert event == refused(call, event.message.text)
    return event.message.text


def test_a_call_starts_reports_and_finishes_once() -> None:
    call = calling("book", '{"day":"Mon","seats":"2"}')

    events = heard(answer(call, book))

    assert events == [
        started(call),
        progress(call, "2 on Mon"),
        finished(call, "2 on Mon", value="2 on Mon"),
    ]
    assert all(event.origin is ORIGIN for event in events)
    assert all(event.call is call for event in events)


def test_building_runs_nothing_and_every_subscription_runs() -> None:
    source = answer(calling("book", '{"day":"Mon"}'), book)

    assert ran == []
    assert heard(source) == heard(source)
    assert ran == ["book", "book"]


def test_an_unknown_tool_is_a_result_that_lists_the_tools_there_are() -> None:
    """V-11, V-12, case loop-unknown-tool."""
    said = refusal(calling("generic_command", '{"cmd":"ls"}'), book, touchy)

    assert "'generic_command'" in said
    assert "book, touchy" in said
    assert "there are no tools" in refusal(calling("anything"))


@pytest.mark.parametrize("arguments", ["{text: hello", "[1]", "{} {}", '"x"', "nul"])
def test_arguments_that_are_no_json_object_are_a_result(arguments: str) -> None:
    """Case loop-invalid-json-arguments."""
    said = refusal(calling("book", arguments), book)

    assert "JSON" in said
    assert "'book' did not run" in said


def test_a_tool_that_was_withheld_is_a_result_that_says_what_to_do_instead() -> None:
    """And it is not among the tools that an unknown one may be mistaken for."""
    hidden = Withheld(
        name="book", description="", parameters=book.parameters, instead="ask for it"
    )
    assert refusal(calling("book"), hidden) == (
        "'book' was not offered to you, so it did not run; ask for it"
    )
    assert "there are no tools" in refusal(calling("nobody"), hidden)


def test_arguments_that_miss_the_schema_are_a_result_that_names_them() -> None:
    """M-55, case loop-arguments-miss-schema."""
    first, *rest = refusal(
        calling("book", '{"seats":"two","row":1}'), book
    ).splitlines()

    assert first == "the arguments do not fit 'book', so it did not run:"
    assert [line.split()[1] for line in rest] == ["day:", "seats:", "row:"]
    assert "(got 'two')" in rest[1]


@pytest.mark.parametrize("arguments", ["", "  \n", "{}"])
def test_empty_arguments_are_an_empty_object(arguments: str) -> None:
    """V-13."""

    @tool
    def now() -> Observable[str]:
        return just("noon")

    call = calling("now", arguments)

    assert heard(answer(call, now))[-1] == finished(call, "noon", value="noon")


def test_a_call_that_was_cut_off_does_not_run_even_if_it_parses() -> None:
    call = replace(calling("book", '{"day":"Mon"}'), truncated=True)

    assert "cut off" in refusal(call, book)


def test_a_check_that_breaks_is_a_result() -> None:
    said = refusal(calling("touchy", '{"text":"x"}'), touchy)

    assert said.endswith("did not run: RuntimeError: not a validation error")


def test_a_tool_that_is_only_declared_is_an_error_for_the_caller() -> None:
    declared = ToolSpec(name="open", description="", parameters={"type": "object"})

    with pytest.raises(ToolError, match="'open' is only declared") as caught:
        heard(answer(calling("open"), declared))
    assert caught.value.tool == "open"


def test_a_schema_that_leads_nowhere_is_an_error_for_the_caller() -> None:
    broken = {"type": "object", "properties": {"a": {"$ref": "#/nowhere"}}}
    made = Tool.from_schema(print, name="odd", description="", parameters=broken)

    with pytest.raises(ToolError, match=r"'odd'.*\$ref"):
        heard(answer(calling("odd", '{"a":1}'), made))


def test_a_tool_that_asks_for_it_sees_the_context_and_the_call() -> None:
    """M-70."""
    seen: list[ToolContext] = []

    @tool
    def who(greeting: str, ctx: ToolContext) -> Observable[str]:
        seen.append(ctx)
        return just(f"{greeting} {ctx.context['user']}")

    call = calling("who", '{"greeting":"hi"}')

    events = heard(answer(call, who))

    assert events[-1] == finished(call, "hi eva", value="hi eva")
    assert seen == [ToolContext(context=CONTEXT, call=call, origin=ORIGIN)]
    assert seen[0].context is CONTEXT
    assert seen[0].origin is ORIGIN


def test_the_model_cannot_fill_in_the_context() -> None:
    @tool
    def who(ctx: ToolContext) -> str:
        ran.append("who")
        return ctx.call.id

    assert "ctx: there is no such parameter" in refusal(
        calling("who", '{"ctx":{"user":"root"}}'), who
    )


def test_a_tool_of_a_json_schema_gets_the_arguments_by_name() -> None:
    def echo(ctx: ToolContext, **arguments: object) -> Observable[object]:
        return just({"by": ctx.call.id, **arguments})

    made = Tool.from_schema(
        echo, name="echo", description="", parameters={"type": "object"}
    )
    call = calling("echo", '{"not-a-name":1}')

    value = {"by": "1", "not-a-name": 1}
    assert heard(answer(call, made))[-1] == finished(
        call, '{"by":"1","not-a-name":1}', value=value
    )


def test_the_message_is_cut_and_the_event_carries_the_whole() -> None:
    """Case loop-huge-result."""

    @tool
    def dump() -> Observable[str]:
        return just("日本語" * 100_000)

    event = heard(answer(calling("dump"), dump, max_result_chars=2_000))[-1]

    assert isinstance(event, ToolFinished)
    assert event.value == "日本語" * 100_000
    assert len(event.message.text) <= 2_000
    assert "truncated" in event.message.text


def test_refusals_keep_the_limit_too() -> None:
    call = calling("x" * 5_000)

    (event,) = heard(answer(call, book, max_result_chars=200))

    assert isinstance(event, ToolFinished)
    assert len(event.message.text) <= 200


@pytest.mark.parametrize("most", [100, 106, 200])
def test_an_error_keeps_the_limit_where_it_has_to_say_that_it_is_one(most: int) -> None:
    """Not every format has a place for that."""
    (event,) = heard(answer(calling("x" * 5_000), book, max_result_chars=most))

    assert isinstance(event, ToolFinished)
    assert most - 8 <= len(told_text(event.message)) <= most


def test_a_limit_without_room_for_a_note_is_refused_at_the_call() -> None:
    with pytest.raises(ValueError, match="max_result_chars must be 1 or more"):
        answer(calling("book"), book, max_result_chars=0)


def test_pictures_are_results() -> None:
    image = Image(data=b"png")

    @tool
    def paint() -> Observable[list[str | Image]]:
        return just(["see", image])

    call = calling("paint")

    assert heard(answer(call, paint))[-1] == finished(
        call, "see", image, value=["see", image]
    )
