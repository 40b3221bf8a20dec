"""Ollama's own format: what its compatible endpoints cannot say, this one can."""

from rxagent.wire.ollama.dialect import OllamaDialect
from rxagent.wire.ollama.embeddings import OllamaEmbeddingsDialect

__all__ = ["OllamaDialect", "OllamaEmbeddingsDialect"]
