from __future__ import annotations

from collections.abc import Iterator, Sequence

from hypothesis import given
from hypothesis import strategies as st
from reactivex import Observable
from reactivex import operators as ops

from rxagent.operators import fuse, just, transduce
from rxagent.types import Operator


class Batch:
    """Joins ``size`` items, and what is left."""

    def __init__(self, size: int) -> None:
        self._size = size
        self._held: list[str] = []

    def feed(self, item: str, /) -> Iterator[str]:
        self._held.append(item)
        if len(self._held) == self._size:
            yield f"({''.join(self._held)})"
            self._held.clear()

    def flush(self) -> Iterator[str]:
        if self._held:
            yield f"[{''.join(self._held)}]"


class Repeat:
    """Lets an item out ``times`` times."""

    def __init__(self, times: int) -> None:
        self._times = times

    def feed(self, item: str, /) -> list[str]:
        return [item] * self._times

    def flush(self) -> list[str]:
        return ["end"]


def _step(kind: str, number: int) -> Operator[str, str]:
    match kind:
        case "batch":
            return transduce(lambda: Batch(number + 1))
        case "repeat":
            return transduce(lambda: Repeat(number))
        case _:
            return ops.map(lambda item: f"{item}{number}")


STEPS = st.lists(
    st.builds(_step, st.sampled_from(["batch", "repeat", "map"]), st.integers(0, 3)),
    max_size=5,
)


def collected(source: Observable[str]) -> list[str]:
    seen: list[str] = []
    source.subscribe(seen.append)
    return seen


def one_by_one(steps: Sequence[Operator[str, str]], items: list[str]) -> list[str]:
    source: Observable[str] = just(*items)
    for step in steps:
        source = step(source)
    return collected(source)


@given(STEPS, st.lists(st.sampled_from("ab"), max_size=8))
def test_fused_steps_do_what_they_do_one_by_one(
    steps: list[Operator[str, str]], items: list[str]
) -> None:
    """S002-8: the first one sees the raw item; and every flush goes on through."""
    assert collected(fuse(steps)(just(*items))) == one_by_one(steps, items)


def test_state_is_fresh_for_each_subscription() -> None:
    fused = fuse([transduce(lambda: Batch(2)), transduce(lambda: Batch(2))])
    stream = fused(just("a", "b", "c"))

    assert [collected(stream), collected(stream)] == [["((ab)[c])"]] * 2


def test_an_error_of_any_step_is_the_error_and_flushes_nothing() -> None:
    class Broken(Repeat):
        def feed(self, item: str, /) -> list[str]:
            raise ValueError("mine")

    for position in range(3):
        steps = [transduce(lambda: Batch(2)), transduce(lambda: Batch(2))]
        steps.insert(position, transduce(lambda: Broken(1)))
        seen: list[str] = []
        errors: list[Exception] = []
        fuse(steps)(just("a", "b", "c", "d")).subscribe(seen.append, errors.append)
        assert [str(error) for error in errors] == ["mine"]
        assert seen == []


def test_nothing_to_fuse_is_the_stream_itself() -> None:
    source = just("a")
    nothing: Operator[str, str] = fuse([])

    assert nothing(source) is source
