"""Who may resume a paused turn: one, and nobody twice."""

from __future__ import annotations

import threading
import tracemalloc
from dataclasses import replace
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from rxagent.decisions import Approve
from rxagent.errors import ConfigurationError, SnapshotError
from rxagent.history import dump_snapshot, load_snapshot
from rxagent.messages import AssistantMessage, ToolCall, ToolMessage
from rxagent.snapshots import Claim, Snapshot, claims_in_memory


def new_id() -> str:
    message = AssistantMessage(content=())
    return Snapshot(reason="client", pending=(), messages=(), message=message).id


def is_allowed(claim: Claim, snapshot_id: str) -> bool:
    try:
        return claim(snapshot_id)
    except SnapshotError:
        return False


def test_ids_sort_by_the_time_of_the_pause_and_are_letters_and_digits() -> None:
    ids = [new_id() for _ in range(1_000)]

    times = [each[:16] for each in ids]
    assert times == sorted(times)
    assert len(set(ids)) == len(ids)
    assert all(each.isalnum() for each in ids), "fit to be the name of a file"


@given(
    order=st.lists(st.integers(0, 30).map("{:02}".format), max_size=60),
    keep=st.integers(1, 5),
)
def test_nothing_is_allowed_twice_however_little_is_kept(
    order: list[str], keep: int
) -> None:
    claim = claims_in_memory(keep=keep)

    allowed = [each for each in order if is_allowed(claim, each)]

    assert len(allowed) == len(set(allowed))


def test_what_is_younger_than_all_that_is_forgotten_is_allowed() -> None:
    claim = claims_in_memory(keep=2)

    assert [claim(each) for each in ("1", "3", "5")] == [True, True, True]
    assert [claim(each) for each in ("2", "4", "6")] == [True, True, True]


def test_what_is_too_old_to_tell_is_refused_and_says_so() -> None:
    """Fails closed: it may have been resumed before, and it may not."""
    claim = claims_in_memory(keep=2)
    for each in ("2", "3", "4"):
        assert claim(each)

    for old in ("1", "2"):
        with pytest.raises(SnapshotError, match=rf"{old} is too old .* 2 younger ones"):
            claim(old)
    assert claim("3") is False


def test_its_memory_is_bounded() -> None:
    """Some 150 bytes for each snapshot that it remembers, and no more ever after."""
    keep = 2_000
    claim = claims_in_memory(keep=keep)
    tracemalloc.start()
    try:
        for _ in range(keep):
            claim(new_id())
        full, _ = tracemalloc.get_traced_memory()
        for _ in range(3 * keep):
            claim(new_id())
        later, _ = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()

    assert full < 400 * keep
    assert later < 1.5 * full


def test_of_many_who_claim_at_once_one_wins() -> None:
    claim, start = claims_in_memory(keep=4), threading.Barrier(8)
    won: list[str] = []
    ids = [new_id() for _ in range(20)]

    def race() -> None:
        start.wait(10)
        won.extend(each for each in ids if is_allowed(claim, each))

    racers = [threading.Thread(target=race) for _ in range(8)]
    for each in racers:
        each.start()
    for each in racers:
        each.join(10)

    assert len(won) == len(set(won))
    assert ids[-1] in won


def test_to_keep_nothing_makes_no_sense() -> None:
    with pytest.raises(ConfigurationError, match="keep must be 1 or more, got 0"):
        claims_in_memory(keep=0)


@pytest.mark.parametrize(
    "about",
    [
        {"pending": ("b",)},
        {"decided": {"b": Approve()}},
        {"results": (ToolMessage.of("x", call=ToolCall(id="b", name="f")),)},
    ],
)
def test_a_snapshot_speaks_of_the_calls_of_its_message_alone(
    about: dict[str, Any],
) -> None:
    message = AssistantMessage.of(ToolCall(id="a", name="f"))
    whole = Snapshot(reason="approval", pending=("a",), messages=(), message=message)

    with pytest.raises(SnapshotError, match="none with the id 'b'"):
        replace(whole, **about)

    saved = dump_snapshot(whole).replace(b'"pending":["a"]', b'"pending":["b"]')
    with pytest.raises(SnapshotError, match="none with the id 'b'"):
        load_snapshot(saved)
