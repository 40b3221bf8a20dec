"""Conversations in a SQL database; install ``rxagent[sql]`` and a driver."""

from rxagent.integrations.sql.store import SqlStore

__all__ = ["SqlStore"]
