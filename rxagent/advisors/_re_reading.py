from __future__ import annotations

from dataclasses import replace

from rxagent.chain import before
from rxagent.errors import ConfigurationError
from rxagent.messages import Text
from rxagent.named import named
from rxagent.requests import ChatRequest
from rxagent.types import Advisor

RE2 = "{question}\nRead the question again: {question}"


def re_reading(template: str = RE2) -> Advisor:
    """Ask the question twice, which makes some models read it better.

    ::

        --q-----------|
        [ re_reading() ]                  inner sees q twice and answers --a--b--F|
        ----a--b--F---|

    Only the message that opens the turn is rewritten, and only if it is plain text: a
    resumed turn, a later round and a message with media pass as they are.

    Args:
        template: ``{question}`` stands for the text; other braces are literal.

    Returns:
        An advisor.

    Raises:
        ConfigurationError: If the template has no ``{question}``.

    Source: Xu et al., "Re-Reading Improves Reasoning in Large Language Models", 2023.
    """
    if "{question}" not in template:
        raise ConfigurationError(
            f"the template of re_reading needs '{{question}}', got {template!r}"
        )

    def reread(request: ChatRequest) -> ChatRequest:
        entry = request.entry
        if entry is None or not all(isinstance(part, Text) for part in entry.content):
            return request
        # Not str.format: the question may hold braces of its own.
        text = entry.text.join(template.split("{question}"))
        again = replace(entry, content=(Text(text=text),))
        return replace(request, messages=(*request.messages[:-1], again))

    return named("re_reading", before(reread))
