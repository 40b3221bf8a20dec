"""What the lines of an answer of Ollama mean, one JSON object at a time."""

from __future__ import annotations

from typing import Literal, TypeAlias, TypeGuard

from rxagent.errors import MalformedResponseError
from rxagent.events import ChatEvent, Finished, ReasoningDelta, TextDelta
from rxagent.requests import ChatRequest
from rxagent.responses import ChatResponse, FinishReason
from rxagent.usage import Usage
from rxagent.wire.assembly import AnswerAssembler
from rxagent.wire.json_text import dump_json, is_array, is_object
from rxagent.wire.provider_errors import error_of_end, error_of_payload
from rxagent.wire.surrogates import SurrogateJoiner, join_surrogates
from rxagent.wire.usage import UsageMeter, UsageReport

__all__ = ["LineReader"]

_Channel: TypeAlias = Literal["text", "reasoning"]

# "load" and "unload" answer a request without messages: nothing was generated.
_FINISH_REASONS: dict[str, FinishReason] = {"length": "length", "stop": "stop"}


class LineReader:
    """Make events of lines, and the response of all of them.

    Args:
        request: What was asked.
        provider: Named in errors.
    """

    def __init__(self, request: ChatRequest, *, provider: str) -> None:
        self._request = request
        self._origin = request.origin
        self._provider = provider
        self._answer = AnswerAssembler(request.origin)
        self._meter = UsageMeter("final")
        self._joiner: SurrogateJoiner[_Channel] | None = None
        self._model: str | None = None
        self._done_reason: str | None = None
        self._kind: type[TextDelta | ReasoningDelta] = TextDelta  # the last
        self.is_plain = True
        """Whether text needs nothing but to be passed on."""
        self.has_begun = False
        self.is_done = False

    def expect_surrogates(self) -> None:
        """From now on, a string may end or begin with half of a pair."""
        self._joiner = self._joiner or SurrogateJoiner()
        self.is_plain = False

    def read(self, line: dict[str, object], out: list[ChatEvent]) -> None:
        """Read a line and append its events to ``out``.

        Raises:
            ModelError: If it reports an error, or is not what it should be.  What was
                good of it has been read before.
        """
        if isinstance(model := line.get("model"), str) and model:
            self._model = join_surrogates(model) if self._joiner else model
        if (message := line.get("message")) is not None:
            self.has_begun = True
            self._message(message, out)
        if line.get("done") is True:
            self.has_begun = self.is_done = True
            reason = line.get("done_reason")
            self._done_reason = join_surrogates(reason) if _is_word(reason) else None
            self._meter.report(
                UsageReport(
                    prompt_tokens=_count(line, "prompt_eval_count"),
                    output_tokens=_count(line, "eval_count"),
                )
            )
        if line.get("error"):
            raise error_of_payload(self._provider, line)

    def again(self, piece: str, out: list[ChatEvent]) -> None:
        """Take one more piece like the last, which was of a text or a thought."""
        if piece:
            self._answer.again(piece)
            out.append(self._kind(text=piece, origin=self._origin))

    def finish(self, out: list[ChatEvent]) -> None:
        """Append what waited, and the response of the whole answer.

        Raises:
            ModelError: If the generation broke off.
        """
        for channel, piece in self._joiner.flush() if self._joiner else ():
            self._append(channel, piece, out)
        if error := error_of_end(self._provider, self._done_reason):
            raise error
        reason = _FINISH_REASONS.get(self._done_reason or "", "unknown")
        message = self._answer.message(truncated=reason == "length")
        if message.tool_calls and reason != "length":
            reason = "tool_calls"
        response = ChatResponse(
            message=message,
            finish_reason=reason,
            finish_reason_raw=self._done_reason,
            usage=self._meter.usage(""),
            model=self._model,
            context=self._request.context,
            transcript=(message,),
        )
        out.append(Finished(response=response, origin=self._origin))

    def text(self) -> str:
        """All text that has come so far."""
        return self._answer.text_so_far()

    def usage(self) -> Usage | None:
        """What the answer has cost so far, if the provider has said so."""
        return self._meter.usage("") if self._meter.has_reports else None

    def _message(self, message: object, out: list[ChatEvent]) -> None:
        if not is_object(message):
            raise self._malformed("message", message)
        self._piece("reasoning", message.get("thinking"), out)
        self._piece("text", message.get("content"), out)
        if calls := message.get("tool_calls"):
            if not is_array(calls):
                raise self._malformed("tool_calls", calls)
            for call in calls:
                self._call(call, out)

    def _call(self, call: object, out: list[ChatEvent]) -> None:
        """A call, which comes whole."""
        function = call.get("function") if is_object(call) else None
        if not (is_object(call) and is_object(function)):
            raise self._malformed("a tool call", call)
        name, wire_id = function.get("name"), call.get("id")
        if not (isinstance(name, str) and name):
            raise self._malformed("the name of a tool", name)
        arguments = function.get("arguments")
        if isinstance(arguments, str):
            arguments = join_surrogates(arguments)
        else:
            arguments = self._json({} if arguments is None else arguments)
        # Each is whole, and older servers call all of them number 0.
        delta = self._answer.call(
            id=join_surrogates(wire_id) if isinstance(wire_id, str) else None,
            name=join_surrogates(name),
            arguments=arguments,
        )
        if delta:
            out.append(delta)

    def _piece(self, channel: _Channel, piece: object, out: list[ChatEvent]) -> None:
        if piece is None or piece == "":
            return
        if not isinstance(piece, str):
            raise self._malformed("content" if channel == "text" else "thinking", piece)
        if self._joiner:
            piece = self._joiner.feed(channel, piece)
        if piece:
            self._append(channel, piece, out)

    def _append(self, channel: _Channel, piece: str, out: list[ChatEvent]) -> None:
        if channel == "text":
            self._answer.text(piece)
            self._kind = TextDelta
            out.append(TextDelta(text=piece, origin=self._origin))
        else:
            self._answer.reasoning(piece)
            self._kind = ReasoningDelta
            out.append(ReasoningDelta(text=piece, origin=self._origin))

    def _json(self, value: object) -> str:
        try:
            return dump_json(value).decode()
        except ValueError as error:
            raise self._malformed(
                f"arguments that are not JSON ({error})", value
            ) from None

    def _malformed(self, what: str, found: object) -> MalformedResponseError:
        return MalformedResponseError(
            f"{self._provider} sent {what} as a Python {type(found).__name__}; "
            "is base_url an Ollama server?",
            provider=self._provider,
        )


def _is_word(value: object) -> TypeGuard[str]:
    return isinstance(value, str) and value != ""


def _count(line: dict[str, object], name: str) -> int | None:
    count = line.get(name)
    if isinstance(count, bool) or not isinstance(count, int) or count < 0:
        return None
    return count
