"""What the events of an answer of Anthropic mean, one JSON object at a time."""

from __future__ import annotations

from rxagent.errors import MalformedResponseError
from rxagent.events import ChatEvent, Finished, Retracted
from rxagent.requests import ChatRequest
from rxagent.responses import ChatResponse, FinishReason
from rxagent.usage import Usage
from rxagent.wire.anthropic.blocks import Block, OpaqueBlock, PlainBlock, ToolBlock
from rxagent.wire.anthropic.delivery import Delivery
from rxagent.wire.anthropic.usage import UsageCounter
from rxagent.wire.json_text import dump_json, is_array, is_object
from rxagent.wire.provider_errors import error_of_end, error_of_payload

__all__ = ["EventReader"]

_FINISH_REASONS: dict[str, FinishReason] = {
    "end_turn": "stop",
    "stop_sequence": "stop",
    "tool_use": "tool_calls",
    "max_tokens": "length",
    "model_context_window_exceeded": "length",
    "refusal": "refusal",
    "pause_turn": "pause",
}


class EventReader:
    """Make events of the events of the wire, and the response of all of them.

    Unknown events, deltas and members are ignored, and so is a piece of arguments for a
    call that never began.

    Args:
        request: What was asked.
        provider: Named in errors, and the dialect of parts that only it understands.
    """

    def __init__(self, request: ChatRequest, *, provider: str) -> None:
        self._request = request
        self._origin = request.origin
        self._provider = provider
        self.is_plain = True
        """Whether text needs nothing but to be passed on."""
        self.has_begun = False
        self.is_over = False
        self.stop_reason: str | None = None
        self._id: str | None = None
        self._model: str | None = None
        self._usage = UsageCounter()
        self._answer = Delivery(request.origin, provider=provider)
        self._blocks: dict[int | None, Block] = {}

    def expect_surrogates(self) -> None:
        """From now on, a string may end or begin with half of a pair."""
        self._answer.expect_surrogates()
        self.is_plain = False

    def read(
        self, event: dict[str, object], out: list[ChatEvent], *, name: str
    ) -> None:
        """Read an event, and append what it comes to to ``out``.

        Args:
            event: Its data.
            out: Takes events.
            name: Of the event, for data without a ``type``.

        Raises:
            ModelError: If it reports an error, or is not what it should be.
        """
        kind = event.get("type", name)
        if kind == "error" or event.get("error"):
            raise error_of_payload(self._provider, event)
        match kind:
            case "content_block_delta":
                self._delta(_number(event), self._object(event, "delta"), out)
            case "content_block_start":
                self._start(_number(event), self._object(event, "content_block"), out)
            case "content_block_stop":
                self._stop(_number(event), out)
            case "message_start":
                self._begin(self._object(event, "message"), out)
            case "message_delta":
                self._end(event.get("delta"), event.get("usage"))
            case "message_stop":
                self.is_over = True
            case _:
                pass

    def again(self, piece: str, out: list[ChatEvent]) -> None:
        """Take one more piece like the last, which was of a text or a thought."""
        self._answer.again(piece, out)

    def read_whole(self, message: dict[str, object], out: list[ChatEvent]) -> None:
        """Read a message that came in one piece.

        Raises:
            ModelError: If it reports an error, or is not what it should be.
        """
        if message.get("type") == "error" or message.get("error"):
            raise error_of_payload(self._provider, message)
        content = message.get("content")
        if not is_array(content):
            raise self._malformed("content", content)
        self._begin(message, out)
        for number, block in enumerate(content):
            if not is_object(block):
                raise self._malformed("a content block", block)
            self._start(number, block, out)
            self._stop(number, out)
        self._end(message, None)
        self.is_over = True

    def finish(self, out: list[ChatEvent]) -> None:
        """Append what waited, and the response of the whole answer.

        Raises:
            ModelError: If the generation broke off.
        """
        for number in list(self._blocks):
            self._stop(number, out)
        self._answer.close_part(out)
        raw = self.stop_reason
        if error := error_of_end(self._provider, raw):
            raise error
        reason = _FINISH_REASONS.get(raw or "", "unknown")
        cut_off = reason in ("length", "refusal")
        message = self._answer.message(truncated=cut_off)
        if message.tool_calls and not cut_off:
            reason = "tool_calls"
        response = ChatResponse(
            message=message,
            finish_reason=reason,
            finish_reason_raw=raw,
            usage=self._usage.usage(),
            model=self._model,
            id=self._id,
            context=self._request.context,
            transcript=(message,),
        )
        out.append(Finished(response=response, origin=self._origin))

    def text(self) -> str:
        """All text that has come so far."""
        return self._answer.text_so_far()

    def usage(self) -> Usage | None:
        """What the answer has cost so far, if the provider has said so."""
        return self._usage.usage() if self._usage.has_reports else None

    def _begin(self, message: dict[str, object], out: list[ChatEvent]) -> None:
        """Start the message; once more, if the server had to ask another one."""
        new_id = self._answer.name(message.get("id"))
        self._model = self._answer.name(message.get("model")) or self._model
        if self._id and new_id and new_id != self._id:
            self._answer = Delivery(self._origin, provider=self._provider)
            self._blocks, self._usage = {}, UsageCounter()
            self.stop_reason = None
            reason = f"{self._provider} began the answer again"
            out.append(Retracted(reason=reason, origin=self._origin))
        self.has_begun = True
        self._id = new_id or self._id
        self._usage.report(message.get("usage"))

    def _end(self, delta: object, usage: object) -> None:
        self._usage.report(usage)
        if not is_object(delta):
            return
        reason = self._answer.name(delta.get("stop_reason"))
        self.stop_reason = reason or self.stop_reason
        if is_object(details := delta.get("stop_details")):
            self._answer.refusal(details.get("explanation"))

    def _start(
        self, number: int | None, block: dict[str, object], out: list[ChatEvent]
    ) -> None:
        self._stop(number, out)  # a server that counts no blocks
        self.has_begun = True
        self._answer.close_part(out)
        match block.get("type"):
            case "text":
                self._blocks[number] = PlainBlock("text")
                self._answer.piece("text", block.get("text"), out)
            case "thinking":
                self._blocks[number] = PlainBlock("thinking")
                self._answer.piece("reasoning", block.get("thinking"), out)
                self._answer.signature(block.get("signature"))
            case "tool_use":
                call = self._answer.call(block.get("id"), block.get("name"), out)
                if call is not None:
                    given = self._json(block.get("input"))
                    self._blocks[number] = ToolBlock(call, arguments=given)
            case _:
                self._blocks[number] = OpaqueBlock(block)

    def _delta(
        self, number: int | None, delta: dict[str, object], out: list[ChatEvent]
    ) -> None:
        block = self._blocks.get(number)
        if isinstance(block, OpaqueBlock):
            block.piece(delta)
            return
        match delta.get("type"):
            case "text_delta":
                self.has_begun = True
                self._answer.piece("text", delta.get("text"), out)
            case "thinking_delta":
                self.has_begun = True
                self._answer.piece("reasoning", delta.get("thinking"), out)
            case "signature_delta":
                if isinstance(block, PlainBlock) and block.kind == "thinking":
                    self._answer.signature(delta.get("signature"))
            case "input_json_delta":
                piece = delta.get("partial_json")
                if isinstance(block, ToolBlock) and isinstance(piece, str):
                    self._answer.arguments(block.number, block.piece(piece), out)
            case _:
                pass

    def _stop(self, number: int | None, out: list[ChatEvent]) -> None:
        block = self._blocks.pop(number, None)
        if block is None:
            return
        if isinstance(block, ToolBlock):
            self._answer.arguments(block.number, block.rest(), out)
        elif isinstance(block, OpaqueBlock) and (whole := block.whole()):
            self._answer.opaque(self._json(whole))
        self._answer.close_part(out)

    def _object(self, event: dict[str, object], name: str) -> dict[str, object]:
        value = event.get(name)
        if not is_object(value):
            raise self._malformed(name, value)
        return value

    def _json(self, value: object) -> str:
        """JSON text; nothing for what is empty, and a text that is one already."""
        if isinstance(value, str) or not value:
            return value if isinstance(value, str) else ""
        try:
            return dump_json(value).decode()
        except ValueError as error:
            what = f"a value that is not JSON ({error})"
            raise self._malformed(what, value) from None

    def _malformed(self, what: str, found: object) -> MalformedResponseError:
        return MalformedResponseError(
            f"{self._provider} sent {what} as a Python {type(found).__name__}; "
            "does the server at base_url speak Anthropic's Messages?",
            provider=self._provider,
        )


def _number(event: dict[str, object]) -> int | None:
    number = event.get("index")
    return number if isinstance(number, int) else None
