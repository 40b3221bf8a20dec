from __future__ import annotations

import pytest

from rxagent.runtime import with_room
from tests.operators.test_expand_rounds import depth


def test_it_is_one_call_and_nothing_else() -> None:
    here = depth()

    assert with_room(depth) == here + 1


def test_errors_and_results_pass() -> None:
    def fails() -> None:
        raise LookupError("mine")

    with pytest.raises(LookupError, match="mine"):
        with_room(fails)
    assert with_room(lambda: 7) == 7


def test_it_can_be_nested() -> None:
    def nested(times: int) -> int:
        return 0 if times == 0 else 1 + with_room(lambda: nested(times - 1))

    assert nested(50) == 50
