"""Memory: where conversations are kept, and how much of them a model sees."""

from rxagent.memory._memory_store import MemoryStore
from rxagent.memory._sqlite_store import SqliteStore
from rxagent.memory.branches import fork, rollback
from rxagent.memory.conversation import Conversation, ConversationInfo
from rxagent.memory.lines import all_conversations, export_lines, import_lines
from rxagent.memory.store import ConversationStore

__all__ = [
    "Conversation",
    "ConversationInfo",
    "ConversationStore",
    "MemoryStore",
    "SqliteStore",
    "all_conversations",
    "export_lines",
    "fork",
    "import_lines",
    "rollback",
]
