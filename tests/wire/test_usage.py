"""The rule of usage, with the vectors of its design: checklist 6.1, Q6."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from rxagent.usage import Usage, UsageBasis
from rxagent.wire import UsageMeter, UsageMode, UsageReport

TOKEN = "word"  # four letters are about one token


def usage(
    counts: list[int],
    text: str,
    *,
    mode: UsageMode = "auto",
    last_has_text: bool = True,
    prompt_tokens: int | None = None,
) -> Usage:
    meter = UsageMeter(mode)
    for number, count in enumerate(counts, start=1):
        with_text = bool(text) and (last_has_text or number < len(counts))
        meter.report(
            UsageReport(
                output_tokens=count, prompt_tokens=prompt_tokens, with_text=with_text
            )
        )
    # One more report, so that only the answer decides whether it is sure.
    meter.report(UsageReport(prompt_tokens=prompt_tokens or 9, with_text=True))
    return meter.usage(text)


@pytest.mark.parametrize(
    ("counts", "text", "last_has_text", "expected", "basis", "sure"),
    [
        pytest.param([1] * 4, TOKEN * 4, True, 4, "summed", True, id="increments"),
        pytest.param([0, 0, 0, 4], TOKEN * 4, True, 4, "last", True, id="at the end"),
        pytest.param(
            [0, 0, 0, 0, 4], TOKEN * 4, False, 4, "last", True, id="behind the end"
        ),
        pytest.param(
            [1, 2, 3, 4], TOKEN * 4, True, 4, "last", True, id="running total"
        ),
        pytest.param([4] * 4, TOKEN * 4, True, 4, "last", True, id="restated"),
        pytest.param(
            [1, 1, 1, 1, 4], TOKEN * 4, False, 4, "last", True, id="closing total"
        ),
        pytest.param(
            [2, 1, 3, 6], TOKEN * 6, False, 6, "last", True, id="uneven closing total"
        ),
        pytest.param([2, 1, 3, 1], TOKEN * 7, True, 7, "summed", True, id="uneven"),
        pytest.param([1, 15], TOKEN * 15, True, 15, "last", False, id="start and end"),
        pytest.param([1, 2, 2, 3], TOKEN * 3, True, 3, "last", True, id="ties"),
        pytest.param([5, 6, 7], TOKEN * 18, True, 18, "summed", False, id="rising"),
        pytest.param([], "", True, None, None, False, id="nothing"),
        pytest.param([0, 0], TOKEN, True, None, None, False, id="only zeros"),
        pytest.param([1, 1], "", True, 2, "summed", False, id="no text"),
        pytest.param([1, 2], "", True, 2, "last", False, id="no text, rising"),
        pytest.param([1] * 6, "北京上海东京", True, 6, "summed", True, id="Chinese"),
        pytest.param(
            [100, 100, 100], "abc", True, 100, "last", False, id="hidden reasoning"
        ),
    ],
)
def test_the_numbers_of_an_answer_are_read_as_they_were_meant(
    counts: list[int],
    text: str,
    last_has_text: bool,
    expected: int | None,
    basis: UsageBasis | None,
    sure: bool,
) -> None:
    """S001-97."""
    found = usage(counts, text, last_has_text=last_has_text)

    assert found.output_tokens == expected
    assert found.basis == (basis or "last")  # the prompt's, if nothing else is known
    assert found.sure is sure


def test_reports_that_restate_the_prompt_are_snapshots() -> None:
    assert usage([1, 1, 2], TOKEN * 4, prompt_tokens=7).output_tokens == 2


@pytest.mark.parametrize(
    ("mode", "expected"), [("incremental", 10), ("cumulative", 4), ("final", 4)]
)
def test_a_declared_mode_wins(mode: UsageMode, expected: int) -> None:
    found = usage([1, 2, 3, 4], TOKEN * 4, mode=mode)

    assert (found.output_tokens, found.basis, found.sure) == (
        expected,
        "declared",
        True,
    )


def test_a_prompt_does_not_grow_and_its_cached_part_is_taken_out() -> None:
    """V-5, S000-60: cache reads survive, and the prompt is what the provider says."""
    meter = UsageMeter()
    meter.report(UsageReport(prompt_tokens=11))
    meter.report(
        UsageReport(
            prompt_tokens=11,
            cache_read_tokens=8,
            cache_write_tokens=1,
            output_tokens=3,
            total_tokens=14,
        )
    )

    found = meter.usage("")

    assert found == Usage(
        input_tokens=2,
        cache_read_tokens=8,
        cache_write_tokens=1,
        output_tokens=3,
        reported_total_tokens=14,
        requests=1,
        basis="last",
    )
    assert found.prompt_tokens == 11


def test_a_cache_larger_than_the_prompt_was_no_part_of_it() -> None:
    meter = UsageMeter()
    meter.report(UsageReport(prompt_tokens=5, cache_read_tokens=100, output_tokens=1))

    assert meter.usage("").input_tokens == 5


def test_a_zero_that_is_reported_is_known_and_one_that_is_not_is_unknown() -> None:
    meter = UsageMeter()
    meter.report(UsageReport(prompt_tokens=5, output_tokens=1, cache_read_tokens=0))

    found = meter.usage("")

    assert (found.cache_read_tokens, found.cache_write_tokens) == (0, None)
    assert found.reasoning_tokens is None


def test_reasoning_is_read_as_the_answer_is() -> None:
    meter = UsageMeter()
    for reasoning in (0, 2, 1):
        meter.report(
            UsageReport(output_tokens=3 - reasoning, reasoning_tokens=reasoning)
        )

    found = meter.usage("")

    assert (found.output_tokens, found.basis) == (6, "summed")
    assert found.reasoning_tokens == 3


@pytest.mark.parametrize(
    ("totals", "counts", "expected"),
    [
        pytest.param([None, 20], [0, 5], 20, id="single"),
        pytest.param([16, 17], [1, 2], 17, id="snapshots"),
        pytest.param([None, 11], [0, 5], None, id="too small"),
        pytest.param([2, 2], [1, 1], None, id="increments"),
        pytest.param([None, None], [0, 5], None, id="none"),
    ],
)
def test_the_total_is_the_providers_if_it_can_be(
    totals: list[int | None], counts: list[int], expected: int | None
) -> None:
    meter = UsageMeter()
    for total, count in zip(totals, counts, strict=True):
        meter.report(
            UsageReport(
                prompt_tokens=10 if count > 1 else None,
                output_tokens=count,
                total_tokens=total,
            )
        )

    assert meter.usage("").reported_total_tokens == expected


def test_without_a_report_all_is_unknown_but_the_request() -> None:
    meter = UsageMeter()

    assert not meter.has_reports
    assert meter.usage("text") == Usage(requests=1, sure=False)


counts = st.lists(st.integers(1, 3), min_size=1, max_size=40)


@given(counts)
def test_what_was_added_up_is_found_in_any_shape(counts: list[int]) -> None:
    """Running totals and one closing report are right whatever the numbers are."""
    text = TOKEN * sum(counts)
    running = [sum(counts[: index + 1]) for index in range(len(counts))]

    assert usage(running, text).output_tokens == sum(counts)
    assert usage([0] * len(counts) + [sum(counts)], text).output_tokens == sum(counts)
    assert usage(counts, text, mode="incremental").output_tokens == sum(counts)
