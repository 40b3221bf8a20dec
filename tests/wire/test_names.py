from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from rxagent.errors import RequestError
from rxagent.requests import ToolSpec
from rxagent.wire.names import check_names, wire_name


def named(name: str) -> ToolSpec:
    return ToolSpec(name=name, description="", parameters={})


@pytest.mark.parametrize("name", ["", "get weather", "é", "x" * 65, "a.b"])
def test_a_name_that_servers_refuse_is_refused(name: str) -> None:
    with pytest.raises(RequestError, match=f"{name!r} cannot be sent"):
        check_names([named("fine"), named(name)])


@given(st.text())
def test_a_name_of_the_wire_can_be_sent(name: str) -> None:
    check_names([named(wire_name(name))])


@given(st.from_regex(r"[a-zA-Z0-9_-]{1,64}", fullmatch=True))
def test_a_name_that_can_be_sent_stays_as_it_is(name: str) -> None:
    assert wire_name(name) == name
