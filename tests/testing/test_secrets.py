from __future__ import annotations

from itertools import pairwise
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from rxagent.errors import AuthenticationError
from rxagent.testing import Cassette
from rxagent.testing._secrets import masked
from tests.servers import Answer, ChatServer, error
from tests.testing.cassettes import GONE, KEY, chat, events_of, lines, post

SECRETS = {
    "authorization": f"Bearer {KEY}",
    "x-api-key": KEY,
    "x-goog-api-key": KEY,
    "api-key": KEY,
    "apikey": KEY,
    "cookie": f"a=1; id={KEY}",
    "openai-organization": KEY,
    "openai-project": KEY,
    "proxy-authorization": f"Basic {KEY}",
    "x-amz-security-token": KEY,
    "x-mine": KEY,
}


@pytest.mark.parametrize("name", SECRETS)
def test_a_secret_of_a_request_is_nowhere_in_the_file(name: str, path: Path) -> None:
    half = len(KEY) // 2
    said = f"no such key: {KEY}, really".encode()
    answer = Answer(
        status=401,
        headers={"x-echo": KEY},
        pieces=(said[: 13 + half], said[13 + half :]),
    )
    with ChatServer(answer) as server:
        cassette = Cassette(path, secrets=["X-Mine"])
        response = post(
            cassette,
            f"{server.base_url}/chat/completions",
            body={"user": f"I am {KEY}"},
            headers={name: SECRETS[name]},
        )
        assert response.content == said, "whoever records sees what comes"

    text = path.read_text()
    assert not any(KEY[start : start + 8] in text for start in range(len(KEY) - 7))
    again = post(
        Cassette(path, secrets=["X-Mine"]),
        body={"user": "I am another-key-123"},
        headers={name: SECRETS[name].replace(KEY, "another-key-123")},
    )
    assert again.content == said.replace(KEY.encode(), b"*" * len(KEY))
    assert again.status_code == 401


@pytest.mark.parametrize("name", ["key", "api_key", "access_token", "sig", "X-Mine"])
def test_a_secret_of_a_query_is_nowhere_in_the_file_and_is_not_compared(
    name: str, path: Path
) -> None:
    place = "chat/completions?alt=sse&"
    with ChatServer(Answer(pieces=(b"ok",))) as server:
        cassette = Cassette(path, secrets=["x-mine"])
        post(cassette, f"{server.base_url}/{place}{name}={KEY}%2B")
        assert server.asked[0].path.endswith(f"{KEY}%2B")

    assert KEY not in path.read_text()
    assert lines(path)[0]["request"]["path"] == f"/v1/{place}{name}=hidden"
    again = Cassette(path, secrets=["x-mine"])
    assert post(again, f"{GONE}/{place}{name}=other").text == "ok"
    with pytest.raises(AssertionError):
        post(Cassette(path), f"{GONE}/chat/completions?alt=json&{name}=other")


def test_a_secret_of_a_response_is_nowhere_in_the_file(path: Path) -> None:
    answer = Answer(
        headers={
            "set-cookie": f"id={KEY}; Path=/; HttpOnly",
            "openai-organization": "acme-incorporated",
            "x-ratelimit-limit-tokens": "7",
        },
        pieces=(f"HttpOnly {KEY} acme-incorporated".encode(),),
    )
    with ChatServer(answer) as server:
        post(Cassette(path), f"{server.base_url}/chat/completions")

    text = path.read_text()
    assert KEY not in text
    assert "acme" not in text
    response = post(Cassette(path))
    assert response.text.startswith("HttpOnly ***")
    assert response.headers["x-ratelimit-limit-tokens"] == "7"
    assert "set-cookie" not in response.headers


def test_an_agents_key_is_in_no_cassette(path: Path) -> None:
    said = error(401, f"Incorrect API key provided: {KEY}")
    with ChatServer(said) as server, pytest.raises(AuthenticationError):
        events_of(chat(Cassette(path), server.base_url))
    assert KEY not in path.read_text()

    with pytest.raises(AuthenticationError, match="Incorrect API key"):
        events_of(chat(Cassette(path), GONE))


@given(
    before=st.binary(max_size=5),
    after=st.binary(max_size=5),
    places=st.lists(st.integers(0, 40), max_size=6),
)
def test_a_secret_is_found_however_it_is_cut(
    before: bytes, after: bytes, places: list[int]
) -> None:
    whole = before + KEY.encode() + after
    at = sorted({0, len(whole), *(each for each in places if each < len(whole))})
    cuts = [whole[start:end] for start, end in pairwise(at)]

    found = masked(cuts, [KEY.encode()])

    assert [len(each) for each in found] == [len(each) for each in cuts]
    assert b"".join(found) == before + b"*" * len(KEY) + after
