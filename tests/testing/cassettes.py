"""What tests of cassettes do with them."""

from __future__ import annotations

import asyncio
import json
from pathlib import Path
from typing import Any

import httpx

from rxagent import just
from rxagent.events import ChatEvent
from rxagent.messages import UserMessage
from rxagent.models import OpenAIChat
from rxagent.patience import RetryPolicy
from rxagent.requests import ChatRequest
from rxagent.runtime import Flow
from rxagent.testing import Cassette
from rxagent.testing._recorded import Answered, Asked, Cut, End, Recorded
from rxagent.testing._tape import Tape

KEY = "sk-very-secret-0123456789"
GONE = "http://127.0.0.1:1/v1"
"""Where no server is."""

REQUEST = ChatRequest(messages=(UserMessage.of("hi"),))


def chat(cassette: Cassette, base_url: str) -> OpenAIChat:
    """A model that asks once: what a failure is shall be seen."""
    return OpenAIChat(
        model="m",
        base_url=base_url,
        api_key=KEY,
        retry=RetryPolicy(max_retries=0),
        client=httpx.AsyncClient(transport=cassette),
    )


def events_of(model: OpenAIChat) -> list[ChatEvent]:
    return list(Flow[ChatEvent].of(just(REQUEST).pipe(model)))


def post(
    cassette: Cassette,
    url: str = f"{GONE}/chat/completions",
    *,
    body: object = None,
    **options: Any,
) -> httpx.Response:
    """One request, its answer read to the end."""

    async def scene() -> httpx.Response:
        async with httpx.AsyncClient(transport=cassette) as client:
            return await client.post(url, json=body or {}, **options)

    return asyncio.run(scene())


def cuts_of(cassette: Cassette, url: str) -> list[bytes]:
    """The body of an answer, read by read."""

    async def scene() -> list[bytes]:
        async with (
            httpx.AsyncClient(transport=cassette) as client,
            client.stream("POST", url, json={}) as response,
        ):
            return [piece async for piece in response.aiter_raw()]

    return asyncio.run(scene())


def lines(path: Path) -> list[dict[str, Any]]:
    return [json.loads(line) for line in path.read_text().splitlines()]


def wrote(path: Path, *cuts: bytes, end: End = "complete", body: bytes = b"{}") -> None:
    """Add to a cassette a POST to where `post` goes."""
    asked = Asked(method="POST", path="/v1/chat/completions", body=body)
    answered = Answered(
        status=200,
        headers=(),
        cuts=tuple(Cut(at_s=float(n), data=data) for n, data in enumerate(cuts)),
    )
    recorded = Recorded(number=0, asked=asked, answered=answered, end=end)
    Tape(path, is_new=False).add(recorded)
