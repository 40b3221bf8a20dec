"""Memory: where conversations are kept, and how much of them a model sees."""

from rxagent.memory._memory_store import MemoryStore
from rxagent.memory.conversation import Conversation, ConversationInfo
from rxagent.memory.store import ConversationStore

__all__ = ["Conversation", "ConversationInfo", "ConversationStore", "MemoryStore"]
