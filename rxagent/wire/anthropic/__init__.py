"""Anthropic's Messages: the format of Claude, and of servers that speak like it."""

from rxagent.wire.anthropic.dialect import AnthropicDialect

__all__ = ["AnthropicDialect"]
