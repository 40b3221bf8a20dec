from __future__ import annotations

import asyncio
import json
import tempfile
from pathlib import Path
from typing import Any

import httpx
from hypothesis import given
from hypothesis import strategies as st

from rxagent.testing import Cassette
from rxagent.testing._recorded import Answered, Asked, Cut, Failure, Recorded
from tests.testing.cassettes import GONE, wrote

JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(),
    lambda inner: st.lists(inner) | st.dictionaries(st.text(), inner),
    max_leaves=8,
)
HALF = st.text(st.characters(categories=["Cs", "L"]), max_size=3)
BODIES = (
    st.binary()
    | JSON.map(json.dumps).map(str.encode)
    | HALF.map(lambda text: json.dumps({"half": text}).encode())
)
TEXTS = st.text(st.characters(exclude_categories=["Cs"]))
ENDS = st.sampled_from(["complete", "left"]) | st.builds(
    Failure, kind=TEXTS, message=TEXTS
)
RECORDED = st.builds(
    Recorded,
    number=st.integers(0),
    asked=st.builds(Asked, method=TEXTS, path=TEXTS, body=BODIES),
    answered=st.none()
    | st.builds(
        Answered,
        status=st.integers(100, 599),
        headers=st.lists(st.tuples(TEXTS, TEXTS)).map(tuple),
        cuts=st.lists(
            st.builds(
                Cut,
                at_s=st.integers(0, 10**6).map(lambda ms: ms / 1000),
                data=st.binary(),
            )
        ).map(tuple),
    ),
    end=ENDS,
)


@given(recorded=RECORDED)
def test_a_line_says_all_that_was_recorded(recorded: Recorded) -> None:
    line = recorded.line()
    again = Recorded.of_line(line)

    assert "\n" not in line
    assert again.asked.key == recorded.asked.key
    assert (again.number, again.answered, again.end) == (
        recorded.number,
        recorded.answered,
        recorded.end,
    )
    assert again.line() == line


def replayed(cuts: list[bytes], body: bytes) -> list[bytes]:
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "x.jsonl"
        wrote(path, *cuts, body=body)

        async def scene() -> list[bytes]:
            url = f"{GONE}/chat/completions"
            async with (
                httpx.AsyncClient(transport=Cassette(path)) as client,
                client.stream("POST", url, content=body) as response,
            ):
                stream: Any = response.stream
                return [piece async for piece in stream]

        return asyncio.run(scene())


@given(cuts=st.lists(st.binary(max_size=20), max_size=6), body=BODIES)
def test_any_bytes_come_back_in_any_cuts(cuts: list[bytes], body: bytes) -> None:
    assert replayed(cuts, body) == cuts
