"""One script, and every dialect makes the same answer of it."""

from __future__ import annotations

import jsonschema
import pytest
from pydantic_core import from_json

from rxagent import tool
from rxagent.events import ToolCallDelta
from rxagent.messages import Opaque, Reasoning, Text, ToolCall
from rxagent.requests import ChatOptions, ChatRequest
from rxagent.responses import FinishReason
from rxagent.wire import parse_arguments
from tests.aimock.dialects import (
    CHAT_COMPLETIONS,
    DIALECTS,
    by_dialect,
    by_dialect_but,
    by_stream,
)
from tests.aimock.running import Aimock
from tests.protocol.asking import Heard, ask, request_of

ANSWER = "Grüezi, 東京 🚀👩‍🚀 and the rest."


@tool
def weather(city: str) -> str:
    """Get the weather of a city."""
    raise AssertionError(city)


def hear(aimock: Aimock, dialect: str, request: ChatRequest) -> Heard:
    [heard] = ask(DIALECTS[dialect].at(aimock.url), request)
    return heard


def kinds(heard: Heard) -> list[type[object]]:
    """Of the parts of the answer, but for those that only the provider reads."""
    content = heard.response.message.content
    return [type(part) for part in content if not isinstance(part, Opaque)]


def request(*, stream: bool) -> ChatRequest:
    return request_of("Where?", tools=(weather,), options=ChatOptions(stream=stream))


@by_dialect
@by_stream
def test_text_is_what_was_scripted(aimock: Aimock, dialect: str, stream: bool) -> None:
    aimock.say({"content": ANSWER}, chunkSize=5)

    heard = hear(aimock, dialect, request(stream=stream))

    assert heard.text == heard.response.text == ANSWER
    assert (len(heard.events) > 3) == stream
    assert heard.response.finish_reason == "stop"
    assert heard.response.tool_calls == ()


@by_dialect
def test_a_character_in_two_halves_is_one_again(aimock: Aimock, dialect: str) -> None:
    """aimock cuts between UTF-16 units, so that half an emoji is a chunk."""
    aimock.say({"content": ANSWER}, chunkSize=1)

    heard = hear(aimock, dialect, request(stream=True))

    assert heard.text == heard.response.text == ANSWER


@by_dialect_but("ollama")  # aimock does not send it as Ollama does
@by_stream
def test_reasoning_stands_before_the_text_and_never_in_it(
    aimock: Aimock, dialect: str, stream: bool
) -> None:
    aimock.say({"content": ANSWER, "reasoning": "Hm 🤔, where?"}, chunkSize=3)

    heard = hear(aimock, dialect, request(stream=stream))

    assert heard.text == heard.response.text == ANSWER
    assert heard.response.reasoning == "Hm 🤔, where?"
    assert kinds(heard) == [Reasoning, Text]


@by_dialect
@by_stream
def test_calls_have_their_names_and_arguments_and_ids_of_their_own(
    aimock: Aimock, dialect: str, stream: bool
) -> None:
    cities = ["東京", 'Oslo \\ "quoted" 🚀', "Zürich"]
    calls = [{"name": "weather", "arguments": {"city": city}} for city in cities]
    aimock.say({"content": "Let me look. ", "toolCalls": calls}, chunkSize=3)

    heard = hear(aimock, dialect, request(stream=stream))

    assert heard.text == heard.response.text == "Let me look. "
    called = heard.response.tool_calls
    assert [call.name for call in called] == ["weather"] * 3
    found = [parse_arguments(call.arguments) for call in called]
    assert found == [{"city": city} for city in cities]
    assert len({call.id for call in called}) == 3
    assert not any(call.truncated for call in called)
    assert heard.response.finish_reason == "tool_calls"
    assert any(isinstance(each, ToolCallDelta) for each in heard.events)


@by_dialect_but("ollama")  # aimock has no ids there
@by_stream
def test_the_id_of_a_call_is_the_one_of_the_server(
    aimock: Aimock, dialect: str, stream: bool
) -> None:
    call = {"id": "call_Z", "name": "weather", "arguments": {"city": "Oslo"}}
    aimock.say({"toolCalls": [call]})

    [called] = hear(aimock, dialect, request(stream=stream)).response.tool_calls

    assert called.id == "call_Z"


@by_dialect
def test_a_call_before_a_text_stays_before_it(aimock: Aimock, dialect: str) -> None:
    call = {"type": "toolCall", "name": "weather", "arguments": {"city": "Oslo"}}
    aimock.say({"blocks": [call, {"type": "text", "text": "Wait!"}]})

    heard = hear(aimock, dialect, request(stream=True))

    assert kinds(heard) == [ToolCall, Text]


@by_dialect_but("ollama")  # aimock always says 0 there
@by_stream
def test_usage_is_what_the_server_counted(
    aimock: Aimock, dialect: str, stream: bool
) -> None:
    counts = {"prompt_tokens": 11, "completion_tokens": 7, "total_tokens": 18}
    aimock.say({"content": ANSWER, "usage": counts})

    usage = hear(aimock, dialect, request(stream=stream)).response.usage

    assert (usage.prompt_tokens, usage.output_tokens) == (11, 7)
    assert usage.total_tokens == 18
    assert usage.sure


@by_dialect_but(*CHAT_COMPLETIONS)  # there it counts by itself
@by_stream
def test_zeros_are_no_count_of_tokens(
    aimock: Aimock, dialect: str, stream: bool
) -> None:
    aimock.say({"content": ANSWER})

    usage = hear(aimock, dialect, request(stream=stream)).response.usage

    assert (usage.prompt_tokens, usage.output_tokens) == (None, None)
    assert not usage.sure


ENDS: dict[str, tuple[FinishReason, FinishReason | None]] = {
    **dict.fromkeys(CHAT_COMPLETIONS, ("length", "content_filter")),
    "responses": ("unknown", None),  # aimock leaves out why, or fails without an error
    "anthropic": ("length", "unknown"),  # Anthropic has no such reason
    "gemini": ("length", "content_filter"),
}


@pytest.mark.parametrize("dialect", ENDS)
@by_stream
def test_an_answer_that_was_cut_off_or_filtered_says_so(
    aimock: Aimock, dialect: str, stream: bool
) -> None:
    aimock.say_in_turn(
        {"content": ANSWER, "finishReason": "length"},
        {"content": ANSWER, "finishReason": "content_filter"},
    )
    model = DIALECTS[dialect].at(aimock.url)

    cut, filtered = ask(model, request(stream=stream), request(stream=stream))

    assert cut.text == filtered.text == ANSWER
    of_cut, of_filtered = ENDS[dialect]
    assert cut.response.finish_reason == of_cut
    if of_filtered is None:
        assert filtered.model_error.delivered
    else:
        assert filtered.response.finish_reason == of_filtered


SCHEMA: dict[str, object] = {
    "title": "Film",
    "type": "object",
    "properties": {"name": {"type": "string"}, "year": {"type": "integer"}},
    "required": ["name", "year"],
    "additionalProperties": False,
}


@by_dialect
@by_stream
def test_structured_output_is_asked_for_and_read(
    aimock: Aimock, dialect: str, stream: bool
) -> None:
    match = {"responseFormat": "json_schema"} if dialect in CHAT_COMPLETIONS else {}
    film = {"name": "Amélie 🎬", "year": 2001}
    aimock.script({"match": match, "response": {"content": film}, "chunkSize": 3})
    options = ChatOptions(response_schema=SCHEMA, stream=stream)

    heard = hear(aimock, dialect, request_of("A film.", options=options))

    assert from_json(heard.response.text) == film
    jsonschema.validate(film, SCHEMA)
    if dialect in CHAT_COMPLETIONS:
        [entry] = aimock.journal
        assert entry["body"]["response_format"]["json_schema"]["schema"] == SCHEMA
