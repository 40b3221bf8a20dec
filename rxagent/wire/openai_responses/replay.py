"""What a model has said, as items that the provider takes for its own."""

from __future__ import annotations

from rxagent.errors import RequestError
from rxagent.messages import AssistantMessage, Opaque, Refusal, Text, ToolCall
from rxagent.wire.arguments import strict_arguments
from rxagent.wire.json_text import is_array, is_object, load_json
from rxagent.wire.names import wire_name

__all__ = ["replayed"]

_Json = dict[str, object]


def replayed(message: AssistantMessage, *, dialect: str, stored: bool) -> list[_Json]:
    """Return the items of a message, in the order in which the model made them.

    Args:
        message: Its reasoning goes back as the item that it came in.
        dialect: Whose opaque parts are sent.
        stored: Whether the provider finds its reasoning by the id.  Otherwise reasoning
            that is not encrypted stays here, and with it the ids of what follows it.

    Raises:
        RequestError: If an opaque part is no JSON object.
    """
    items = _Items(stored=stored)
    for part in message.content:
        match part:
            case Opaque() if part.dialect == dialect:
                items.opaque(_data(part))
            case Text() | Refusal():
                items.text(part)
            case ToolCall():
                items.call(part)
            case _:
                pass
    return items.items


class _Items:
    """The items so far."""

    def __init__(self, *, stored: bool) -> None:
        self.items: list[_Json] = []
        self._stored = stored
        self._waiting: list[_Json] = []
        """Reasoning, which is refused where nothing follows it."""
        self._frame: _Json = {}
        """What the provider says of the item that comes next."""
        self._has_ids = True

    def opaque(self, data: _Json) -> None:
        match data.get("type"):
            case "message" | "function_call":
                self._frame = data
            case "reasoning":
                if self._stored or data.get("encrypted_content") or data.get("content"):
                    self._waiting.append(data)
                else:
                    self._has_ids = False
            case _:
                self._append(data)

    def text(self, part: Text | Refusal) -> None:
        if not part.text:
            return
        frame = self._take_frame("message")
        last = self.items[-1] if self.items and not (frame or self._waiting) else {}
        content = last.get("content") if last.get("type") == "message" else None
        if "id" in frame:
            own = {"type": "message", "role": "assistant", "content": [_part(part)]}
            self._append({"status": "completed", **frame, **own})
        elif is_array(content):
            content.append(_part(part))
        elif isinstance(content, str):
            last["content"] = content + part.text
        else:
            item: _Json = {"type": "message", "role": "assistant", "content": part.text}
            if phase := frame.get("phase"):
                item["phase"] = phase
            self._append(item)

    def call(self, call: ToolCall) -> None:
        own = {
            "type": "function_call",
            "call_id": call.id,
            "name": wire_name(call.name),
            "arguments": strict_arguments(call.arguments),
        }
        self._append({**self._take_frame("function_call"), **own})

    def _append(self, item: _Json) -> None:
        self.items += [*self._waiting, item]
        self._waiting = []

    def _take_frame(self, kind: str) -> _Json:
        frame, self._frame = self._frame, {}
        if frame.get("type") != kind:
            return {}
        if not self._has_ids:
            frame = {name: each for name, each in frame.items() if name != "id"}
        return frame


def _part(part: Text | Refusal) -> _Json:
    if isinstance(part, Refusal):
        return {"type": "refusal", "refusal": part.text}
    return {"type": "output_text", "text": part.text, "annotations": []}


def _data(part: Opaque) -> _Json:
    try:
        data = load_json(part.data)
    except ValueError as error:
        raise RequestError(
            f"a part of dialect {part.dialect!r} is not JSON: {error}"
        ) from None
    if not is_object(data):
        raise RequestError(f"a part of dialect {part.dialect!r} is no JSON object")
    return data
