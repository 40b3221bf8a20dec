"""A provider that answers with the bytes of a case, cut as the case says."""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncIterator, Callable

import httpx

from tests.cases.case import Answer, Delay, Fail, Json

__all__ = ["Replay", "streamed"]


class Replay(httpx.AsyncBaseTransport):
    """An httpx transport that answers request k with answer k.

    Args:
        answers: Each is used once; a further request gets a status that no case has.
        again: Makes the answer of every further request instead.
    """

    def __init__(
        self, answers: list[Answer], *, again: Callable[[], Answer] | None = None
    ) -> None:
        self.requests: list[Json] = []
        """The body of every request."""
        self._answers = answers
        self._again = again

    async def handle_async_request(self, request: httpx.Request) -> httpx.Response:
        number = len(self.requests)
        self.requests.append(json.loads(await request.aread()))
        if number < len(self._answers):
            answer = self._answers[number]
        elif self._again is not None:
            answer = self._again()
        else:
            answer = Answer(status=418)
        return httpx.Response(
            answer.status, headers=answer.headers, stream=_Reads(answer)
        )


class _Reads(httpx.AsyncByteStream):
    def __init__(self, answer: Answer) -> None:
        self._answer = answer

    async def __aiter__(self) -> AsyncIterator[bytes]:
        for read in self._answer.reads:
            match read:
                case bytes():
                    yield read
                case Delay(seconds):
                    await asyncio.sleep(seconds)
                case Fail():
                    raise httpx.ReadError("the connection was reset by the case")


def streamed(turn: Json, protocol: str = "openai-chat") -> Answer:
    """A stream that says what a scripted turn says: ``text``, ``tool_calls``, ...."""
    if protocol == "anthropic-messages":
        return _streamed_blocks(turn)
    if protocol == "google-generate":
        return _streamed_parts(turn)
    deltas: list[Json] = [{"role": "assistant", "content": turn.get("text") or ""}]
    for index, call in enumerate(turn.get("tool_calls") or ()):
        function = {"name": call["name"], "arguments": call["arguments"]}
        piece = {"index": index, "id": call["id"], "type": "function"}
        deltas.append({"tool_calls": [{**piece, "function": function}]})
    choices: list[Json] = [{"index": 0, "delta": delta} for delta in deltas]
    choices.append(
        {"index": 0, "delta": {}, "finish_reason": turn.get("finish_reason") or "stop"}
    )
    events = [json.dumps({"choices": [choice]}) for choice in choices]
    return Answer(
        headers={"content-type": "text/event-stream"},
        reads=tuple(f"data: {event}\n\n".encode() for event in [*events, "[DONE]"]),
    )


def _streamed_blocks(turn: Json) -> Answer:
    """The same as Anthropic's Messages say it."""
    blocks: list[tuple[Json, Json]] = []
    if text := turn.get("text"):
        blocks.append(
            ({"type": "text", "text": ""}, {"type": "text_delta", "text": text})
        )
    for call in turn.get("tool_calls") or ():
        begun = {"type": "tool_use", "id": call["id"], "name": call["name"]}
        piece = {"type": "input_json_delta", "partial_json": call["arguments"]}
        blocks.append(({**begun, "input": {}}, piece))
    events: list[Json] = [{"type": "message_start", "message": {"content": []}}]
    for index, (block, delta) in enumerate(blocks):
        at: Json = {"index": index}
        events += [
            {"type": "content_block_start", **at, "content_block": block},
            {"type": "content_block_delta", **at, "delta": delta},
            {"type": "content_block_stop", **at},
        ]
    reason = "tool_use" if turn.get("tool_calls") else "end_turn"
    events += [
        {"type": "message_delta", "delta": {"stop_reason": reason}},
        {"type": "message_stop"},
    ]
    return Answer(
        headers={"content-type": "text/event-stream"},
        reads=tuple(
            f"event: {event['type']}\ndata: {json.dumps(event)}\n\n".encode()
            for event in events
        ),
    )


def _streamed_parts(turn: Json) -> Answer:
    """The same as Gemini says it."""
    parts: list[Json] = [{"text": turn.get("text") or ""}]
    for call in turn.get("tool_calls") or ():
        args = json.loads(call["arguments"])
        function = {"id": call["id"], "name": call["name"], "args": args}
        parts.append({"functionCall": function})
    candidate = {"content": {"role": "model", "parts": parts}, "finishReason": "STOP"}
    event = json.dumps({"candidates": [candidate]})
    return Answer(
        headers={"content-type": "text/event-stream"},
        reads=(f"data: {event}\n\n".encode(),),
    )
