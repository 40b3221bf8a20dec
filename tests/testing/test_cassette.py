from __future__ import annotations

import asyncio
import gzip
import selectors
import threading
import zlib
from collections.abc import Callable
from pathlib import Path
from typing import Any, Literal

import httpx
import pytest
from reactivex import operators as ops

from rxagent import Agent, just, tool
from rxagent.errors import ConfigurationError, ModelConnectionError
from rxagent.events import ChatEvent, TextDelta
from rxagent.runtime import Flow
from rxagent.testing import Cassette
from rxagent.testing._recorded import Failure
from tests.servers import Answer, ChatServer, called, cut_off, never, streamed
from tests.testing.cassettes import (
    GONE,
    KEY,
    REQUEST,
    chat,
    cuts_of,
    events_of,
    lines,
    post,
    wrote,
)

URL = f"{GONE}/chat/completions"

Mode = Literal["once", "none", "all"]


@tool
def weather(city: str) -> str:
    """Tell the weather."""
    return f"22 degrees in {city}"


def test_a_turn_is_recorded_and_then_needs_no_server(path: Path) -> None:
    with (
        ChatServer(called("weather", city="Oslo"), streamed("It ", "is 22.")) as server,
        Cassette(path) as recording,
    ):
        model = chat(recording, server.base_url)
        first = list(Agent(model, tools=[weather]).stream("weather?"))
        assert len(server.asked) == 2
    with Cassette(path, record="none") as cassette:
        model = chat(cassette, GONE)
        again = list(Agent(model, tools=[weather]).stream("weather?"))

    assert again == first
    assert [each["end"] for each in lines(path)] == ["complete", "complete"]


def test_the_body_comes_in_the_cuts_in_which_it_came(path: Path) -> None:
    pieces = (b"\x00\xff", "data: 北京\n".encode()[:8], b"\x8c" * 70_000, b"\r\n")
    answer = Answer(headers={"content-type": "x/y"}, pieces=pieces)
    with ChatServer(answer) as server:
        first = cuts_of(Cassette(path), f"{server.base_url}/chat/completions")
    again = cuts_of(Cassette(path), URL)

    assert again == first
    assert b"".join(first) == b"".join(pieces)
    [line] = lines(path)
    assert line["response"]["headers"][-1] != []
    assert ["content-type", "x/y"] in line["response"]["headers"]


@pytest.mark.parametrize(
    ("encoding", "compress"), [("gzip", gzip.compress), ("deflate", zlib.compress)]
)
def test_a_body_that_was_compressed_is_kept_as_it_is_read_without_secrets(
    encoding: str, compress: Callable[[bytes], bytes], path: Path
) -> None:
    packed = compress(f"your key: {KEY}".encode())
    pieces = (packed[:12], packed[12:])
    answer = Answer(headers={"content-encoding": encoding}, pieces=pieces)
    key = {"authorization": f"Bearer {KEY}"}
    with ChatServer(answer) as server:
        url = f"{server.base_url}/chat/completions"
        first = post(Cassette(path), url, headers=key)

    assert first.text == f"your key: {KEY}"
    assert post(Cassette(path)).text == f"your key: {'*' * len(KEY)}"
    [line] = lines(path)
    assert "".join(text for _, text in line["response"]["cuts"]).startswith("your key:")
    assert not any(
        name == "content-encoding" for name, _ in line["response"]["headers"]
    )


def test_a_body_that_cannot_be_unpacked_fails_alike_from_the_cassette(
    path: Path,
) -> None:
    answer = Answer(headers={"content-encoding": "gzip"}, pieces=(b"no gzip",))
    with ChatServer(answer) as server, pytest.raises(httpx.DecodingError) as first:
        post(Cassette(path), f"{server.base_url}/chat/completions")
    with pytest.raises(httpx.DecodingError) as again:
        post(Cassette(path))

    assert str(again.value) == str(first.value)


def test_a_reader_that_left_leaves_again(path: Path) -> None:
    """Law 5, without a network."""

    def first_event(cassette: Cassette, base_url: str) -> ChatEvent:
        source = just(REQUEST).pipe(chat(cassette, base_url), ops.take(1))
        return Flow[ChatEvent].of(source).run()

    with ChatServer(never("one")) as server:
        assert first_event(Cassette(path), server.base_url) == TextDelta(text="one")
        assert server.hung_up.wait(5)
    [line] = lines(path)

    assert line["end"] == "left"
    assert first_event(Cassette(path), GONE) == TextDelta(text="one")


def test_who_reads_on_where_another_left_runs_out_of_patience(path: Path) -> None:
    wrote(path, b"a", end="left")
    seen: list[bytes] = []

    async def scene() -> None:
        client = httpx.AsyncClient(transport=Cassette(path), timeout=0.01)
        async with client.stream("POST", URL, json={}) as response:
            async for piece in response.aiter_raw():
                seen.append(piece)

    with pytest.raises(httpx.ReadTimeout, match="whoever read it left"):
        asyncio.run(scene())
    assert seen == [b"a"]


def test_a_wait_for_an_answer_that_was_given_up_is_a_wait_again(path: Path) -> None:
    async def give_up(base_url: str, asked: threading.Event) -> None:
        model = chat(Cassette(path), base_url)
        flow = Flow[ChatEvent].of(just(REQUEST).pipe(model))
        waiting = asyncio.ensure_future(_end(flow))
        await asyncio.to_thread(asked.wait, 5)
        for _ in range(20):
            await asyncio.sleep(0)
        assert not waiting.done()
        waiting.cancel()
        with pytest.raises(asyncio.CancelledError):
            await waiting

    with ChatServer(never()) as server:
        asyncio.run(give_up(server.base_url, server.was_asked))
    [line] = lines(path)
    assert (line["response"], line["end"]) == (None, "left")
    at_once = threading.Event()
    at_once.set()
    asyncio.run(give_up(GONE, at_once))


async def _end(flow: Flow[ChatEvent]) -> ChatEvent:
    return await flow


def test_a_connection_that_was_lost_is_lost_again_after_what_came(path: Path) -> None:
    def failure(base_url: str) -> tuple[list[ChatEvent], str]:
        seen: list[ChatEvent] = []
        model = chat(Cassette(path), base_url)
        source = just(REQUEST).pipe(model, ops.do_action(seen.append))
        with pytest.raises(ModelConnectionError) as at:
            Flow[ChatEvent].of(source).run()
        return seen, str(at.value).replace(base_url, GONE)

    with ChatServer(cut_off("Hello wor")) as server:
        seen, words = failure(server.base_url)

    assert failure(GONE) == (seen, words)
    assert seen == [TextDelta(text="Hello wor")]
    assert lines(path)[0]["end"]["error"] == "RemoteProtocolError"


def test_a_server_that_was_not_there_is_not_there_again(path: Path) -> None:
    def failure() -> str:
        with pytest.raises(ModelConnectionError, match="cannot connect") as at:
            events_of(chat(Cassette(path), GONE))
        return str(at.value)

    first = failure()
    assert lines(path)[0]["response"] is None
    assert failure() == first


def test_what_fails_in_a_way_that_nobody_knows_fails(path: Path) -> None:
    wrote(path, end=Failure(kind="get", message="http://x"))

    with pytest.raises(httpx.TransportError, match="http://x"):
        post(Cassette(path))


def test_what_is_compared_is_the_json_and_not_how_it_is_written(path: Path) -> None:
    wrote(path, b"ok", body=b'{"b": [1, {"d": null}], "a": "\\u00e9"}')

    same = {"a": "é", "b": [1, {"d": None}]}
    assert post(Cassette(path), "http://elsewhere/v1/chat/completions", body=same).text
    with pytest.raises(AssertionError, match=r"b\[0\]: asked true, recorded 1"):
        post(Cassette(path), body={"a": "é", "b": [True, {"d": None}]})


def test_a_request_that_is_not_recorded_says_what_differs(path: Path) -> None:
    wrote(path, b"far", body=b'{"other": 1, "temperature": 1, "messages": []}')
    wrote(path, b"near", body=b'{"temperature": 1, "messages": ["a", "b"], "n": 1}')
    long = "x" * 100

    with pytest.raises(AssertionError) as at:
        post(Cassette(path), body={"temperature": 0.5, "messages": [long], "top_p": 1})

    said = str(at.value)
    assert said.startswith(
        f"POST /v1/chat/completions is not in the cassette {path}; nearest is number 0:"
    )
    for line in (
        "temperature: asked 0.5, recorded 1",
        f'messages[0]: asked "{"x" * 59}…, recorded "a"',
        'messages[1]: not asked, recorded "b"',
        "top_p: asked 1, not recorded",
        "n: not asked, recorded 1",
    ):
        assert f"\n  {line}\n" in said
    assert said.endswith("record with RXAGENT_RECORD=all, or change the request")


def test_of_many_differences_the_first_are_shown(path: Path) -> None:
    wrote(path, body=b'{"x": [0, 0, 0, 0, 0, 0, 0, 0, 0, 0]}')

    with pytest.raises(AssertionError, match=r"x\[7\].*\n  and 2 more\n") as at:
        post(Cassette(path), body={"x": [1] * 10})
    assert "x[8]" not in str(at.value)


@pytest.mark.parametrize(
    ("recorded", "asked", "words"),
    [
        (
            b"text",
            {"a": 1},
            'text: not asked, recorded "text"',
        ),
        (b"\xff", {"a": 1}, 'base64: not asked, recorded "/w=="'),
        (b"", {"a": 1}, "json: asked"),
        (b"[1]", {"a": 1}, 'body: asked {"a": 1}, recorded [1]'),
        (b'{"a": [1]}', {"a": [1, 2]}, "a[1]: asked 2, not recorded"),
    ],
    ids=["text", "bytes", "nothing", "list", "longer"],
)
def test_bodies_of_any_kind_are_told_apart(
    recorded: bytes, asked: object, words: str, path: Path
) -> None:
    wrote(path, body=recorded)
    with pytest.raises(AssertionError) as at:
        post(Cassette(path), body=asked)
    assert words in str(at.value)


def test_another_way_is_another_request(path: Path) -> None:
    wrote(path)
    words = 'request: asked "POST /v1/other", recorded "POST /v1/chat/completions"'
    with pytest.raises(AssertionError, match=words):
        post(Cassette(path), f"{GONE}/other")


def test_equal_requests_are_answered_in_their_order_and_not_once_more(
    path: Path,
) -> None:
    answers = [Answer(pieces=(text,)) for text in (b"one", b"two")]
    with ChatServer(*answers) as server:
        recording = Cassette(path)
        for _ in range(2):
            post(recording, f"{server.base_url}/chat/completions")

    cassette = Cassette(path)
    assert [post(cassette).text for _ in range(2)] == ["one", "two"]
    with pytest.raises(AssertionError, match="2 times, and is made once more"):
        post(cassette)


def test_the_order_is_that_of_the_requests_and_not_of_their_ends(path: Path) -> None:
    async def scene(url: str) -> None:
        async with (
            httpx.AsyncClient(transport=Cassette(path)) as client,
            client.stream("POST", url, json={}) as first,
        ):
            second = await client.post(url, json={})
            assert (await first.aread(), second.content) == (b"one", b"two")

    with ChatServer(Answer(pieces=(b"one",)), Answer(pieces=(b"two",))) as server:
        asyncio.run(scene(f"{server.base_url}/chat/completions"))

    assert [each["number"] for each in lines(path)] == [1, 0]
    cassette = Cassette(path)
    assert [post(cassette).text for _ in range(2)] == ["one", "two"]


def test_many_at_once_on_loops_of_several_threads_do_not_mix(path: Path) -> None:
    """Law 7."""
    with ChatServer(*(streamed(f"answer {n}") for n in range(8))) as server:
        recording = Cassette(path)
        agent = Agent(chat(recording, server.base_url))
        recorded = {str(n): agent.call(str(n)).run().text for n in range(8)}

    agent = Agent(chat(Cassette(path), GONE))

    async def scene() -> list[str]:
        flows = [agent.call(number) for number in recorded]
        return [(await flow).text for flow in flows]

    assert asyncio.run(scene()) == list(recorded.values())
    replayed = Agent(chat(Cassette(path), GONE))
    assert [replayed.call(n).run().text for n in recorded] == list(recorded.values())


@pytest.mark.parametrize(
    ("named", "given", "is_there", "in_ci", "records"),
    [
        (None, None, False, False, True),
        (None, None, True, False, False),
        (None, None, False, True, False),
        (None, "once", False, True, True),
        (None, "once", True, False, False),
        (None, "all", True, True, True),
        (None, "none", False, False, False),
        ("", "all", True, False, True),
        ("none", "all", True, False, False),
        ("all", "none", True, True, True),
        ("once", "all", True, False, False),
        ("once", "none", False, True, True),
    ],
)
def test_whether_it_records(
    named: str | None,
    given: Mode | None,
    is_there: bool,
    in_ci: bool,
    records: bool,
    path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    if named is not None:
        monkeypatch.setenv("RXAGENT_RECORD", named)
    if in_ci:
        monkeypatch.setenv("CI", "true")
    if is_there:
        wrote(path, b"old")
    with ChatServer(Answer(pieces=(b"new",))) as server:
        cassette = Cassette(path, record=given)
        assert repr(cassette).endswith(", records)") == records
        url = f"{server.base_url}/chat/completions"
        if not records and not is_there:
            with pytest.raises(AssertionError, match="which holds nothing"):
                post(cassette, url)
            assert not path.exists()
        else:
            assert post(cassette, url).text == ("new" if records else "old")
            assert len(lines(path)) == 1, "recording anew forgets what was there"
        assert bool(server.asked) == records


def test_a_mode_that_is_none_is_told(
    path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("RXAGENT_RECORD", "yes")
    with pytest.raises(ConfigurationError, match="'none', 'all', got 'yes'"):
        Cassette(path)


def test_recording_anew_keeps_the_old_file_until_something_is_recorded(
    path: Path,
) -> None:
    wrote(path, b"old")
    Cassette(path, record="all")
    assert post(Cassette(path)).text == "old"


def test_a_block_ends_well_if_every_recorded_request_was_made(path: Path) -> None:
    wrote(path, b"a", body=b'{"n": 1}')
    wrote(path, b"b", body=b'{"n": 2}')

    words = r"1 of 2 requests .* not made: number 0"
    with pytest.raises(AssertionError, match=words), Cassette(path) as cassette:
        post(cassette, body={"n": 1})
    with pytest.raises(OSError, match="of its own"), Cassette(path):
        raise OSError("of its own")
    with Cassette(path) as cassette:
        post(cassette, body={"n": 2})
        post(cassette, body={"n": 1})


GET = '"number": 0, "request": {"method": "GET", "path": "/"'


@pytest.mark.parametrize(
    "line",
    [
        "",
        "no json",
        "[]",
        "{}",
        f'{{{GET}, "body": {{"base64": "?"}}}}, "response": null, "end": "left"}}',
        f'{{{GET}, "body": {{}}}}, "response": {{"cuts": [[0]]}}, "end": "complete"}}',
        f'{{{GET}, "body": {{}}}}, "response": null, "end": "some day"}}',
        "[" * 100_000,
    ],
)
def test_a_file_that_is_no_cassette_is_refused_with_its_line(
    line: str, path: Path
) -> None:
    wrote(path)
    with path.open("a") as file:
        file.write(f"{line}\n")
    with pytest.raises(ConfigurationError, match=r"turn\.jsonl is no cassette: line 2"):
        Cassette(path)


class _Selector(selectors.DefaultSelector):
    """Never waits: it says how long it would have."""

    waited_s = 0.0

    def select(self, timeout: float | None = None) -> Any:
        ready = super().select(0)
        if not ready and timeout:
            self.waited_s += timeout
        return ready


def test_an_answer_takes_its_time_if_that_is_wanted(path: Path) -> None:
    wrote(path, b"a", b"b", b"c")  # a second apart

    class Loop(asyncio.SelectorEventLoop):
        def __init__(self) -> None:
            self.selector = _Selector()
            super().__init__(self.selector)

        def time(self) -> float:
            return self.selector.waited_s

    def times(*, timing: bool) -> list[float]:
        loop = Loop()

        async def scene() -> list[float]:
            transport = Cassette(path, timing=timing)
            async with (
                httpx.AsyncClient(transport=transport) as client,
                client.stream("POST", URL, json={}) as response,
            ):
                return [loop.time() async for _ in response.aiter_raw()]

        with asyncio.Runner(loop_factory=lambda: loop) as runner:
            return runner.run(scene())

    assert times(timing=True) == pytest.approx([0, 1, 2])
    assert times(timing=False) == [0, 0, 0]


def test_a_recording_notes_when_each_cut_came(path: Path) -> None:
    with ChatServer(streamed("a", "b")) as server:
        cuts_of(Cassette(path), f"{server.base_url}/chat/completions")

    times = [at_s for at_s, _ in lines(path)[0]["response"]["cuts"]]
    assert times == sorted(times)
    assert times[0] >= 0


def test_others_have_their_turn_between_two_cuts(path: Path) -> None:
    wrote(path, *[b"x"] * 10)
    seen: list[str] = []

    async def other() -> None:
        for _ in range(5):
            seen.append("other")
            await asyncio.sleep(0)

    async def scene() -> None:
        async with (
            httpx.AsyncClient(transport=Cassette(path)) as client,
            client.stream("POST", URL, json={}) as response,
        ):
            task = asyncio.ensure_future(other())
            async for _ in response.aiter_raw():
                seen.append("cut")
            await task

    asyncio.run(scene())
    assert "other" in seen[1:9]
