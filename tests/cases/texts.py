"""Cases about what is sent and what is read out of a text."""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterator
from typing import Any

import pytest
from jsonschema import Draft202012Validator

from rxagent.errors import ConfigurationError, NoJsonError
from rxagent.models._answer import Dialect
from rxagent.requests import ChatRequest
from rxagent.tools import Tool
from rxagent.wire import (
    AnthropicDialect,
    GeminiDialect,
    OpenAIChatDialect,
    extract_json,
)
from tests.cases.case import Case, Cutting
from tests.cases.gaps import NotSupportedError
from tests.cases.invariants import check_invariants, neutral_messages, strings
from tests.cases.matchers import check, matches
from tests.cases.words import check_error, message_of

__all__ = ["check_json_extract", "check_names", "check_render"]

_DIALECTS: dict[str, Callable[..., Dialect]] = {
    "anthropic-messages": AnthropicDialect,
    "google-generate": GeminiDialect,
    "openai-chat": OpenAIChatDialect,
}


def check_render(case: Case, cutting: Cutting) -> None:
    """Messages to a body."""
    del cutting
    if case.protocol not in _DIALECTS:
        raise NotSupportedError(f"protocol {case.protocol}")
    messages = tuple(message_of(each) for each in case.given["messages"])
    dialect = _DIALECTS[case.protocol](**case.given.get("options", {}))
    request = ChatRequest(messages=messages)
    body = json.loads(dialect.encode(request, model="m", stream=True))
    expect = dict(case.expect)
    sent = body["contents" if case.protocol == "google-generate" else "messages"]
    check(expect.pop("messages", sent), sent, "$.messages")
    neutral = neutral_messages(body, case.protocol)
    check_invariants(expect.pop("invariants", []), neutral)
    if expect.pop("no_empty_text_blocks", False):
        assert "" not in {*_texts(body)}, body
    if text := expect.pop("contains_text", ""):
        wanted = {"$contains": text} if isinstance(text, str) else text
        assert any(matches(wanted, each) for each in strings(body)), text
    if expect:
        raise NotSupportedError(f"this reader does not know {expect.keys()}")


def _texts(value: Any) -> Iterator[str]:
    """The texts of messages, instructions and blocks, whatever they are called."""
    match value:
        case dict():
            for name, member in value.items():
                if name in ("text", "content", "system") and isinstance(member, str):
                    yield member
                else:
                    yield from _texts(member)
        case list():
            for item in value:
                yield from _texts(item)
        case _:
            return


def check_json_extract(case: Case, cutting: Cutting) -> None:
    """A model's text to a value, which the schema then judges."""
    del cutting
    validator = Draft202012Validator(case.given["schema"])
    value, error = _extract(case.given["text"], validator)
    if error is None and not validator.is_valid(value):
        assert case.expect.get("error", {}).get("kind") == "schema", value
        value = None
    else:
        check_error(case.expect.get("error"), error)
    if "value" in case.expect:
        check(case.expect["value"], value, "$.value")


def _extract(text: str, validator: Any) -> tuple[Any, NoJsonError | None]:
    try:
        return extract_json(text, fits=validator.is_valid), None
    except NoJsonError as error:
        return None, error


def check_names(case: Case, cutting: Cutting) -> None:
    """Names that a provider refuses: we take the way of ``or``, and refuse them too."""
    del cutting
    assert "refuses" in case.expect.get("or", "")
    for name in case.given["tools"]:
        if re.search(case.given["provider_pattern"], name):
            assert _registered(name).name == name
        else:
            with pytest.raises(ConfigurationError, match=re.escape(repr(name))):
                _registered(name)


def _registered(name: str) -> Tool[[], None]:
    schema = {"type": "object"}
    return Tool.from_schema(_nothing, name=name, description="", parameters=schema)


def _nothing() -> None:
    """Do nothing."""
