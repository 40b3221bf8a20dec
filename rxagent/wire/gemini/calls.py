"""The function calls of a Gemini answer, whole or in pieces."""

from __future__ import annotations

from collections.abc import Iterator
from uuid import uuid4

from rxagent.events import ToolCallDelta
from rxagent.wire.assembly import AnswerAssembler
from rxagent.wire.gemini.messages import NO_ID
from rxagent.wire.gemini.partial_args import PartialArgs
from rxagent.wire.json_text import dump_json, is_array, is_object

__all__ = ["CallReader"]


class CallReader:
    """Read one ``functionCall`` after the other.

    A call is whole, or its arguments follow in nameless pieces until one does not say
    that it continues.  They are delivered when they are whole: leaf by leaf they are
    no JSON text that grows.

    Args:
        answer: Takes the calls.
    """

    def __init__(self, answer: AnswerAssembler) -> None:
        self._answer = answer
        self._count = 0
        self._partial: PartialArgs | None = None  # of the last call, while it is open

    def read(self, call: dict[str, object]) -> Iterator[ToolCallDelta]:
        """Read a call or the next piece of one.

        Raises:
            ValueError: If it is not what it should be, as the rest of a sentence.
        """
        if self._partial is None or call.get("name") or call.get("id"):
            yield from self.close()
            yield from self._begin(call)
        if self._partial and (pieces := call.get("partialArgs")):
            for piece in pieces if is_array(pieces) else [pieces]:
                if not is_object(piece):
                    raise ValueError("has an argument that is no object")
                self._partial.add(piece)
        if call.get("willContinue") is not True:
            yield from self.close()

    def close(self) -> Iterator[ToolCallDelta]:
        """Deliver the arguments that came in pieces, if there are any."""
        if self._partial is None:
            return
        arguments = dump_json(self._partial.whole()).decode()
        self._partial = None
        delta = self._answer.call(index=self._count, arguments=arguments)
        assert delta is not None, "an object is at least two brackets"
        yield delta

    def _begin(self, call: dict[str, object]) -> Iterator[ToolCallDelta]:
        if not call:
            return
        name, id_, args = call.get("name"), call.get("id"), call.get("args")
        is_open = call.get("willContinue") is True or "partialArgs" in call
        self._count += 1
        delta = self._answer.call(
            index=self._count,
            id=id_ if id_ and isinstance(id_, str) else f"{NO_ID}{uuid4().hex}",
            name=name if isinstance(name, str) else None,
            arguments="" if args is None or is_open else _text(args),
        )
        assert delta is not None, "a call that has an id is news"
        yield delta
        if is_open:
            self._partial = PartialArgs()


def _text(args: object) -> str:
    return args if isinstance(args, str) else dump_json(args).decode()
