"""What an answer shall be: a type, its schema, and whether a text is one of it."""

from rxagent.output.output_type import OutputType, list_of, output_type
from rxagent.output.shapes import WRAP

__all__ = ["WRAP", "OutputType", "list_of", "output_type"]
