"""Conversations in Redis; install ``rxagent[redis]``."""

from rxagent.integrations.redis.store import RedisStore

__all__ = ["RedisStore"]
