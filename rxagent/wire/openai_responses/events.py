"""What the events of a Responses stream mean, one JSON object at a time."""

from __future__ import annotations

from rxagent.errors import TruncatedStreamError
from rxagent.events import ChatEvent, Finished
from rxagent.requests import ChatRequest
from rxagent.responses import ChatResponse, FinishReason
from rxagent.usage import Usage
from rxagent.wire.json_text import is_object
from rxagent.wire.openai_responses.items import Channel, Name
from rxagent.wire.openai_responses.output import Output
from rxagent.wire.openai_responses.usage import usage_report
from rxagent.wire.provider_errors import error_of_end, error_of_payload
from rxagent.wire.usage import UsageMeter

__all__ = ["EventReader"]

# The kind of the item that a piece belongs to, the channel, and what numbers its parts.
_PIECES: dict[str, tuple[str, Channel, str]] = {
    "response.output_text.delta": ("message", "text", "content_index"),
    "response.refusal.delta": ("message", "refusal", "content_index"),
    "response.reasoning_summary_text.delta": ("reasoning", "summary", "summary_index"),
    "response.reasoning_text.delta": ("reasoning", "thought", "content_index"),
    "response.function_call_arguments.delta": ("function_call", "arguments", ""),
}
_UNDERWAY = ("response.created", "response.queued", "response.in_progress")
_ENDS = {  # and the status that each is sent with
    "response.completed": "completed",
    "response.incomplete": "incomplete",
    "response.failed": "failed",
}
_FINISH_REASONS: dict[str, FinishReason] = {
    "completed": "stop",
    "max_output_tokens": "length",
    "content_filter": "content_filter",
}


class EventReader:
    """Make events of a stream's events, and the response of all of them.

    Args:
        request: What was asked.
        provider: Named in errors.
        dialect: Of the parts that only the provider understands.
    """

    def __init__(self, request: ChatRequest, *, provider: str, dialect: str) -> None:
        self._request = request
        self._provider = provider
        self._output = Output(request.origin, dialect=dialect)
        self._meter = UsageMeter("final")
        self._id: str | None = None
        self._model: str | None = None
        self._end = ""
        self._is_cut = False
        self.is_plain = True
        """Whether text needs nothing but to be passed on."""
        self.has_begun = False
        """Whether an event of an answer has come."""
        self.is_done = False
        """Whether the answer has ended; what comes then is not read."""

    def expect_surrogates(self) -> None:
        """From now on, a string may end or begin with half of a pair."""
        self._output.expect_surrogates()
        self.is_plain = False

    def read(
        self, event: dict[str, object], out: list[ChatEvent], *, name: str
    ) -> None:
        """Read an event and append ours to ``out``.

        Args:
            event: Decoded.
            out: Takes what it brings.
            name: Of the event on the wire, which counts where it says no type.

        Raises:
            ModelError: If it reports an error.
            ValueError: If it is not what it should be.
        """
        kind = event.get("type") or name
        if "error" in (kind, name):
            words = {key: value for key, value in event.items() if key != "type"}
            raise error_of_payload(self._provider, words if kind == "error" else event)
        index = event.get("output_index")
        index = index if isinstance(index, int) else None
        if not isinstance(kind, str):
            return
        if piece := _PIECES.get(kind):
            self._piece(event, piece, index, out)
        elif kind == "response.output_item.added":
            self._output.announced(event.get("item"), index, out)
        elif kind == "response.output_item.done":
            self._output.done(event.get("item"), index, out)
        elif kind in _UNDERWAY:
            self._about(_response(event))
        elif kind in _ENDS:
            self.read_end(_response(event), out, status=_ENDS[kind])
        elif event.get("error") and not kind.startswith("response."):
            raise error_of_payload(self._provider, event)
        else:
            return
        self.has_begun = True

    def again(self, piece: str, out: list[ChatEvent]) -> None:
        """Take one more piece like the last, which was of a text or a thought."""
        self._output.again(piece, out)

    def read_end(
        self, response: dict[str, object], out: list[ChatEvent], *, status: str = ""
    ) -> None:
        """Read a response that has ended, well or badly.

        Args:
            response: Decoded.
            out: Takes what it brings.
            status: Where the response says none.

        Raises:
            ModelError: If it has failed, or has not ended.
            ValueError: If it is not what it should be.
        """
        self._about(response)
        if report := usage_report(response.get("usage")):
            self._meter.report(report)
        if output := response.get("output"):
            self._output.final(output, out)
        status = self._output.word(response.get("status")) or status
        if status == "failed" or response.get("error"):
            raise error_of_payload(self._provider, response.get("error"))
        if status not in ("completed", "incomplete"):
            raise TruncatedStreamError(
                f"{self._provider} answered with a response whose status is "
                f"{status!r}, not 'completed'",
                provider=self._provider,
            )
        details = response.get("incomplete_details")
        why = details.get("reason") if is_object(details) else None
        self._is_cut = status == "incomplete"
        self._end = (self._is_cut and self._output.word(why)) or status
        self.is_done = True

    def finish(self, out: list[ChatEvent]) -> None:
        """Append what waited, and the response of the whole answer.

        Raises:
            ModelError: If the generation broke off.
            ValueError: If an item is no JSON.
        """
        message = self._output.message(out, truncated=self._is_cut)
        if error := error_of_end(self._provider, self._end):
            raise error
        reason = _FINISH_REASONS.get(self._end, "unknown")
        if message.tool_calls and not self._is_cut:
            reason = "tool_calls"
        elif message.refusal and not self._is_cut:
            reason = "refusal"
        response = ChatResponse(
            message=message,
            finish_reason=reason,
            finish_reason_raw=self._end,
            usage=self._meter.usage(""),
            model=self._model,
            id=self._id,
            context=self._request.context,
            transcript=(message,),
        )
        out.append(Finished(response=response, origin=self._request.origin))

    def text(self) -> str:
        """All text that has come so far."""
        return self._output.text_so_far()

    def usage(self) -> Usage | None:
        """What the answer has cost, if the provider has said so."""
        return self._meter.usage("") if self._meter.has_reports else None

    def _about(self, response: dict[str, object]) -> None:
        self._id = self._output.word(response.get("id")) or self._id
        self._model = self._output.word(response.get("model")) or self._model

    def _piece(
        self,
        event: dict[str, object],
        piece: tuple[str, Channel, str],
        index: int | None,
        out: list[ChatEvent],
    ) -> None:
        kind, channel, counter = piece
        name = Name(kind=kind, id=self._output.word(event.get("item_id")), index=index)
        part = event.get(counter)
        part = part if isinstance(part, int) else 0
        self._output.piece(name, channel, part, event.get("delta"), out)


def _response(event: dict[str, object]) -> dict[str, object]:
    response = event.get("response")
    if response is None:
        return {}
    if not is_object(response):
        raise ValueError("the response is no object")
    return response
