from __future__ import annotations

import math
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import pytest
from pydantic import BaseModel

from rxagent.errors import ConfigurationError
from rxagent.tools import (
    CallSettings,
    Tool,
    ToolRules,
    concurrent,
    futures,
    threads,
    tool,
)
from rxagent.tools.tool import AnyTool

NO_TIMES: list[Any] = [0, -1, math.nan, math.inf, "5", True]
NO_COUNTS: list[Any] = [-1, 1.5, "2", None, True]


def plain() -> int:
    return 1


def decorated(**rules: Any) -> AnyTool:
    @tool(**rules)
    def it() -> int:
        return 1

    return it


def inline(**rules: Any) -> AnyTool:
    return tool(plain, **rules)


def from_schema(**rules: Any) -> AnyTool:
    return Tool.from_schema(
        plain, name="it", description="", parameters={"type": "object"}, **rules
    )


class Nothing(BaseModel):
    pass


def from_model(**rules: Any) -> AnyTool:
    return Tool.from_model(lambda it: it, Nothing, name="it", **rules)


by_way = pytest.mark.parametrize("make", [decorated, inline, from_schema, from_model])


@by_way
def test_every_rule_can_be_declared_in_every_way(make: Callable[..., AnyTool]) -> None:
    """M-54."""
    rules = ToolRules(
        serial=True,
        timeout_s=5,
        retries=2,
        retry_delay_s=0.5,
        return_direct=True,
        needs_approval=True,
    )
    given = {name: getattr(rules, name) for name in ToolRules.__slots__}

    assert make(**given).rules == rules
    assert make().rules == ToolRules()


def test_what_is_not_declared_does_nothing() -> None:
    """M-18, S000-33."""
    rules = ToolRules()

    assert (rules.serial, rules.return_direct, rules.needs_approval) == (False,) * 3
    assert (rules.timeout_s, rules.retries, rules.retry_delay_s) == (None, 0, 0.2)


@by_way
@pytest.mark.parametrize("value", NO_TIMES, ids=repr)
def test_a_timeout_that_would_do_nothing_is_refused_when_the_tool_is_made(
    make: Callable[..., AnyTool], value: Any
) -> None:
    """S000-34."""
    with pytest.raises(ConfigurationError, match="timeout_s must be more than 0"):
        make(timeout_s=value)


@pytest.mark.parametrize("value", [*NO_TIMES, None], ids=repr)
def test_a_delay_is_a_time(value: Any) -> None:
    with pytest.raises(ConfigurationError, match="retry_delay_s must be more than 0"):
        ToolRules(retry_delay_s=value)


@pytest.mark.parametrize("value", NO_COUNTS, ids=repr)
def test_retries_are_a_number(value: Any) -> None:
    with pytest.raises(ConfigurationError, match="retries must be 0 or more"):
        ToolRules(retries=value)


@pytest.mark.parametrize("value", NO_TIMES, ids=repr)
def test_the_timeout_of_an_executor_and_of_a_call_is_checked_too(value: Any) -> None:
    """S000-34."""
    for make in (concurrent, threads, CallSettings):
        with pytest.raises(ConfigurationError, match="timeout_s must be more than 0"):
            make(timeout_s=value)


@pytest.mark.parametrize("value", [*NO_COUNTS[:3], 0, True], ids=repr)
def test_the_size_of_an_executor_is_a_number(value: Any) -> None:
    """M-24."""
    with pytest.raises(ConfigurationError, match="max_workers must be 1 or more"):
        threads(max_workers=value)
    with pytest.raises(ConfigurationError, match="max_concurrency must be 1 or more"):
        concurrent(max_concurrency=value)


@pytest.mark.parametrize("rule", ["serial", "return_direct", "needs_approval"])
@pytest.mark.parametrize("value", ["no", 1, None])
def test_a_switch_is_true_or_false(rule: str, value: Any) -> None:
    """S000-34: the text "no" does not switch anything on."""
    with pytest.raises(ConfigurationError, match=f"{rule} must be True"):
        ToolRules(**{rule: value})


@pytest.mark.parametrize("value", [None, "pool", ThreadPoolExecutor])
def test_futures_takes_an_executor(value: Any) -> None:
    with pytest.raises(ConfigurationError, match="futures takes an executor of conc"):
        futures(value)


def test_a_limit_on_results_leaves_room_for_saying_so() -> None:
    with pytest.raises(ConfigurationError, match="max_result_chars must be 1 "):
        CallSettings(max_result_chars=0)
