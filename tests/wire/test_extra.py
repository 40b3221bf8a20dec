from __future__ import annotations

import json

import pytest

from rxagent.errors import RequestError
from rxagent.messages import UserMessage
from rxagent.models._answer import Dialect
from rxagent.requests import ChatOptions, ChatRequest, ToolSpec
from rxagent.wire import OpenAIChatDialect
from tests.wire.dialects import DIALECTS

SPEC = ToolSpec(name="mine", description="", parameters={"type": "object"})
DIALECT = [spoken.dialect for spoken in DIALECTS.values()]


def encode(dialect: Dialect, **extra: object) -> bytes:
    request = ChatRequest(
        messages=(UserMessage.of("hi"),),
        tools=(SPEC,),
        options=ChatOptions(extra=extra),
    )
    return dialect.encode(request, model="m", stream=True)


@pytest.mark.parametrize("dialect", DIALECT, ids=DIALECTS)
def test_tools_of_extra_stand_behind_those_of_the_request(dialect: Dialect) -> None:
    further = {"type": "web_search", "name": "theirs"}

    tools = json.loads(encode(dialect, tools=[further]))["tools"]

    assert "mine" in json.dumps(tools[0])
    assert tools[1:] == [further]


def test_tools_of_extra_are_a_list() -> None:
    with pytest.raises(RequestError, match="must be a list"):
        encode(OpenAIChatDialect(), tools="web_search")


def test_a_stream_that_extra_takes_back_has_no_options() -> None:
    body = json.loads(encode(OpenAIChatDialect(), stream=False))

    assert body["stream"] is False
    assert "stream_options" not in body
