"""Memory: where conversations are kept, and how much of them a model sees."""
