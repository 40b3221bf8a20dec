"""Which tools a request sounds like, by spelling alone."""

from __future__ import annotations

import math
import re
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from typing import TypeAlias

from rxagent.requests import ToolSpec
from rxagent.wire.json_text import is_array, is_object

__all__ = ["Ranking", "by_spelling"]

Ranking: TypeAlias = Callable[[str, Sequence[ToolSpec]], Sequence[ToolSpec]]
"""From a request and tools to the tools in the order of likelihood, or some of them."""

_WORD = re.compile(r"[^\W_]+")


def by_spelling(request: str, tools: Sequence[ToolSpec]) -> Sequence[ToolSpec]:
    """Sort tools by what their texts have in common with a request.

    It compares runs of three characters, so that it needs neither a list of words nor
    to know the language.  Equally likely tools keep their order.

    Args:
        request: What the user said.
        tools: Compared by name, description and parameters.

    Returns:
        All of them, the most likely first.
    """
    texts = [_trigrams(_words_of(tool)) for tool in tools]
    occurrences = Counter(part for text in texts for part in text)
    asked = _trigrams(request)

    def likeness(at: int) -> float:
        text = texts[at]
        shared = sum(
            math.log(1 + len(tools) / occurrences[part]) for part in asked & text
        )
        return shared / math.sqrt(len(text) or 1)

    order = sorted(range(len(tools)), key=likeness, reverse=True)
    return [tools[at] for at in order]


def _trigrams(text: str) -> frozenset[str]:
    words = (f" {word} " for word in _WORD.findall(text.casefold()))
    return frozenset(word[at : at + 3] for word in words for at in range(len(word) - 2))


def _words_of(tool: ToolSpec) -> str:
    words = [tool.name, tool.description]
    properties = tool.parameters.get("properties")
    if is_object(properties):
        for name, schema in properties.items():
            words.append(name)
            if is_object(schema):
                words += _words_in(schema)
    return " ".join(words)


def _words_in(schema: Mapping[str, object]) -> list[str]:
    values = schema.get("enum")
    about = [schema.get("description"), *(values if is_array(values) else ())]
    return [each for each in about if isinstance(each, str)]
