"""CPU per chunk of each dialect beside a hand-written loop of that dialect.

    python bench/dialects.py             # about two minutes
    python bench/dialects.py anthropic   # one of them

A server in a process of its own sends an answer of 10,000 pieces of text, framed as the
vendor frames it, an HTTP chunk for each event.  The floor is httpx with `aiter_lines`,
`json.loads` and a loop by hand.  Ours is the model in an agent with five advisors and
an operator like a guard, over the same httpx.  Both run in turn in this process, and
what is compared is its CPU time, user and system.  "decoder" is ours without network,
agent and Rx.
"""

from __future__ import annotations

import argparse
import asyncio
import json
import statistics
import subprocess
import sys
import time
from collections.abc import Awaitable, Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

import httpx

from rxagent import Agent, ChatEvent, ChatRequest, TextDelta, UserMessage, after
from rxagent.models import (
    AnthropicChat,
    GeminiChat,
    OllamaChat,
    OpenAIChat,
    OpenAIResponses,
)
from rxagent.operators import transduce
from rxagent.runtime import iterate
from rxagent.types import Exchange
from rxagent.wire import (
    AnthropicDialect,
    GeminiDialect,
    OllamaDialect,
    OpenAIChatDialect,
    OpenAIResponsesDialect,
)

PIECES = 10_000
GOAL = 0.85
ADVISORS = 5
ID = "68ad65d7157c8190a971b4b96c934a7b027c9e39912d5273"
OBFUSCATION = "h2qPsXk9wZb4tRfY"  # its length varies, to hide that of the text


def pieces() -> list[str]:
    """Short words, as tokens are."""
    return [f" t{number % 1000:03d}" for number in range(PIECES)]


# ------------------------------------------------------------- what each vendor sends


def sse(*events: Any, named: bool = False, end: str = "\n\n") -> list[bytes]:
    return [
        (f"event: {event['type']}\n" if named else "").encode()
        + f"data: {compact(event)}{end}".encode()
        for event in events
    ]


def compact(value: object) -> str:
    return json.dumps(value, separators=(",", ":"), ensure_ascii=False)


def openai_chat(*, obfuscated: bool = False) -> list[bytes]:
    def chunk(number: int, delta: dict[str, str], reason: str | None = None) -> Any:
        choice = {"index": 0, "delta": delta, "logprobs": None, "finish_reason": reason}
        return {
            "id": "chatcmpl-BenchBenchBenchBenchBenchBen",
            "object": "chat.completion.chunk",
            "created": 1760000000,
            "model": "gpt-5-bench",
            "service_tier": "default",
            "system_fingerprint": "fp_bench0000",
            "choices": [choice],
            "usage": None,
        } | ({"obfuscation": OBFUSCATION[number % 11 :]} if obfuscated else {})

    texts = [chunk(n, {"content": each}) for n, each in enumerate(pieces())]
    usage = {"prompt_tokens": 9, "completion_tokens": PIECES}
    last = {**chunk(0, {}), "choices": [], "usage": usage}
    begun = chunk(0, {"role": "assistant", "content": ""})
    return [*sse(begun, *texts, chunk(0, {}, "stop"), last), b"data: [DONE]\n\n"]


def anthropic() -> list[bytes]:
    message = {"id": "msg_1", "type": "message", "role": "assistant", "content": []}
    return sse(
        {
            "type": "message_start",
            "message": {
                **message,
                "model": "claude-bench",
                "stop_reason": None,
                "usage": {"input_tokens": 9, "output_tokens": 1},
            },
        },
        {
            "type": "content_block_start",
            "index": 0,
            "content_block": {"type": "text", "text": ""},
        },
        {"type": "ping"},
        *(
            {
                "type": "content_block_delta",
                "index": 0,
                "delta": {"type": "text_delta", "text": each},
            }
            for each in pieces()
        ),
        {"type": "content_block_stop", "index": 0},
        {
            "type": "message_delta",
            "delta": {"stop_reason": "end_turn", "stop_sequence": None},
            "usage": {"output_tokens": PIECES},
        },
        {"type": "message_stop"},
        named=True,
    )


def openai_responses() -> list[bytes]:
    text = "".join(pieces())
    place = {"item_id": f"msg_{ID}", "output_index": 0, "content_index": 0}
    part = {"type": "output_text", "annotations": [], "logprobs": [], "text": text}
    item = {"id": f"msg_{ID}", "type": "message", "role": "assistant"}
    done = {**item, "status": "completed", "content": [part]}
    response = {"id": f"resp_{ID}", "object": "response", "model": "gpt-5-bench"}
    usage = {"input_tokens": 9, "output_tokens": PIECES, "total_tokens": PIECES + 9}
    events: list[tuple[str, dict[str, Any]]] = [
        ("created", {"response": {**response, "status": "in_progress"}}),
        ("in_progress", {"response": {**response, "status": "in_progress"}}),
        ("output_item.added", {"output_index": 0, "item": {**item, "content": []}}),
        ("content_part.added", {**place, "part": {**part, "text": ""}}),
        *(
            (
                "output_text.delta",
                {
                    **place,
                    "delta": each,
                    "logprobs": [],
                    "obfuscation": OBFUSCATION[number % 11 :],
                },
            )
            for number, each in enumerate(pieces())
        ),
        ("output_text.done", {**place, "text": text, "logprobs": []}),
        ("content_part.done", {**place, "part": part}),
        ("output_item.done", {"output_index": 0, "item": done}),
        (
            "completed",
            {
                "response": {
                    **response,
                    "status": "completed",
                    "output": [done],
                    "usage": usage,
                }
            },
        ),
    ]
    return sse(
        *(
            {"type": f"response.{kind}", "sequence_number": number, **members}
            for number, (kind, members) in enumerate(events)
        ),
        named=True,
    )


def gemini() -> list[bytes]:
    def chunk(number: int, text: str, **members: str) -> Any:
        return {
            "candidates": [
                {
                    "content": {"parts": [{"text": text}], "role": "model"},
                    **members,
                    "index": 0,
                }
            ],
            "usageMetadata": {
                "promptTokenCount": 9,
                "candidatesTokenCount": number,
                "totalTokenCount": 9 + number,
                "promptTokensDetails": [{"modality": "TEXT", "tokenCount": 9}],
            },
            "modelVersion": "gemini-bench",
            "responseId": "b36LacjwM668nsEP2tbsgQQ",
        }

    texts = [chunk(number, each) for number, each in enumerate(pieces(), 1)]
    return sse(*texts, chunk(PIECES, "", finishReason="STOP"), end="\r\n\r\n")


def ollama() -> list[bytes]:
    def line(number: int, text: str, **members: Any) -> bytes:
        value = {
            "model": "llama3.2",
            "created_at": f"2026-10-17T23:14:07.{number:06}Z",
            "message": {"role": "assistant", "content": text},
            "done": False,
            **members,
        }
        return f"{compact(value)}\n".encode()

    counts = {"prompt_eval_count": 9, "eval_count": PIECES}
    end = line(PIECES, "", done=True, done_reason="stop", **counts)
    return [*(line(number, each) for number, each in enumerate(pieces())), end]


# ------------------------------------------------------------------ the loop by hand


def data_of(line: str) -> Any:
    if not line.startswith("data: ") or line == "data: [DONE]":
        return None
    return json.loads(line[6:])


def openai_chat_text(line: str) -> str | None:
    chunk = data_of(line)
    if chunk is None or not chunk["choices"]:
        return None
    return chunk["choices"][0]["delta"].get("content")


def anthropic_text(line: str) -> str | None:
    event = data_of(line)
    if event is None or event["type"] != "content_block_delta":
        return None
    return event["delta"].get("text")


def openai_responses_text(line: str) -> str | None:
    event = data_of(line)
    if event is None or event["type"] != "response.output_text.delta":
        return None
    return event["delta"]


def gemini_text(line: str) -> str | None:
    chunk = data_of(line)
    if chunk is None:
        return None
    return chunk["candidates"][0]["content"]["parts"][0].get("text")


def ollama_text(line: str) -> str | None:
    return json.loads(line)["message"]["content"]


# ----------------------------------------------------------------------- the contest


@dataclass(frozen=True, kw_only=True)
class Contest:
    """A dialect: what its server sends, and who reads it."""

    frames: Callable[[], list[bytes]]
    by_hand: Callable[[str], str | None]
    model: Callable[..., Exchange]
    dialect: Any
    content_type: str = "text/event-stream"


CONTESTS = {
    "openai_chat": Contest(
        frames=openai_chat,
        by_hand=openai_chat_text,
        model=OpenAIChat,
        dialect=OpenAIChatDialect(),
    ),
    "obfuscated": Contest(  # as OpenAI itself sends it
        frames=lambda: openai_chat(obfuscated=True),
        by_hand=openai_chat_text,
        model=OpenAIChat,
        dialect=OpenAIChatDialect(),
    ),
    "openai_responses": Contest(
        frames=openai_responses,
        by_hand=openai_responses_text,
        model=OpenAIResponses,
        dialect=OpenAIResponsesDialect(),
    ),
    "anthropic": Contest(
        frames=anthropic,
        by_hand=anthropic_text,
        model=AnthropicChat,
        dialect=AnthropicDialect(),
    ),
    "gemini": Contest(
        frames=gemini,
        by_hand=gemini_text,
        model=GeminiChat,
        dialect=GeminiDialect(),
    ),
    "ollama": Contest(
        frames=ollama,
        by_hand=ollama_text,
        model=OllamaChat,
        dialect=OllamaDialect(),
        content_type="application/x-ndjson",
    ),
}


class Same:
    def feed(self, event: ChatEvent, /) -> tuple[ChatEvent, ...]:
        return (event,)

    def flush(self) -> tuple[ChatEvent, ...]:
        return ()


class Holding:
    """What a guard costs: text waits for the next piece, anything else lets it out."""

    def __init__(self) -> None:
        self._held: ChatEvent | None = None

    def feed(self, event: ChatEvent, /) -> tuple[ChatEvent, ...]:
        held, self._held = self._held, None
        if isinstance(event, TextDelta):
            self._held = event
            return (held,) if held is not None else ()
        return (held, event) if held is not None else (event,)

    def flush(self) -> tuple[ChatEvent, ...]:
        return (self._held,) if self._held is not None else ()


async def read_by_hand(client: httpx.AsyncClient, url: str, contest: Contest) -> str:
    async with client.stream("POST", url, json={"stream": True}) as response:
        lines = response.aiter_lines()
        return "".join([t async for line in lines if (t := contest.by_hand(line))])


async def read_by_agent(agent: Agent) -> str:
    events = iterate(agent.stream("Go on."))
    return "".join([e.text async for e in events if isinstance(e, TextDelta)])


def decode(contest: Contest, frames: list[bytes]) -> str:
    request = ChatRequest(messages=(UserMessage.of("Go on."),))
    decoder = contest.dialect.decoder(request, content_type=contest.content_type)
    events = (event for frame in frames for event in decoder.feed(frame))
    text = "".join([each.text for each in events if isinstance(each, TextDelta)])
    decoder.flush()
    return text


async def cpu_of(read: Callable[[], Awaitable[str]]) -> float:
    """Microseconds a piece, user and system."""
    start = time.process_time()
    text = await read()
    used = time.process_time() - start
    assert text == "".join(pieces()), "the answer is not what was sent"
    return used / PIECES * 1e6


async def measure(name: str, port: int, rounds: int) -> None:
    contest, url = CONTESTS[name], f"http://127.0.0.1:{port}/{name}"
    steps = [after(transduce(Same)) for _ in range(ADVISORS)]
    agent = Agent(
        contest.model(model="m", base_url=url, api_key="x"),
        advisors=[*steps, after(transduce(Holding))],
    )
    frames = contest.frames()

    async def by_decoder() -> str:
        return decode(contest, frames)

    async with httpx.AsyncClient() as client:

        async def by_hand() -> str:
            return await read_by_hand(client, url, contest)

        async def by_agent() -> str:
            return await read_by_agent(agent)

        floors, ours, decoders = [await cpu_of(by_hand)], list[float](), list[float]()
        await cpu_of(by_agent)  # what is made only once
        for _ in range(rounds):
            ours.append(await cpu_of(by_agent))
            decoders.append(await cpu_of(by_decoder))
            floors.append(await cpu_of(by_hand))
    ratios = [
        each / statistics.mean(floors[number : number + 2])
        for number, each in enumerate(ours)
    ]
    found = statistics.median(ratios)
    print(
        f"{name:18}{statistics.median(floors):9.1f}{statistics.median(ours):9.1f}"
        f"{statistics.median(decoders):9.1f}{found:9.2f}{GOAL:8.2f}"
        f"{'  ' if found <= GOAL else '  missed'}",
        flush=True,
    )


# ------------------------------------------------------------------------ the server


def answer_bytes(contest: Contest) -> bytes:
    head = (
        f"HTTP/1.1 200 OK\r\ncontent-type: {contest.content_type}\r\n"
        "transfer-encoding: chunked\r\n\r\n"
    )
    chunks = (b"%x\r\n%b\r\n" % (len(each), each) for each in contest.frames())
    return b"".join([head.encode(), *chunks, b"0\r\n\r\n"])


async def serve() -> None:
    """Answer every request with all bytes at once; the path says which."""
    answers = {name: answer_bytes(contest) for name, contest in CONTESTS.items()}

    async def talk(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        while head := await reader.readline():
            name = head.split()[1].split(b"/")[1].decode()
            length = 0
            while (line := (await reader.readline()).lower()) not in (b"\r\n", b""):
                if line.startswith(b"content-length:"):
                    length = int(line.partition(b":")[2])
            await reader.readexactly(length)
            writer.write(answers[name])
            await writer.drain()

    server = await asyncio.start_server(talk, "127.0.0.1", 0)
    print(server.sockets[0].getsockname()[1], flush=True)
    async with server:
        await server.serve_forever()


@contextmanager
def server_process() -> Iterator[int]:
    command = [sys.executable, __file__, "--serve"]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as process:
        assert process.stdout is not None
        try:
            yield int(process.stdout.readline())
        finally:
            process.terminate()


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("names", nargs="*", default=[*CONTESTS], metavar="name")
    parser.add_argument("--rounds", type=int, default=7)
    parser.add_argument("--serve", action="store_true", help=argparse.SUPPRESS)
    arguments = parser.parse_args()
    if arguments.serve:
        asyncio.run(serve())
        return
    print(f"{'CPU, µs a piece':18}{'by hand':>9}{'ours':>9}{'decoder':>9}", end="")
    print(f"{'ratio':>9}{'goal':>8}")
    with server_process() as port:
        for name in arguments.names:
            asyncio.run(measure(name, port, arguments.rounds))


if __name__ == "__main__":
    main()
