"""What the chunks of an OpenAI-compatible answer mean, one JSON object at a time."""

from __future__ import annotations

from typing import Literal, TypeAlias

from rxagent.errors import MalformedResponseError
from rxagent.events import ChatEvent, Finished, ReasoningDelta, TextDelta
from rxagent.messages import AssistantMessage, Opaque
from rxagent.requests import ChatRequest
from rxagent.responses import ChatResponse
from rxagent.usage import Usage
from rxagent.wire.assembly import AnswerAssembler
from rxagent.wire.json_text import dump_json, is_array, is_object
from rxagent.wire.openai_chat.endings import ending
from rxagent.wire.openai_chat.reasoning_details import (
    MEMBER,
    ReasoningDetails,
    text_of_details,
)
from rxagent.wire.openai_chat.usage import usage_report
from rxagent.wire.provider_errors import error_of_payload
from rxagent.wire.surrogates import SurrogateJoiner, join_surrogates
from rxagent.wire.think_tags import ThinkTagSplitter
from rxagent.wire.usage import UsageMeter

__all__ = ["ChunkReader"]

_Channel: TypeAlias = Literal["text", "reasoning", "refusal"]


class ChunkReader:
    """Make events of chunks, and the response of all of them.

    Only the first choice is read.

    Args:
        request: What was asked.
        provider: Named in errors, and the dialect of parts that only it understands.
        think_tags: Tells text from reasoning, if the model mixes them.
        meter: Takes the reports of usage.
    """

    def __init__(
        self,
        request: ChatRequest,
        *,
        provider: str,
        think_tags: ThinkTagSplitter | None,
        meter: UsageMeter,
    ) -> None:
        self._request = request
        self._origin = request.origin
        self._provider = provider
        self._think_tags = think_tags
        self._meter = meter
        self._answer = AnswerAssembler(request.origin)
        # Calls by their index, which may be missing.
        self._joiner: SurrogateJoiner[_Channel | int | None] | None = None
        self._details = ReasoningDetails()
        self._id: str | None = None
        self._model: str | None = None
        self.is_plain = think_tags is None
        """Whether text needs nothing but to be passed on."""
        self._kind: type[TextDelta | ReasoningDelta] = TextDelta  # the last
        self.has_begun = False
        self.finish_reason: str | None = None

    def expect_surrogates(self) -> None:
        """From now on, a string may end or begin with half of a pair."""
        self._joiner = self._joiner or SurrogateJoiner()
        self.is_plain = False

    def read(
        self, chunk: dict[str, object], out: list[ChatEvent], *, whole: bool = False
    ) -> None:
        """Read a chunk, or a ``whole`` completion, and append its events to ``out``.

        Raises:
            ModelError: If it reports an error, or is not what it should be.  What was
                good of it has been read before.
        """
        before = len(out)
        if (value := chunk.get("id")) and value != self._id:
            self._id = self._whole(value) or self._id
        if (value := chunk.get("model")) and value != self._model:
            self._model = self._whole(value) or self._model
        if choices := chunk.get("choices"):
            self._choices(choices, out, whole=whole)
        # Some servers hide it in the choice that ends the answer.
        if chunk.get("usage") or "x_groq" in chunk or self.finish_reason:
            report = usage_report(chunk, with_text=len(out) > before)
            if report:
                self._meter.report(report)
        if chunk.get("error") or "error" in (chunk.get("object"), chunk.get("type")):
            raise error_of_payload(self._provider, chunk)

    def again(self, piece: str, out: list[ChatEvent]) -> None:
        """Take one more piece like the last, which was plain text or a thought."""
        if piece:
            self._answer.again(piece)
            out.append(self._kind(text=piece, origin=self._origin))

    def finish(self, out: list[ChatEvent]) -> None:
        """Append what waited, and the response of the whole answer.

        Raises:
            ModelError: If the generation broke off.
        """
        for channel, piece in self._joiner.flush() if self._joiner else ():
            if isinstance(channel, str):
                self._say(channel, piece, out)
            elif delta := self._answer.call(index=channel, arguments=piece):
                out.append(delta)
        for kind, text in self._think_tags.flush() if self._think_tags else ():
            self._append(kind, text, out)
        raw = self.finish_reason
        reason = ending(raw, provider=self._provider)
        cut_off = reason in ("length", "content_filter")
        if details := self._details.whole():
            data = self._json({MEMBER: details})
            self._answer.opaque(Opaque(dialect=self._provider, data=data))
        message = self._answer.message(truncated=cut_off)
        if message.tool_calls and not cut_off:
            reason = "tool_calls"
        elif message.refusal and reason in ("stop", "unknown"):
            reason = "refusal"
        response = ChatResponse(
            message=message,
            finish_reason=reason,
            finish_reason_raw=raw,
            usage=self._meter.usage(_everything(message)),
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
        if not self._meter.has_reports:
            return None
        return self._meter.usage(_everything(self._answer.message(truncated=True)))

    def _choices(self, choices: object, out: list[ChatEvent], *, whole: bool) -> None:
        # Perplexity sends both: the delta of a whole answer is empty, and the message
        # of a chunk is all that came before.
        place, elsewhere = ("message", "delta") if whole else ("delta", "message")
        if not is_array(choices):
            raise self._malformed("choices", choices)
        for choice in choices:
            if not is_object(choice):
                raise self._malformed("a choice", choice)
            if choice.get("index"):
                continue
            self.has_begun = True
            delta = choice.get(place)
            if delta is None:
                delta = choice.get(elsewhere)
            if is_object(delta):
                self._delta(delta, out)
            elif delta is not None:
                raise self._malformed("delta", delta)
            if reason := choice.get("finish_reason"):
                self.finish_reason = self._whole(reason) or self.finish_reason
            if choice.get("error"):  # OpenRouter's place for it in a whole answer
                raise error_of_payload(self._provider, choice)

    def _delta(self, delta: dict[str, object], out: list[ChatEvent]) -> None:
        # Several servers send the same thought under both names.
        thought = delta.get("reasoning_content") or delta.get("reasoning")
        if details := delta.get(MEMBER):
            self._details.feed(details)
            thought = thought or text_of_details(details)
        if thought and isinstance(thought, str):
            self._piece("reasoning", thought, out)
        if content := delta.get("content"):
            if isinstance(content, str):
                self._piece("text", content, out)
            else:
                self._parts(content, out)
        if (refusal := delta.get("refusal")) and isinstance(refusal, str):
            self._piece("refusal", refusal, out)
        if calls := delta.get("tool_calls"):
            if not is_array(calls):
                raise self._malformed("tool_calls", calls)
            for call in calls:
                self._call(call, out)
        if legacy := delta.get("function_call"):
            self._call({"function": legacy}, out)

    def _parts(self, content: object, out: list[ChatEvent]) -> None:
        """Content as typed parts, as Mistral sends it."""
        parts = content if is_array(content) else [content]
        for part in parts:
            if isinstance(part, str):
                self._piece("text", part, out)
                continue
            if not is_object(part):
                raise self._malformed("content", content)
            match part:
                case {"type": "text" | "output_text", "text": str(text)}:
                    self._piece("text", text, out)
                case {"type": "refusal", "refusal": str(text)}:
                    self._piece("refusal", text, out)
                case {"type": "thinking", "thinking": thinking}:
                    self._thinking(thinking, out)
                    if signature := self._whole(part.get("signature")):
                        self._answer.signature(signature, dialect=self._provider)
                case _:
                    opaque = Opaque(dialect=self._provider, data=self._json(part))
                    self._answer.opaque(opaque)

    def _thinking(self, thinking: object, out: list[ChatEvent]) -> None:
        for part in thinking if is_array(thinking) else [thinking]:
            text = part.get("text") if is_object(part) else part
            if isinstance(text, str):
                self._piece("reasoning", text, out)

    def _call(self, call: object, out: list[ChatEvent]) -> None:
        if not is_object(call):
            raise self._malformed("a tool call", call)
        function = call.get("function")
        if function is None:
            function = dict[str, object]()
        if not is_object(function):
            raise self._malformed("a function", function)
        index, arguments = call.get("index"), function.get("arguments")
        number = index if isinstance(index, int) else None
        if not isinstance(arguments, str):
            arguments = self._json(arguments) if arguments is not None else ""
        if self._joiner:
            arguments = self._joiner.feed(number, arguments)
        delta = self._answer.call(
            index=number,
            id=self._whole(call.get("id")),
            name=self._whole(function.get("name")),
            arguments=arguments,
        )
        if delta:
            out.append(delta)

    def _piece(self, channel: _Channel, piece: str, out: list[ChatEvent]) -> None:
        if self._joiner:
            piece = self._joiner.feed(channel, piece)
        self._say(channel, piece, out)

    def _say(self, channel: _Channel, piece: str, out: list[ChatEvent]) -> None:
        if channel == "text" and self._think_tags:
            for kind, text in self._think_tags.feed(piece):
                self._append(kind, text, out)
        elif piece:
            self._append(channel, piece, out)

    def _append(self, channel: _Channel, piece: str, out: list[ChatEvent]) -> None:
        if channel == "text":
            self._answer.text(piece)
            self._kind = TextDelta
            out.append(TextDelta(text=piece, origin=self._origin))
        elif channel == "reasoning":
            self._answer.reasoning(piece)
            self._kind = ReasoningDelta
            out.append(ReasoningDelta(text=piece, origin=self._origin))
        else:
            self._answer.refusal(piece)

    def _whole(self, value: object) -> str | None:
        """A string that is never cut; ``None`` if it is none, or empty."""
        if not isinstance(value, str) or not value:
            return None
        return join_surrogates(value) if self._joiner else value

    def _json(self, value: object) -> str:
        try:
            return dump_json(value).decode()
        except ValueError as error:
            raise self._malformed(
                f"a value that is not JSON ({error})", value
            ) from None

    def _malformed(self, what: str, found: object) -> MalformedResponseError:
        return MalformedResponseError(
            f"{self._provider} sent {what} as a Python {type(found).__name__}; "
            "is base_url an OpenAI-compatible server?",
            provider=self._provider,
        )


def _everything(message: AssistantMessage) -> str:
    calls = (call.arguments for call in message.tool_calls)
    return "".join((message.text, message.reasoning, message.refusal, *calls))
