"""What was said in conversations, as documents of an index.

A document has the fields ``conversation_id``, ``message_id`` and ``role``.
"""

from __future__ import annotations

import json

from rxagent.memory.versions import check_id
from rxagent.messages import AssistantMessage, UserMessage
from rxagent.retrieval.document import Document
from rxagent.retrieval.filters import Field, Filter

__all__ = [
    "MESSAGE_ID",
    "ROLE",
    "everything_said",
    "remembered",
    "remembered_id",
    "said_in",
]

_CONVERSATION_ID = "conversation_id"
MESSAGE_ID = "message_id"
ROLE = "role"


def remembered(
    conversation_id: str, message: UserMessage | AssistantMessage
) -> Document:
    """The document of a message.

    Args:
        conversation_id: In which it was said.
        message: Its words are kept, but for what no index can keep: NUL, and half a
            surrogate pair becomes a question mark.
    """
    words = message.text.replace("\0", "").encode(errors="replace").decode()
    return Document(
        id=remembered_id(conversation_id, message.id),
        text=words,
        metadata={
            _CONVERSATION_ID: conversation_id,
            MESSAGE_ID: message.id,
            ROLE: message.role,
        },
    )


def remembered_id(conversation_id: str, message_id: str) -> str:
    """The id of a message's document; two conversations may hold the same message."""
    return json.dumps([conversation_id, message_id])


def said_in(conversation_id: str) -> Filter:
    """What was said in one conversation.

    Raises:
        StoreError: If no store could keep a conversation by this id.
    """
    check_id(conversation_id)
    return Field(_CONVERSATION_ID) == conversation_id


def everything_said() -> Filter:
    """What was said in any conversation, and no other document of the index."""
    return Field(_CONVERSATION_ID).is_not_null()
