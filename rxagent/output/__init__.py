"""What an answer shall be: a type, its schema, and whether a text is one of it."""

from rxagent.output.output_type import OutputType, output_type

__all__ = ["OutputType", "output_type"]
