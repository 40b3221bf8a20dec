"""What a batch comes to does not depend on what runs it."""

from __future__ import annotations

import contextvars
import json
import logging
from collections.abc import Iterator
from dataclasses import replace
from itertools import chain
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from reactivex import operators as ops

from rxagent.context import Context
from rxagent.errors import ToolError
from rxagent.events import ToolFinished, ToolProgress, ToolStarted
from rxagent.messages import ToolCall
from rxagent.requests import ToolSpec
from rxagent.runtime import block
from rxagent.tools import CallSettings, Executor, ToolEvent, run_batch, tool_index
from rxagent.tools.state import folded
from tests.tools import far_tools as far
from tests.tools.everywhere import IN_PROCESS, OPEN
from tests.tools.scene import CONTEXT, ORIGIN, batch_on, calling, ends

TOOLS: list[ToolSpec] = [
    each for each in vars(far).values() if isinstance(each, ToolSpec)
]
LIMITS = CallSettings(max_result_chars=1_000)


@pytest.fixture(scope="module", params=OPEN)
def everywhere(request: pytest.FixtureRequest) -> Iterator[Executor]:
    with OPEN[request.param]() as executor:
        yield executor


@pytest.fixture(scope="module", params=IN_PROCESS)
def in_process(request: pytest.FixtureRequest) -> Iterator[Executor]:
    with OPEN[request.param]() as executor:
        yield executor


def call(name: str, *, id: int = 0, **arguments: object) -> ToolCall:  # noqa: A002
    return calling(name, json.dumps(arguments), id=str(id))


def numbered(calls: list[ToolCall]) -> list[ToolCall]:
    return [replace(each, id=str(at)) for at, each in enumerate(calls)]


def by_call(events: list[ToolEvent]) -> list[list[ToolEvent]]:
    """The events of each call, in the order of the calls."""
    ids = sorted({int(event.call.id) for event in events})
    return [[e for e in events if int(e.call.id) == id_] for id_ in ids]


def heard(executor: Executor, calls: list[ToolCall]) -> list[list[ToolEvent]]:
    source = batch_on(executor, numbered(calls), *TOOLS, settings=LIMITS)
    return by_call(list(block(source)))


BATCHES: dict[str, list[ToolCall]] = {
    "none": [],
    "one": [call("add", a=1)],
    "values": [
        call("add", a=1),
        call("add", a="2", b=5),
        call("place", where={"city": "Oslo", "days": 2}),
        call("lazy"),
        call("who"),
    ],
    "equal calls": [call("add", a=1)] * 4,
    "failures": [
        call("fail", text="disk full"),
        call("add", a=1),
        call("fail_kindly"),
        call("fail_again"),
    ],
    "refusals": [
        call("nope"),
        call("add", a="one"),
        call("add"),
        calling("add", '{"a":'),
        calling("lazy", ""),
        replace(call("add", a=1), truncated=True),
        call("add", a=2),
    ],
    "writes": [
        call("note", text="a"),
        call("note_and_fail", text="b"),
        call("fold", text="c"),
        call("fold", text="d"),
        call("note", text="e"),
        call("note", text=7),
    ],
    "media": [call("picture"), call("attachment"), call("huge")],
    "async": [call("later", text="a"), call("add", a=1), call("later", text="b")],
    "steps": [call("steps"), call("add", a=1), call("steps")],
    "timeout": [call("wait_on"), call("add", a=1), call("wait_on")],
    "many": [call("add", a=at, b=at) for at in range(40)],
}


@pytest.fixture(scope="module")
def expected() -> dict[str, list[list[ToolEvent]]]:
    """What the batches come to, one call after the other."""
    with OPEN["sequential"]() as executor:
        return {name: heard(executor, calls) for name, calls in BATCHES.items()}


def test_the_batches_show_what_they_are_for(
    expected: dict[str, list[list[ToolEvent]]],
) -> None:
    failures = {
        name: [
            end.failure and (end.failure, end.attempts) for end in ends(chain(*each))
        ]
        for name, each in expected.items()
    }

    assert failures["values"] == [None] * 5
    assert failures["failures"] == [
        ("semantic", 1),
        None,
        ("environment", 1),
        ("transient", 2),
    ]
    assert failures["refusals"] == [
        *[("semantic", 0)] * 4,
        None,
        ("semantic", 0),
        None,
    ]
    assert failures["timeout"] == [("transient", 1), None, ("transient", 1)]


@pytest.mark.parametrize("name", BATCHES)
def test_a_batch_comes_to_the_same_on_every_executor(
    name: str, everywhere: Executor, expected: dict[str, list[list[ToolEvent]]]
) -> None:
    """S000-22, M-22, M-27, M-31, M-55, V-11, V-13."""
    assert heard(everywhere, BATCHES[name]) == expected[name]


def test_every_call_sees_one_context_and_writes_fold_in_the_order_of_calls(
    everywhere: Executor, caplog: pytest.LogCaptureFixture
) -> None:
    """S000-6, M-12, M-13, M-14, M-19, M-20."""
    before = Context({"user": "eva", "note": "before", "seen": ["zero"]})
    calls = numbered(
        [
            call("note", text="first"),
            call("fold", text="one"),
            call("note_and_fail", text="lost"),
            call("note", text=5),
            call("fold", text="two"),
            call("note", text="last"),
        ]
    )

    found = ends(block(batch_on(everywhere, calls, *TOOLS, context=before)))
    with caplog.at_level(logging.WARNING, logger="rxagent.tools"):
        after = folded(
            before, [(end.call, write) for end in found for write in end.writes]
        )

    assert [found[0].value, found[5].value] == ["before", "before"]
    assert after == Context(
        {"user": "eva", "note": "last", "seen": ["zero", "one", "two"]}
    )
    assert [end.writes for end in found if end.failure] == [(), ()]
    assert len(caplog.records) == 1
    assert all("first" not in str(end.message) for end in found)


def test_one_serial_tool_makes_the_batch_serial(
    everywhere: Executor, tmp_path: Path
) -> None:
    """S000-27, M-19."""
    path = str(tmp_path / "marks")
    calls = numbered(
        [
            call("alone" if at == 6 else "mark", path=path, text=str(at))
            for at in range(10)
        ]
    )

    events = list(block(batch_on(everywhere, calls, *TOOLS)))

    assert Path(path).read_text() == "0123456789"
    assert [(type(e), e.call.id) for e in events] == [
        (kind, str(at)) for at in range(10) for kind in (ToolStarted, ToolFinished)
    ]


@pytest.mark.parametrize("name", [name for name in OPEN if name != "sequential"])
def test_calls_of_a_batch_run_at_the_same_time(name: str, tmp_path: Path) -> None:
    calls = [
        call("meet", id=at, folder=str(tmp_path), who=str(at), others=1)
        for at in range(2)
    ]

    with OPEN[name]() as executor:
        found = ends(block(batch_on(executor, calls, *TOOLS)))

    assert [end.value for end in found] == ["0", "1"]


@pytest.mark.parametrize("name", [name for name in OPEN if name != "sequential"])
def test_a_function_that_takes_too_long_is_left_where_it_runs(
    name: str, tmp_path: Path
) -> None:
    """M-28, M-31, M-32."""
    path = tmp_path / "go"
    calls = numbered([call("wait_for", path=str(path)), call("add", a=1)])

    with OPEN[name]() as executor:
        slow, quick = ends(block(batch_on(executor, calls, *TOOLS)))
        path.touch()

    assert (slow.failure, slow.attempts, slow.writes) == ("transient", 1, ())
    assert slow.message.text.startswith("TimeoutError: no result after 0.05 s")
    assert quick.value == 2


def as_eva(executor: Executor, calls: list[ToolCall]) -> list[object]:
    far.user.set("eva")
    return [end.value for end in ends(block(batch_on(executor, calls, *TOOLS)))]


@pytest.mark.parametrize("count", [1, 3])
def test_context_variables_are_the_same_for_one_call_and_for_many(
    in_process: Executor, count: int
) -> None:
    """M-26, M-67."""
    calls = numbered([call("variable"), *[call("later", text="a")] * (count - 1)])

    values = contextvars.copy_context().run(as_eva, in_process, calls)

    assert values == ["eva", *["a of eva"] * (count - 1)]
    assert far.user.get() == "nobody"


@pytest.mark.parametrize("name", ["processes", "dask processes"])
def test_context_variables_stay_in_their_process(name: str) -> None:
    """M-26."""
    calls = numbered([call("variable"), call("later", text="a")])

    with OPEN[name]() as executor:
        values = contextvars.copy_context().run(as_eva, executor, calls)

    assert values == ["nobody", "a of eva"]


@pytest.mark.parametrize("count", [1, 3])
def test_reports_are_heard_in_order_before_the_end(
    in_process: Executor, count: int
) -> None:
    events = heard(in_process, [call("report")] * count)

    for each in events:
        middle = [e.value for e in each if isinstance(e, ToolProgress)]
        assert middle == [0, 1, 2]
        assert [type(each[0]), type(each[-1])] == [ToolStarted, ToolFinished]


@pytest.mark.parametrize(
    ("name", "error"),
    [("fatal", "must not be seen"), ("leave", r"tried to exit the program \(3\)")],
)
@pytest.mark.parametrize("company", [0, 1], ids=["alone", "in company"])
def test_what_is_not_for_the_model_ends_the_batch_with_its_own_type(
    everywhere: Executor, name: str, error: str, company: int
) -> None:
    """M-27."""
    calls = numbered([call(name), *[call("add", a=1)] * company])

    with pytest.raises(ToolError, match=error):
        list(block(batch_on(everywhere, calls, *TOOLS)))

    assert ends(block(batch_on(everywhere, [call("add", a=1)], *TOOLS)))[0].value == 2


def test_what_the_caller_names_is_raised_as_it_is(everywhere: Executor) -> None:
    """M-27."""
    source = batch_on(
        everywhere,
        [call("fail", text="disk full")],
        *TOOLS,
        settings=CallSettings(raises=(ValueError,)),
    )

    with pytest.raises(ValueError, match="disk full"):
        list(block(source))


def test_a_tool_that_is_not_given_does_not_run(everywhere: Executor) -> None:
    """V-12."""
    source = run_batch(
        [call("add", a=1)],
        tool_index([far.who]),
        context=CONTEXT,
        origin=ORIGIN,
        executor=everywhere,
    )

    (end,) = ends(block(source))

    assert end.message.text == "there is no tool 'add'; the tools are: who"
    assert end.attempts == 0


LEAVING = numbered(
    [call("add", a=1), call("steps"), call("later", text="a"), call("fail", text="b")]
)


@pytest.mark.parametrize("count", range(1, 10))
def test_leaving_at_any_event_is_heard_no_more_and_the_executor_goes_on(
    everywhere: Executor, count: int
) -> None:
    seen: list[ToolEvent] = []
    source = batch_on(everywhere, LEAVING, *TOOLS).pipe(
        ops.do_action(seen.append), ops.take(count)
    )

    assert len(list(block(source))) == count
    probe = ends(block(batch_on(everywhere, numbered([call("add", a=1)] * 3), *TOOLS)))

    assert [end.value for end in probe] == [2, 2, 2]
    assert len(seen) == count


SOME = st.sampled_from(
    [
        call("add", a=1),
        call("add", a="x"),
        call("nope"),
        call("note", text="a"),
        call("note_and_fail", text="a"),
        call("fold", text="a"),
        call("steps"),
        call("later", text="a"),
        call("fail_again"),
        call("picture"),
        call("huge"),
        call("report"),
        call("who"),
    ]
)


@given(calls=st.lists(SOME, max_size=8))
@settings(max_examples=40, suppress_health_check=[HealthCheck.function_scoped_fixture])
def test_any_batch_comes_to_the_same_in_process(
    in_process: Executor, calls: list[ToolCall]
) -> None:
    """S000-22, M-27."""
    with OPEN["sequential"]() as executor:
        assert heard(in_process, calls) == heard(executor, calls)
