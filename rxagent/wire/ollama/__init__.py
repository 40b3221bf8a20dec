"""Ollama's own format: what its compatible endpoints cannot say, this one can."""

from rxagent.wire.ollama.dialect import OllamaDialect

__all__ = ["OllamaDialect"]
