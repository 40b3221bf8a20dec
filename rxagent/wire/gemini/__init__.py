"""Gemini's ``generateContent``, streamed and whole."""

from rxagent.wire.gemini.dialect import GeminiDialect

__all__ = ["GeminiDialect"]
