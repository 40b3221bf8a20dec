from __future__ import annotations

import copy
import pickle

import pytest

from rxagent.errors import (
    ContextTypeError,
    LimitError,
    MissingContextError,
    ModelTimeoutError,
    RateLimitError,
    RetractedError,
    RxAgentError,
    ToolError,
    ToolFailedError,
)
from rxagent.usage import Usage

ERRORS: list[RxAgentError] = [
    RxAgentError("plain"),
    ToolError("add", "is only declared"),
    ToolFailedError("no key", kind="environment"),
    ContextTypeError("user", expected=str, found=int),
    MissingContextError("user", hint="set it"),
    LimitError("too many", name="max_calls", value=3, usage=Usage(input_tokens=1)),
    RetractedError("a guard"),
    RateLimitError("slow down", retry_after_s=2.0),
    ModelTimeoutError("late", clock="gap", limit_s=3.0),
]


@pytest.mark.parametrize("error", ERRORS, ids=lambda each: type(each).__name__)
def test_an_error_comes_back_whole_from_another_process(error: RxAgentError) -> None:
    """M-27."""
    for back in (pickle.loads(pickle.dumps(error)), copy.copy(error)):
        assert type(back) is type(error)
        assert str(back) == str(error)
        assert vars(back) == vars(error)
