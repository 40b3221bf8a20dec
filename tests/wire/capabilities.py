"""What each dialect can say, found out by asking it.

    python -m tests.wire.capabilities      # writes the tables of the page anew

A request is encoded with a thing and without it.  An answer is decoded, and what comes
of it is looked at.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

from rxagent.errors import RequestError
from rxagent.events import ChatEvent, Finished, ReasoningDelta, TextDelta, ToolCallDelta
from rxagent.messages import (
    AssistantMessage,
    Audio,
    File,
    Image,
    Message,
    Opaque,
    Reasoning,
    SystemMessage,
    Text,
    ToolCall,
    ToolMessage,
    UserMessage,
    UserPart,
)
from rxagent.models._answer import Dialect
from rxagent.requests import ChatOptions, ChatRequest, ToolSpec
from rxagent.usage import Usage
from rxagent.wire import OpenAIChatDialect, OpenAIResponsesDialect
from tests.tables import table, with_tables
from tests.wire.dialects import DIALECTS, Part, Spoken

__all__ = ["PAGE", "written_anew"]

PAGE = Path(__file__).parents[2] / "docs/reference/what-each-dialect-can-do.md"

_USER = UserMessage.of("hi")
_PLAIN = ChatRequest(messages=(_USER,))
_SCHEMA = {"type": "object", "properties": {"x": {"type": "string"}}}
_TOOL = ToolSpec(name="f", description="A tool.", parameters=_SCHEMA)
_WITH_TOOL = replace(_PLAIN, tools=(_TOOL,))
_CALL = ToolCall(id="c1", name="f")
_SEARCH = '{"type":"web_search_call","id":"ws_1","status":"completed"}'
_YES, _IF_SET, _NO, _NOTHING = "yes", "if set", "no", "left out"


# ---------------------------------------------------------------------- requests


def _says(dialect: Dialect, request: ChatRequest, base: ChatRequest) -> str:
    """Whether ``request`` is sent, and not as ``base`` is, which lacks something."""
    plain = dialect.encode(base, model="m", stream=True)
    try:
        body = dialect.encode(request, model="m", stream=True)
    except RequestError:
        return _NO
    return _YES if body != plain else _NOTHING


Probe = Callable[[Dialect], str]


def _sent(*messages: Message, without: Sequence[Message] = (_USER,)) -> Probe:
    base = replace(_PLAIN, messages=tuple(without))
    return lambda dialect: _says(dialect, replace(_PLAIN, messages=messages), base)


def _attached(part: UserPart) -> Probe:
    return _sent(UserMessage(content=(Text(text="hi"), part)))


def _resulting(part: UserPart) -> Probe:
    """A part of a result of a tool."""

    def history(*content: UserPart) -> tuple[Message, ...]:
        result = ToolMessage(content=content, tool_call_id="c1", name="f")
        return (_USER, AssistantMessage(content=(_CALL,)), result)

    text = Text(text="done")
    return _sent(*history(text, part), without=history(text))


def _optional(base: ChatRequest = _PLAIN, **options: Any) -> Probe:
    asked = replace(base, options=ChatOptions(**options))
    return lambda dialect: _says(dialect, asked, base)


def _replayed(make: Callable[[str], Reasoning | Opaque]) -> Probe:
    """A part of an answer, when the conversation goes on."""

    def says(dialect: Dialect) -> str:
        answer = AssistantMessage.of("ho")
        whole = AssistantMessage(content=(make(_owner(dialect)), *answer.content))
        probe = _sent(_USER, whole, _USER, without=(_USER, answer, _USER))
        found = probe(dialect)
        if found == _NOTHING and isinstance(dialect, OpenAIChatDialect):
            always = probe(replace(dialect, send_reasoning="always"))
            return _IF_SET if always == _YES else found
        return found

    return says


def _owner(dialect: Dialect) -> str:
    if isinstance(dialect, OpenAIResponsesDialect):
        return dialect.opaque
    return str(getattr(dialect, "name"))  # noqa: B009 - every dialect has one


_REQUESTS: Mapping[str, Probe] = {
    "text": _sent(UserMessage.of("ho")),
    "instructions": _sent(SystemMessage.of("Be kind."), _USER),
    "picture, as bytes": _attached(Image(data=b"x")),
    "picture, by address": _attached(Image(url="https://example.org/a.png")),
    "audio, as bytes": _attached(Audio(data=b"x")),
    "file, as bytes": _attached(File(data=b"x")),
    "file, by address": _attached(File(url="https://example.org/a.pdf")),
    "tools": lambda dialect: _says(dialect, _WITH_TOOL, _PLAIN),
    "`tool_choice`: none": _optional(_WITH_TOOL, tool_choice="none"),
    "`tool_choice`: required": _optional(_WITH_TOOL, tool_choice="required"),
    "`tool_choice`: one tool": _optional(_WITH_TOOL, tool_choice="f"),
    "`parallel_tool_calls=False`": _optional(_WITH_TOOL, parallel_tool_calls=False),
    "picture in a result": _resulting(Image(data=b"x")),
    "file in a result": _resulting(File(data=b"x")),
    "`response_schema`": _optional(response_schema=_SCHEMA),
    "`reasoning_effort`": _optional(reasoning_effort="low"),
    "`temperature`": _optional(temperature=0.5),
    "`top_p`": _optional(top_p=0.5),
    "`max_tokens`": _optional(max_tokens=7),
    "`stop`": _optional(stop=("end",)),
    "`seed`": _optional(seed=7),
    "`extra`": _optional(extra={"x": 1}),
    "reasoning without signature, sent back": _replayed(lambda _: Reasoning(text="hm")),
    "signed reasoning, sent back": _replayed(
        lambda owner: Reasoning(text="hm", signature="s", dialect=owner)
    ),
    "what only the provider reads, sent back": _replayed(
        lambda owner: Opaque(dialect=owner, data=_SEARCH)
    ),
}


# ----------------------------------------------------------------------- answers


def _events(spoken: Spoken, reads: Iterable[bytes]) -> list[ChatEvent]:
    decoder = spoken.dialect.decoder(_PLAIN, content_type=spoken.content_type)
    events = [event for read in reads for event in decoder.feed(read)]
    return [*events, *decoder.flush()]


def _streamed(part: Part, kind: type[ChatEvent]) -> Callable[[Spoken], str]:
    """Whether a part comes in pieces, or in one."""

    def says(spoken: Spoken) -> str:
        reads = map(spoken.frame, spoken.events([part]))
        found = [each for each in _events(spoken, reads) if isinstance(each, kind)]
        if isinstance(found[0], ToolCallDelta):
            found = [e for e in found if isinstance(e, ToolCallDelta) and e.arguments]
        return "in pieces" if len(found) > 1 else "whole"

    return says


def _counted(count: Callable[[Usage], int | None]) -> Callable[[Spoken], str]:
    def says(spoken: Spoken) -> str:
        *_, end = _events(spoken, [spoken.counted])
        assert isinstance(end, Finished)
        return _NO if count(end.response.usage) is None else _YES

    return says


_ANSWERS: Mapping[str, Callable[[Spoken], str]] = {
    "text": _streamed(Part("text", ("a", "b")), TextDelta),
    "reasoning": _streamed(Part("thought", ("a", "b")), ReasoningDelta),
    "arguments of a call": _streamed(Part("call", ("a", "b")), ToolCallDelta),
    "tokens of the prompt": _counted(lambda usage: usage.prompt_tokens),
    "of it, read from the cache": _counted(lambda usage: usage.cache_read_tokens),
    "of it, written to the cache": _counted(lambda usage: usage.cache_write_tokens),
    "tokens of the answer": _counted(lambda usage: usage.output_tokens),
    "of it, reasoning": _counted(lambda usage: usage.reasoning_tokens),
}


# ---------------------------------------------------------------------- the page


def _table(title: str, rows: Mapping[str, Sequence[str]]) -> str:
    names = [name.removesuffix("Dialect") for name in DIALECTS]
    return table([title, *names], [[name, *cells] for name, cells in rows.items()])


def _tables() -> dict[str, str]:
    spoken = DIALECTS.values()
    requests = {
        name: [probe(each.dialect) for each in spoken]
        for name, probe in _REQUESTS.items()
    }
    answers = {
        name: [probe(each) for each in spoken] for name, probe in _ANSWERS.items()
    }
    return {
        "requests": _table("in a request", requests),
        "answers": _table("in an answer", answers),
    }


def written_anew(page: str) -> str:
    """The page with the tables that the code makes now."""
    return with_tables(page, _tables())


if __name__ == "__main__":
    PAGE.write_text(written_anew(PAGE.read_text()))
