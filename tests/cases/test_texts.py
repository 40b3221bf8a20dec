"""That the reader of rendered messages sees the whole body, and can say no."""

from __future__ import annotations

import pytest

from tests.cases.case import Case, Json
from tests.cases.texts import check_render

MESSAGES: list[Json] = [
    {"role": "system", "content": "be brief"},
    {"role": "user", "content": "hi"},
]


def render(protocol: str, expect: Json, messages: list[Json] = MESSAGES) -> Case:
    return Case(
        id="c",
        kind="render",
        protocol=protocol,
        given={"messages": messages},
        expect=expect,
    )


PROTOCOLS = ("openai-chat", "anthropic-messages", "google-generate")


@pytest.mark.parametrize("protocol", PROTOCOLS)
def test_instructions_count_wherever_a_protocol_puts_them(protocol: str) -> None:
    for text in ("be brief", {"$regex": "^be "}):
        check_render(render(protocol, {"contains_text": text}), "as cut")
    with pytest.raises(AssertionError):
        check_render(render(protocol, {"contains_text": "be long"}), "as cut")


@pytest.mark.parametrize("protocol", PROTOCOLS)
def test_messages_and_invariants_are_checked(protocol: str) -> None:
    expect: Json = {"invariants": ["system-first-once"], "no_empty_text_blocks": True}
    check_render(render(protocol, expect), "as cut")
    check_render(render(protocol, {"messages": {"$not": []}}), "as cut")
    with pytest.raises(AssertionError):
        check_render(render(protocol, {"messages": []}), "as cut")


def test_a_text_that_is_empty_is_seen() -> None:
    empty: list[Json] = [{"role": "user", "content": ""}]
    expect: Json = {"no_empty_text_blocks": True}
    with pytest.raises(AssertionError):
        check_render(render("openai-chat", expect, empty), "as cut")
