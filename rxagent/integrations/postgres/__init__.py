"""Documents in PostgreSQL, by pgvector; install ``rxagent[postgres]``."""

from rxagent.integrations.postgres.documents import PostgresDocuments

__all__ = ["PostgresDocuments"]
