"""Messages and the parts they are made of.

Values only: frozen, equal by value, replaced and never changed.  A message's ``id``
is made at birth and stays outside equality, and so does its ``mark``.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Literal, TypeAlias, TypeVar
from uuid import uuid4

__all__ = [
    "AssistantMessage",
    "AssistantPart",
    "Audio",
    "File",
    "Image",
    "Mark",
    "Message",
    "Opaque",
    "Reasoning",
    "Refusal",
    "SystemMessage",
    "Text",
    "ToolCall",
    "ToolMessage",
    "UserMessage",
    "UserPart",
]


Mark: TypeAlias = Literal["summary", "interrupted", "pinned"]
"""What a memory knows of a message, and no provider is told: it stands for others, its
turn broke off, or it is never left out."""

_Part = TypeVar("_Part")


def _new_id() -> str:
    return uuid4().hex


@dataclass(frozen=True, slots=True, kw_only=True)
class Text:
    """Plain text."""

    text: str
    type: Literal["text"] = "text"


@dataclass(frozen=True, slots=True, kw_only=True)
class _Media:
    """Bytes, or the address of bytes; exactly one of the two."""

    media_type: str
    data: bytes | None = field(default=None, repr=False)
    url: str | None = None

    def __post_init__(self) -> None:
        if (self.data is None) == (self.url is None):
            kind = type(self).__name__
            raise ValueError(f"{kind} needs either data or url, and not both")


@dataclass(frozen=True, slots=True, kw_only=True)
class Image(_Media):
    """A picture."""

    media_type: str = "image/png"
    type: Literal["image"] = "image"


@dataclass(frozen=True, slots=True, kw_only=True)
class Audio(_Media):
    """A sound."""

    media_type: str = "audio/wav"
    type: Literal["audio"] = "audio"


@dataclass(frozen=True, slots=True, kw_only=True)
class File(_Media):
    """Any other document."""

    media_type: str = "application/pdf"
    name: str = "file"
    type: Literal["file"] = "file"


@dataclass(frozen=True, slots=True, kw_only=True)
class Reasoning:
    """What the model thought; never part of ``text``.

    ``signature`` is the provider's proof of origin: opaque, kept, and sent back to
    ``dialect`` alone.
    """

    text: str
    signature: str | None = field(default=None, repr=False)
    dialect: str | None = None
    type: Literal["reasoning"] = "reasoning"


@dataclass(frozen=True, slots=True, kw_only=True)
class Refusal:
    """The model's own words for not answering; never part of ``text``."""

    text: str
    type: Literal["refusal"] = "refusal"


@dataclass(frozen=True, slots=True, kw_only=True)
class Opaque:
    """A block that only ``dialect`` understands: kept, and sent back to it alone.

    ``data`` is JSON text.
    """

    dialect: str
    data: str
    type: Literal["opaque"] = "opaque"


@dataclass(frozen=True, slots=True, kw_only=True)
class ToolCall:
    """A request of the model to run a tool.

    ``arguments`` is the text that the model wrote, JSON or not.  ``truncated`` marks a
    call that was cut off by a token limit: it must never run, even if its text parses.
    """

    id: str
    name: str
    arguments: str = "{}"
    truncated: bool = False
    type: Literal["tool_call"] = "tool_call"


UserPart: TypeAlias = Text | Image | Audio | File
AssistantPart: TypeAlias = Text | Reasoning | Refusal | ToolCall | Opaque


class _Encodable:
    """Room for what encoders remember, so that a history is encoded once.

    A memo of an immutable value, not state: outside equality, ``repr``, copies and
    JSON.  Two threads may both fill it; they write the same.
    """

    __slots__ = ("_memo",)
    _memo: dict[str, object]

    @property
    def memo(self) -> dict[str, object]:
        """What encoders remember of this message, under keys of their own."""
        try:
            return self._memo
        except AttributeError:
            memo: dict[str, object] = {}
            object.__setattr__(self, "_memo", memo)
            return memo


@dataclass(frozen=True, slots=True, kw_only=True)
class SystemMessage(_Encodable):
    """Instructions to the model."""

    content: tuple[Text, ...]
    role: Literal["system"] = "system"
    id: str = field(default_factory=_new_id, compare=False)
    mark: Mark | None = field(default=None, compare=False)

    @classmethod
    def of(cls, text: str) -> SystemMessage:
        """Make a message of ``text``."""
        return cls(content=(Text(text=text),))

    @property
    def text(self) -> str:
        """The text parts, joined."""
        return "".join(part.text for part in self.content)


@dataclass(frozen=True, slots=True, kw_only=True)
class UserMessage(_Encodable):
    """What the user said or showed."""

    content: tuple[UserPart, ...]
    role: Literal["user"] = "user"
    id: str = field(default_factory=_new_id, compare=False)
    mark: Mark | None = field(default=None, compare=False)

    @classmethod
    def of(cls, *parts: str | UserPart) -> UserMessage:
        """Make a message of texts and other parts, in this order."""
        return cls(content=tuple(_part(part) for part in parts))

    @property
    def text(self) -> str:
        """The text parts, joined."""
        return "".join(part.text for part in self.content if isinstance(part, Text))


@dataclass(frozen=True, slots=True, kw_only=True)
class AssistantMessage(_Encodable):
    """What the model said: text, thoughts and tool calls, in the order it sent them."""

    content: tuple[AssistantPart, ...]
    role: Literal["assistant"] = "assistant"
    id: str = field(default_factory=_new_id, compare=False)
    mark: Mark | None = field(default=None, compare=False)

    @classmethod
    def of(cls, *parts: str | AssistantPart) -> AssistantMessage:
        """Make a message of texts and other parts, in this order."""
        return cls(content=tuple(_part(part) for part in parts))

    @property
    def text(self) -> str:
        """The text parts, joined; reasoning and refusal are not in it."""
        return "".join(part.text for part in self.content if isinstance(part, Text))

    @property
    def reasoning(self) -> str:
        """The reasoning parts, joined."""
        return "".join(
            part.text for part in self.content if isinstance(part, Reasoning)
        )

    @property
    def refusal(self) -> str:
        """The refusal parts, joined."""
        return "".join(part.text for part in self.content if isinstance(part, Refusal))

    @property
    def tool_calls(self) -> tuple[ToolCall, ...]:
        """The calls, in the order the model made them."""
        return tuple(part for part in self.content if isinstance(part, ToolCall))


@dataclass(frozen=True, slots=True, kw_only=True)
class ToolMessage(_Encodable):
    """The result of one tool call."""

    content: tuple[UserPart, ...]
    tool_call_id: str
    name: str
    is_error: bool = False
    role: Literal["tool"] = "tool"
    id: str = field(default_factory=_new_id, compare=False)
    mark: Mark | None = field(default=None, compare=False)

    @classmethod
    def of(
        cls, *parts: str | UserPart, call: ToolCall, is_error: bool = False
    ) -> ToolMessage:
        """Make the answer to ``call``."""
        return cls(
            content=tuple(_part(part) for part in parts),
            tool_call_id=call.id,
            name=call.name,
            is_error=is_error,
        )

    @property
    def text(self) -> str:
        """The text parts, joined."""
        return "".join(part.text for part in self.content if isinstance(part, Text))


Message: TypeAlias = SystemMessage | UserMessage | AssistantMessage | ToolMessage


def _part(part: str | _Part) -> Text | _Part:
    return Text(text=part) if isinstance(part, str) else part
