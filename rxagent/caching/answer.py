"""What a cache keeps of an answer."""

from __future__ import annotations

import json
from dataclasses import dataclass, field
from typing import Literal, TypeAlias

from rxagent.errors import HistoryError
from rxagent.history import dump_messages, load_messages
from rxagent.messages import AssistantMessage

__all__ = ["Channel", "KeptAnswer", "dump_answer", "load_answer"]

Channel: TypeAlias = Literal["text", "reasoning"]


@dataclass(frozen=True, slots=True, kw_only=True)
class KeptAnswer:
    """An answer, and what was delivered of it.  Its ``repr`` shows no words.

    Args:
        message: What the model said.
        delivered: What left the cache's place, piece by piece: a guard on its right may
            have changed the text.
        finish_reason_raw: The provider's own word.
        model: The model that answered.
        id: The provider's id of the answer.
    """

    message: AssistantMessage = field(repr=False)
    delivered: tuple[tuple[Channel, str], ...] = field(default=(), repr=False)
    finish_reason_raw: str | None = None
    model: str | None = None
    id: str | None = None


def dump_answer(answer: KeptAnswer) -> str:
    """Encode an answer.

    Args:
        answer: Any.

    Returns:
        A JSON object in ASCII, on one line.
    """
    return json.dumps(
        {
            "message": json.loads(dump_messages((answer.message,)))[0],
            "delivered": answer.delivered,
            "finish_reason_raw": answer.finish_reason_raw,
            "model": answer.model,
            "id": answer.id,
        }
    )


def load_answer(data: str | bytes) -> KeptAnswer:
    """Decode what `dump_answer` encoded.

    Args:
        data: A JSON object.

    Returns:
        An equal answer.

    Raises:
        HistoryError: If it is anything else.
    """
    try:
        whole = json.loads(data)
        [message] = load_messages(json.dumps([whole["message"]]))
        if not isinstance(message, AssistantMessage):
            raise HistoryError("message", f"is one of role {message.role!r}")
        return KeptAnswer(
            message=message,
            delivered=tuple(
                (_channel(channel), str(text)) for channel, text in whole["delivered"]
            ),
            finish_reason_raw=whole["finish_reason_raw"],
            model=whole["model"],
            id=whole["id"],
        )
    except (KeyError, TypeError, ValueError, RecursionError) as error:
        if isinstance(error, HistoryError):
            raise
        problem = f"{type(error).__name__} {error}"
        raise HistoryError("a kept answer", problem) from None


def _channel(word: object) -> Channel:
    if word == "text":
        return "text"
    if word == "reasoning":
        return "reasoning"
    raise ValueError(f"{word!r} is no channel")
