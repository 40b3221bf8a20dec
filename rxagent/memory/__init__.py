"""Memory: where conversations are kept, and how much of them a model sees."""

from typing import TYPE_CHECKING

from rxagent.lazily import lazily

if TYPE_CHECKING:
    from rxagent.memory._lexical_embedder import LexicalEmbedder
    from rxagent.memory._memory_store import MemoryStore
    from rxagent.memory._sqlite_store import SqliteStore
    from rxagent.memory.branches import fork, rollback
    from rxagent.memory.conversation import Conversation, ConversationInfo
    from rxagent.memory.conversation_id import CONVERSATION_ID
    from rxagent.memory.healing import heal
    from rxagent.memory.lines import all_conversations, export_lines, import_lines
    from rxagent.memory.store import ConversationStore
    from rxagent.memory.tokens import CountTokens, estimate_tokens
    from rxagent.memory.windows import Window, last_messages, last_tokens, last_turns

__all__ = [
    "CONVERSATION_ID",
    "Conversation",
    "ConversationInfo",
    "ConversationStore",
    "CountTokens",
    "LexicalEmbedder",
    "MemoryStore",
    "SqliteStore",
    "Window",
    "all_conversations",
    "estimate_tokens",
    "export_lines",
    "fork",
    "heal",
    "import_lines",
    "last_messages",
    "last_tokens",
    "last_turns",
    "rollback",
]

if not TYPE_CHECKING:
    __getattr__ = lazily(
        __name__,
        {
            "_lexical_embedder": ["LexicalEmbedder"],
            "_memory_store": ["MemoryStore"],
            "_sqlite_store": ["SqliteStore"],
            "branches": ["fork", "rollback"],
            "conversation": ["Conversation", "ConversationInfo"],
            "conversation_id": ["CONVERSATION_ID"],
            "healing": ["heal"],
            "lines": ["all_conversations", "export_lines", "import_lines"],
            "store": ["ConversationStore"],
            "tokens": ["CountTokens", "estimate_tokens"],
            "windows": ["Window", "last_messages", "last_tokens", "last_turns"],
        },
    )
