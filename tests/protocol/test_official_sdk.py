"""The official SDK as the judge of what we send, read and call retryable."""

from __future__ import annotations

import json
from collections.abc import Generator
from contextlib import contextmanager, suppress
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from typing import Any, TypeAlias

import httpx2
import openai
import pytest
from llmock.pytest_plugin import LLMock
from llmock.scenarios import Reply, ToolCall
from openai.lib.streaming.chat import ChatCompletionStreamState
from openai.types.chat import ChatCompletion

from rxagent.errors import ModelError
from rxagent.events import ChatEvent, Finished
from rxagent.models import OpenAIChat
from rxagent.requests import ChatOptions, ChatRequest, ToolSpec
from rxagent.responses import ChatResponse
from rxagent.wire import OpenAIChatDialect
from tests.cases.case import FOLDER, Case, load_cases
from tests.cases.matchers import check
from tests.protocol.asking import ask, request_of

Json: TypeAlias = dict[str, Any]

REQUEST = request_of("hi")

AGREES = frozenset(
    {
        "alibaba-tool-call",
        "azure-model-router",
        "groq-tool-call",
        "openai-parallel-tools",
        "openai-refusal",
        "openai-trailing-moderation",
        "openrouter-midstream-error",
        "zai-thinking",
    }
)
DIFFERS = {
    "mistral-reasoning-parts": "content is a list there, which its types do not know"
}


@dataclass(frozen=True, slots=True)
class Said:
    """What a reader took from an answer."""

    text: str
    refusal: str
    calls: tuple[tuple[str, str, str], ...]
    finish_reason: str | None


def said_by_sdk(completion: ChatCompletion) -> Said:
    choice = completion.choices[0]
    calls: list[tuple[str, str, str]] = []
    for call in choice.message.tool_calls or ():
        assert call.type == "function"
        calls.append((call.id, call.function.name, call.function.arguments))
    return Said(
        text=choice.message.content or "",
        refusal=choice.message.refusal or "",
        calls=tuple(calls),
        finish_reason=choice.finish_reason,
    )


def said_by_us(response: ChatResponse) -> Said:
    return Said(
        text=response.text,
        refusal=response.message.refusal,
        calls=tuple(
            (call.id, call.name, call.arguments) for call in response.tool_calls
        ),
        finish_reason=response.finish_reason_raw,
    )


@contextmanager
def sdk_of(
    answer: httpx2.Response, *, max_retries: int = 0
) -> Generator[tuple[openai.OpenAI, list[httpx2.Request]]]:
    """The SDK before a transport that gives ``answer``, and the requests it makes."""
    requests: list[httpx2.Request] = []

    def handle(request: httpx2.Request) -> httpx2.Response:
        requests.append(request)
        return answer

    with (
        httpx2.Client(transport=httpx2.MockTransport(handle)) as client,
        openai.OpenAI(
            api_key="k",
            base_url="http://test/v1",
            http_client=client,
            max_retries=max_retries,
        ) as sdk,
    ):
        yield sdk, requests


def read_by_sdk(case: Case) -> Said | Exception:
    [answer] = case.answers("whole")
    [data] = answer.reads
    assert isinstance(data, bytes)
    response = httpx2.Response(answer.status, headers=answer.headers, content=data)
    try:
        with (
            sdk_of(response) as (sdk, _),
            sdk.chat.completions.stream(model="m", messages=[]) as stream,
        ):
            return said_by_sdk(stream.get_final_completion())
    except Exception as error:  # noqa: BLE001 - it is what the SDK made of it
        return error


def read_by_us(case: Case) -> Said | Exception:
    [answer] = case.answers("whole")
    [data] = answer.reads
    assert isinstance(data, bytes)
    decoder = OpenAIChatDialect().decoder(
        REQUEST, content_type=answer.headers["content-type"]
    )
    events: list[ChatEvent] = []
    try:
        events.extend(decoder.feed(data))
        events.extend(decoder.flush())
    except ModelError as error:
        return error
    end = events[-1]
    assert isinstance(end, Finished)
    return said_by_us(end.response)


def agree(theirs: Said | Exception, ours: Said | Exception) -> bool:
    """Whether both took the same, or both report the error that the provider names."""
    if isinstance(theirs, openai.APIError) and isinstance(ours, ModelError):
        return theirs.message in str(ours)
    return theirs == ours


def contradicts(case: Case, theirs: Said | Exception) -> bool:
    """Whether the recording itself says that the SDK is wrong."""
    if isinstance(theirs, Exception):
        return case.expect.get("error") is None
    found: Json = {
        "text": theirs.text,
        "refusal": theirs.refusal or None,
        "finish_reason_raw": theirs.finish_reason,
        "tool_calls": [
            {"id": id_, "name": name, "arguments": json.loads(arguments)}
            for id_, name, arguments in theirs.calls
        ],
        "error": None,
    }
    try:
        check({name: case.expect[name] for name in found.keys() & case.expect}, found)
    except AssertionError:
        return True
    return False


RECORDINGS = [
    case
    for case in load_cases()
    if case.protocol == "openai-chat" and "kind" not in case.given
]

if RECORDINGS:

    @pytest.mark.parametrize("case", RECORDINGS, ids=lambda case: case.id)
    def test_the_sdk_reads_a_recording_as_we_do(case: Case) -> None:
        theirs, ours = read_by_sdk(case), read_by_us(case)

        if case.id in AGREES:
            assert agree(theirs, ours), (theirs, ours)
        elif case.id in DIFFERS:
            assert not agree(theirs, ours), "it does by now"
        else:
            assert agree(theirs, ours) or contradicts(case, theirs), (theirs, ours)

else:

    def test_there_are_no_recordings_here() -> None:
        assert not FOLDER.exists(), f"{FOLDER} holds no recordings"


ANSWERS: dict[str, Reply] = {
    "text": Reply(text="Grüezi, 東京 🚀 and the rest."),
    "no text": Reply(text=""),
    "a call": Reply(tool_calls=(ToolCall("find", {"name": "Zoë 🚀", "near": [1]}),)),
    "two calls": Reply(tool_calls=(ToolCall("a", {"b": 'c"\\'}), ToolCall("b", {}))),
    "text and a call": Reply(text="Let me look.", tool_calls=(ToolCall("a", {}),)),
    "cut by length": Reply(text="one two", finish_reason="length"),
    "filtered": Reply(text="one two", finish_reason="content_filter"),
}


@pytest.mark.parametrize("stream", [True, False], ids=["streamed", "whole"])
@pytest.mark.parametrize("reply", ANSWERS.values(), ids=ANSWERS)
def test_the_sdk_sends_what_we_send_and_reads_what_we_read(
    llmock: LLMock, reply: Reply, stream: bool
) -> None:
    llmock.add(reply, reply)
    request = request_of(
        "Where is the rocket?",
        tools=(ToolSpec(name="find", description="Find.", parameters={}),),
        options=ChatOptions(stream=stream, temperature=0.5, stop=("END",)),
    )

    [ours] = ask(OpenAIChat(model="gpt-4o"), request)
    theirs = asked_by_sdk(request, stream=stream)

    first, second = llmock.requests
    assert first.body == second.body
    assert said_by_us(ours.response) == without_ids(theirs, ours.response)
    counted = theirs.usage
    assert counted is not None
    usage = ours.response.usage
    assert usage.prompt_tokens == counted.prompt_tokens
    assert usage.output_tokens == counted.completion_tokens


def asked_by_sdk(request: ChatRequest, *, stream: bool) -> ChatCompletion:
    """What the SDK makes of our body: it refuses a member that it does not know."""
    encoded = OpenAIChatDialect().encode(request, model="gpt-4o", stream=stream)
    body: Json = json.loads(encoded)
    with openai.OpenAI(max_retries=0) as sdk:
        answer: Any = sdk.chat.completions.create(**body)
        if not stream:
            assert isinstance(answer, ChatCompletion)
            return answer
        state = ChatCompletionStreamState()
        for chunk in answer:
            state.handle_chunk(chunk)
        # The final completion would be an error if the answer was cut off.
        return state.current_completion_snapshot


def without_ids(theirs: ChatCompletion, ours: ChatResponse) -> Said:
    """Their reading, with the ids of our calls: the server makes new ones each time."""
    said = said_by_sdk(theirs)
    ids = [call.id for call in ours.tool_calls]
    calls = zip(ids, said.calls, strict=True)
    return replace(said, calls=tuple((id_, *call[1:]) for id_, call in calls))


def test_what_the_sdk_asks_again_is_what_we_call_retryable() -> None:
    statuses = range(400, 600)
    dialect, now = OpenAIChatDialect(), datetime.now(UTC)

    asked_again = {status for status in statuses if is_asked_again(status)}

    assert asked_again == {
        status
        for status in statuses
        if dialect.error(status, {}, b"", now=now).retryable
    }


def is_asked_again(status: int) -> bool:
    response = httpx2.Response(status, headers={"retry-after-ms": "1"})
    with sdk_of(response, max_retries=1) as (sdk, requests):
        with suppress(openai.APIStatusError):
            sdk.chat.completions.create(model="m", messages=[])
        return len(requests) > 1
