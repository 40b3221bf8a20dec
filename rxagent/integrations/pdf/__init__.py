"""Text of PDF files; install ``rxagent[pdf]``."""

from rxagent.integrations.pdf.reading import read_pdf

__all__ = ["read_pdf"]
