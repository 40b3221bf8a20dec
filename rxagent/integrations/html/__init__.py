"""Text of HTML pages; install ``rxagent[html]``."""

from rxagent.integrations.html.reading import html_text, read_html

__all__ = ["html_text", "read_html"]
