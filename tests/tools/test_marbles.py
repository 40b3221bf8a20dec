"""The marbles of the docstrings, run: what is drawn is what happens."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from reactivex import Observable
from reactivex.testing.marbles import marbles_testing

from rxagent.messages import ToolCall
from rxagent.tools import concurrent, run_batch, run_call, tool, tool_index
from tests.marbles import drawn
from tests.tools.scene import CONTEXT, ORIGIN, calling, finished, progress, started


def test_a_call_starts_reports_and_finishes_as_drawn() -> None:
    given, expected = drawn(run_call.__doc__)
    call = calling("watch")
    letters: dict[str | float, Any] = {
        "S": started(call),
        "p": progress(call, "p"),
        "q": progress(call, "q"),
        "F": finished(call, "q", value="q"),
    }
    assert given is not None

    with marbles_testing(timespan=1.0) as (start, cold, _, exp):
        source: Observable[str] = cold(given, None, None)

        @tool
        def watch() -> Observable[str]:
            return source

        got = start(run_call(call, tool_index([watch]), context=CONTEXT, origin=ORIGIN))
        assert got == exp(expected, letters, None)


def test_a_batch_starts_and_finishes_as_drawn() -> None:
    _, expected = drawn(run_batch.__doc__)
    calls: Sequence[ToolCall] = [calling(name, id=name) for name in "abc"]
    letters: dict[str | float, Any] = {
        **{call.id: started(call) for call in calls},
        **{call.id.upper(): finished(call, "null", value=None) for call in calls},
    }

    with marbles_testing(timespan=1.0) as (start, cold, _, exp):
        lengths = {"a": 12, "b": 6, "c": 7}
        sources: dict[str, Observable[str]] = {
            name: cold("-" * length + "|", None, None)
            for name, length in lengths.items()
        }

        def made(name: str) -> Any:
            def source() -> Observable[str]:
                return sources[name]

            return tool(source, name=name)

        got = start(
            run_batch(
                calls,
                tool_index(map(made, "abc")),
                context=CONTEXT,
                origin=ORIGIN,
                executor=concurrent(max_concurrency=2),
            )
        )
        assert got == exp(expected, letters, None)
