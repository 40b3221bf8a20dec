"""Reactive streams for LLM agents: an agent is an RxPY operator."""
