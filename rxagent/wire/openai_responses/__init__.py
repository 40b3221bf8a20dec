"""OpenAI's Responses: an answer is a list of items, and each is named by its events."""

from rxagent.wire.openai_responses.dialect import OpenAIResponsesDialect

__all__ = ["OpenAIResponsesDialect"]
