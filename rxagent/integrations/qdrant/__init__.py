"""Documents in Qdrant, a server or a folder; install ``rxagent[qdrant]``."""

from rxagent.integrations.qdrant.documents import QdrantDocuments

__all__ = ["QdrantDocuments"]
