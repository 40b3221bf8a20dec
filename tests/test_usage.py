from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from rxagent.usage import Usage, UsageBasis

_COUNT = st.none() | st.integers(0, 10**9)
_BASIS: st.SearchStrategy[UsageBasis | None] = st.sampled_from(
    [None, "declared", "last", "summed", "estimated"]
)
USAGES = st.builds(
    Usage,
    input_tokens=_COUNT,
    cache_read_tokens=_COUNT,
    cache_write_tokens=_COUNT,
    output_tokens=_COUNT,
    reasoning_tokens=_COUNT,
    reported_total_tokens=_COUNT,
    requests=st.integers(0, 100),
    basis=_BASIS,
    sure=st.booleans(),
)


def test_the_prompt_is_uncached_plus_read_plus_written() -> None:
    """S000-60: a provider's input count leaves out cached tokens."""
    usage = Usage(input_tokens=10, cache_read_tokens=200, cache_write_tokens=3)

    assert usage.prompt_tokens == 213


def test_unknown_is_none_and_never_zero() -> None:
    assert Usage().prompt_tokens is None
    assert Usage().total_tokens is None
    assert Usage(output_tokens=0).total_tokens == 0


def test_rounds_add_up_and_a_round_without_usage_adds_nothing() -> None:
    """S001-86."""
    rounds = [Usage(output_tokens=n, requests=1) for n in (10, 20, 30)]
    silent = Usage(requests=1, sure=False)

    total = sum([*rounds, silent], Usage())

    assert total.output_tokens == 60
    assert total.requests == 4
    assert not total.sure


def test_a_total_counts_rounds_that_report_none() -> None:
    reported = Usage(input_tokens=1, output_tokens=1, reported_total_tokens=5)
    silent = Usage(input_tokens=2, output_tokens=3)

    assert (reported + silent).total_tokens == 10


def test_a_sum_is_as_trusted_as_its_weakest_part() -> None:
    assert (Usage(basis="declared") + Usage(basis="summed")).basis == "summed"
    assert (Usage() + Usage(basis="last")).basis == "last"


@given(USAGES, USAGES)
def test_adding_has_no_order(one: Usage, other: Usage) -> None:
    assert one + other == other + one


@given(USAGES, USAGES, USAGES)
def test_adding_has_no_grouping(a: Usage, b: Usage, c: Usage) -> None:
    assert (a + b) + c == a + (b + c)
