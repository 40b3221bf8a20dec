from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Literal

import pytest

from rxagent import just
from rxagent.advisors import tool_loop
from rxagent.choices import check_choice
from rxagent.errors import ConfigurationError
from rxagent.models import LocalChat, OpenAIEmbeddings
from rxagent.runtime import iterate
from rxagent.testing import Cassette
from rxagent.wire import OpenAIChatDialect

OPTIONS: dict[str, Callable[..., object]] = {
    "overflow": partial(iterate, just(1)),
    "record": partial(Cassette, "never-written.jsonl"),
    "on_limit": tool_loop,
    "on_approval_timeout": tool_loop,
    "on_environment": tool_loop,
    "tools": LocalChat,
    "encoding_format": partial(OpenAIEmbeddings, model="m", api_key="k"),
    "send_reasoning": OpenAIChatDialect,
    "reasoning_member": OpenAIChatDialect,
    "usage": OpenAIChatDialect,
}


def test_a_word_of_the_choice_passes() -> None:
    check_choice("colour", "red", Literal["red", "blue"])


@pytest.mark.parametrize("word", ["rde", "", None, 1, ["red"]])
def test_another_one_is_an_error_with_the_right_ones(word: object) -> None:
    with pytest.raises(ConfigurationError) as at:
        check_choice("colour", word, Literal["red", "blue"])
    assert str(at.value) == f"colour must be one of 'red', 'blue', got {word!r}"


@pytest.mark.parametrize("option", OPTIONS)
def test_a_typo_of_an_option_is_an_error_where_it_is_written(option: str) -> None:
    with pytest.raises(ConfigurationError, match=f"^{option} must be one of '"):
        OPTIONS[option](**{option: "suspnd"})


def test_a_typo_of_what_one_limit_does_is_an_error_too() -> None:
    with pytest.raises(
        ConfigurationError, match=r"max_calls.* must be one of 'finish'"
    ):
        tool_loop(on_limit={"max_calls": "rase"})  # type: ignore[dict-item]
