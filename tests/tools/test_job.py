from __future__ import annotations

import contextvars
import pickle
from collections.abc import Iterator
from typing import Any

import pytest

from rxagent.context import Write
from rxagent.errors import ToolError, ToolFailedError
from rxagent.tools import Job, Outcome, ToolContext
from rxagent.tools.parcel import pack, run_packed, unpack
from tests.tools import far_tools
from tests.tools.scene import CONTEXT, ORIGIN, calling


def job(name: str, **arguments: Any) -> Job:
    return Job(
        tool=name, function=getattr(far_tools, name).function, arguments=arguments
    )


def context() -> ToolContext:
    return ToolContext(context=CONTEXT, call=calling("it"), origin=ORIGIN)


def plain(a: int) -> int:
    return a


def test_a_job_calls_its_function_with_its_arguments() -> None:
    assert job("add", a=1, b=2)() == Outcome(3)


def test_what_is_left_to_be_read_is_read() -> None:
    def expression() -> Iterator[int]:
        return (at for at in range(2))

    assert job("lazy")() == Outcome([1, 2])
    assert Job(tool="it", function=expression)() == Outcome([0, 1])


def test_a_generator_is_left_to_be_stepped() -> None:
    def generator() -> Iterator[int]:
        yield 1

    made = Job(tool="it", function=generator)().value

    assert isinstance(made, Iterator)
    assert [*made] == [1]


def test_a_job_sees_its_variables_and_changes_no_others() -> None:
    """M-26."""
    variables = contextvars.copy_context()
    variables.run(far_tools.user.set, "eva")
    function = far_tools.variable.function

    assert Job(tool="it", function=function, variables=variables)() == Outcome("eva")
    assert Job(tool="it", function=function)() == Outcome("nobody")


def test_here_writes_stay_where_they_are_written() -> None:
    """A generator may write after the job has ended."""
    seen = context()

    assert job("note", text="a", seen=seen)() == Outcome("None", None)
    assert seen.writes == [Write(far_tools.NOTE, "a")]


def test_elsewhere_writes_come_with_the_outcome() -> None:
    seen = context()
    there = pickle.loads(pickle.dumps(job("note", text="a", seen=seen)))

    assert there() == Outcome("None", (Write(far_tools.NOTE, "a"),))
    assert seen.writes == []


def test_a_tool_is_pickled_as_what_its_module_shows() -> None:
    there = pickle.loads(pickle.dumps(job("add", a=1)))

    assert there.function is far_tools.add.function
    assert (there.tool, there.arguments, there.travelled) == ("add", {"a": 1}, True)


def test_a_plain_function_is_pickled_as_pickle_does_it() -> None:
    there = pickle.loads(
        pickle.dumps(Job(tool="x", function=plain, arguments={"a": 1}))
    )

    assert there() == Outcome(1, ())


def test_variables_do_not_travel() -> None:
    """M-26."""
    here = Job(tool="it", function=plain, variables=contextvars.copy_context())

    assert pickle.loads(pickle.dumps(here)).variables is None


def test_a_context_travels_without_who_listens() -> None:
    heard: list[object] = []
    seen = ToolContext(
        context=CONTEXT, call=calling("it"), origin=ORIGIN, progress=heard.append
    )

    there = pickle.loads(pickle.dumps(seen))
    there.report("nobody hears it")

    assert there == seen
    assert heard == []


def sent(made: Job) -> Outcome:
    return unpack(made.tool, run_packed(made.tool, pack(made)))


def test_a_packed_job_comes_to_the_same() -> None:
    assert sent(job("add", a=1, b=2)) == Outcome(3, ())
    with pytest.raises(ValueError, match="disk full") as caught:
        sent(job("fail", text="disk full"))
    assert "In another process" in caught.value.__notes__[0]


def local() -> Job:
    return Job(tool="it", function=lambda: 1)


@pytest.mark.parametrize(
    ("made", "says"),
    [
        (local(), "cannot go to another process"),
        (job("lock"), "returned or wrote what cannot come back"),
        (job("key_with_a_lambda", seen=context()), "cannot come back"),
        (job("stubborn"), "cannot be read in this process"),
    ],
    ids=["function", "value", "write", "unreadable"],
)
def test_what_cannot_be_pickled_is_an_error_that_names_the_tool(
    made: Job, says: str
) -> None:
    with pytest.raises(ToolError, match=says) as caught:
        sent(made)
    assert caught.value.tool == made.tool


def test_a_job_that_is_not_found_there_is_an_error_that_names_the_tool() -> None:
    data = pack(job("add", a=1)).replace(b"far_tools", b"not_tools")

    with pytest.raises(ToolError, match="cannot be found in the other process"):
        unpack("add", run_packed("add", data))


def test_an_exception_that_cannot_travel_says_what_it_said() -> None:
    with pytest.raises(ToolFailedError, match="DemandingError: 4: odd"):
        sent(job("fail_demandingly"))


def test_what_is_not_for_the_model_keeps_its_type() -> None:
    """M-27."""
    with pytest.raises(ToolError, match="must not be seen") as caught:
        sent(job("fatal"))
    assert caught.value.tool == "fatal"
