"""The official SDK as the judge of what we send to the Responses API, and read."""

from __future__ import annotations

import json
from collections.abc import Generator
from contextlib import contextmanager
from dataclasses import dataclass, replace
from typing import Any, TypeAlias

import httpx2
import openai
import pytest
from hypothesis import given, settings
from llmock.pytest_plugin import LLMock
from llmock.scenarios import Reply, ToolCall
from openai.types.responses import Response

from rxagent.models import OpenAIResponses
from rxagent.requests import ChatOptions, ToolSpec
from rxagent.responses import ChatResponse
from rxagent.wire import OpenAIResponsesDialect
from tests.protocol.asking import ask, request_of
from tests.wire.openai_responses.decoding import decode
from tests.wire.openai_responses.streams import (
    ANSWERS,
    Item,
    called,
    events_of,
    message,
    reasoning,
    refused,
    response,
    sse,
)

Json: TypeAlias = dict[str, Any]


@dataclass(frozen=True, slots=True)
class Said:
    """What a reader took from an answer."""

    text: str
    refusal: str
    reasoning: str
    calls: tuple[tuple[str, str, str], ...]
    usage: tuple[int | None, int | None, int | None, int | None]
    id: str | None
    model: str | None


def said_by_sdk(answer: Response) -> Said:
    """Its own reading; the helper ``output_text`` is its word for all text."""
    refusals: list[str] = []
    thoughts: list[str] = []
    calls: list[tuple[str, str, str]] = []
    for item in answer.output:
        match item.type:
            case "message":
                refusals += [
                    part.refusal for part in item.content if part.type == "refusal"
                ]
            case "reasoning":
                thoughts += [part.text for part in item.summary]
            case "function_call":
                calls.append((item.call_id, item.name, item.arguments))
            case _:
                pass
    usage = answer.usage
    assert usage is not None
    return Said(
        text=answer.output_text,
        refusal="".join(refusals),
        reasoning="".join(thoughts),
        calls=tuple(calls),
        usage=(
            usage.input_tokens,
            usage.output_tokens,
            usage.input_tokens_details.cached_tokens,
            usage.output_tokens_details.reasoning_tokens,
        ),
        id=answer.id,
        model=answer.model,
    )


def said_by_us(answer: ChatResponse) -> Said:
    usage = answer.usage
    return Said(
        text=answer.text,
        refusal=answer.message.refusal,
        reasoning=answer.reasoning,
        calls=tuple((call.id, call.name, call.arguments) for call in answer.tool_calls),
        usage=(
            usage.prompt_tokens,
            usage.output_tokens,
            usage.cache_read_tokens,
            usage.reasoning_tokens,
        ),
        id=answer.id,
        model=answer.model,
    )


@contextmanager
def sdk_of(content: bytes, content_type: str) -> Generator[openai.OpenAI]:
    """The SDK before a transport that answers with ``content``."""
    answer = httpx2.Response(
        200, headers={"content-type": content_type}, content=content
    )
    with (
        httpx2.Client(transport=httpx2.MockTransport(lambda _: answer)) as client,
        openai.OpenAI(
            api_key="k", base_url="http://test/v1", http_client=client, max_retries=0
        ) as sdk,
    ):
        yield sdk


def accumulated(data: bytes) -> Response:
    """What the SDK's accumulator makes of a stream."""
    with (
        sdk_of(data, "text/event-stream") as sdk,
        sdk.responses.stream(model="m", input="hi") as stream,
    ):
        return stream.get_final_response()


@settings(max_examples=60)
@given(ANSWERS)
def test_the_sdk_accumulates_what_we_accumulate(items: tuple[Item, ...]) -> None:
    data = sse(events_of(*items))

    assert said_by_us(decode(data).response) == said_by_sdk(accumulated(data))


@settings(max_examples=60)
@given(ANSWERS)
def test_the_sdk_reads_a_response_in_one_piece_as_we_do(
    items: tuple[Item, ...],
) -> None:
    data = json.dumps(response(*items)).encode()

    with sdk_of(data, "application/json") as sdk:
        theirs = sdk.responses.create(model="m", input="hi")

    ours = decode(data, content_type="application/json").response
    assert said_by_us(ours) == said_by_sdk(theirs)


@pytest.mark.parametrize("status", ["incomplete", "failed"])
def test_the_sdk_has_no_final_response_where_an_answer_did_not_complete(
    status: str,
) -> None:
    """And we say why: a finish reason, or an error."""
    data = sse(events_of(message(["a"]), status=status))

    with pytest.raises(RuntimeError, match=r"response\.completed"):
        accumulated(data)

    outcome = decode(data)
    assert (outcome.error is None) == (status == "incomplete")


def test_an_answer_without_output_in_its_end_is_put_together_alike() -> None:
    items = (reasoning(["hm"]), message(["a", "b"]), called("f", "{", "}"))
    events = events_of(*items)
    events[-1]["response"]["output"] = None

    theirs = said_by_sdk(accumulated(sse(events)))

    assert said_by_us(decode(sse(events)).response) == theirs
    assert theirs.text == "ab"


def test_a_refusal_is_none_of_the_text_for_either() -> None:
    data = sse(events_of(refused("no")))

    assert said_by_sdk(accumulated(data)).refusal == "no"
    assert said_by_us(decode(data).response).text == ""


REPLIES: dict[str, Reply] = {
    "text": Reply(text="Grüezi, 東京 🚀 and the rest."),
    "no text": Reply(text=""),
    "a call": Reply(tool_calls=(ToolCall("find", {"name": "Zoë 🚀", "near": [1]}),)),
    "two calls": Reply(tool_calls=(ToolCall("a", {"b": 'c"\\'}), ToolCall("b", {}))),
    "text and a call": Reply(text="Let me look.", tool_calls=(ToolCall("a", {}),)),
    "cut by length": Reply(text="one two", finish_reason="length"),
}


@pytest.mark.parametrize("stream", [True, False], ids=["streamed", "whole"])
@pytest.mark.parametrize("reply", REPLIES.values(), ids=REPLIES)
def test_the_sdk_sends_what_we_send_and_reads_what_we_read(
    llmock: LLMock, reply: Reply, stream: bool
) -> None:
    llmock.add(reply, reply)
    request = request_of(
        "Where is the rocket?",
        tools=(ToolSpec(name="find", description="Find.", parameters={}),),
        options=ChatOptions(stream=stream, temperature=0.5),
    )
    encoded = OpenAIResponsesDialect().encode(request, model="gpt-4o", stream=stream)
    body: Json = json.loads(encoded)

    [ours] = ask(OpenAIResponses(model="gpt-4o"), request)
    with openai.OpenAI(max_retries=0) as sdk:
        answer: Any = sdk.responses.create(**body)  # refuses what it does not know
        theirs = answer if not stream else [*answer][-1].response

    first, second = llmock.requests
    assert first.body == second.body
    found = said_by_us(ours.response)
    # The server makes new ids each time.
    calls = zip(found.calls, said_by_sdk(theirs).calls, strict=True)
    renamed = tuple((mine[0], *other[1:]) for mine, other in calls)
    assert found == replace(said_by_sdk(theirs), id=found.id, calls=renamed)
