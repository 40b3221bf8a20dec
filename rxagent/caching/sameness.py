"""Whether two questions that sound alike are about the same."""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import TypeAlias

__all__ = ["Same", "same_facts"]

Same: TypeAlias = Callable[[str, str], bool]
"""Takes what is asked and what was asked before: whether one answer is for both."""

_WORD = re.compile(r"\w+(?:['’.,:]\w+)*")
# A sign between two letters, as in "and/or" and "follow-up", is a matter of spelling.
_SIGN = re.compile(r"(?<![^\W\d_])[-−/]|[-−/](?![^\W\d_])|[+*=<>^%×÷±≠≤≥€$£¥#@&]")
_STARTS_SENTENCE = re.compile(r"(?:^|[.?!:;¿¡\n])[\s\"'“„«(]*$")
_NEGATION = re.compile(
    r"""
    \b (?: no | not | never | none | nobody | nothing | neither | nor | without | cannot
    | except | unless
    | nicht | nichts | kein(?:e[mnrs]?)? | nie | niemals | ohne | weder | außer
    | ne | pas | jamais | sans | aucune? | rien | sauf
    | nunca | sin | jamás | ning[uú]n[oa]? | nada
    | non | mai | senza | nessun[oa]? | niente
    | não | sem | nenhuma?
    | niet | geen | nooit | zonder
    | не | нет | без | никогда | ничего ) \b
    | n['’]t\b | \bn['’](?=\w)
    | [不没沒無无未] | ない | ません | 않 | 없
    """,
    re.VERBOSE | re.IGNORECASE,
)


def same_facts(asked: str, known: str) -> bool:
    """Refuse what an embedder does not see: its vectors of such pairs are close.

    Both must have the same numbers and signs in the same order, as many negations, and
    the words that both have in the same order, so "from Rome to Oslo" is not "from Oslo
    to Rome".  No name may stand in one alone: a word with a capital letter that does
    not begin a sentence, or with a digit in it.

    It knows the negations of eight languages of Europe and some of China, Japan and
    Korea, and names where names alone are capital.  It refuses too much rather than too
    little: what is refused costs a request.  Yet it knows no meaning: "enable" and
    "disable" are words as all others, and so are names in small letters.

    Args:
        asked: The question.
        known: One that was answered before.

    Returns:
        Whether nothing speaks against one answer for both.
    """
    words, others = _words(asked), _words(known)
    return (
        _amounts(asked) == _amounts(known)
        and len(_NEGATION.findall(asked)) == len(_NEGATION.findall(known))
        and [each for each in words if each in others]
        == [each for each in others if each in words]
        and not any(words[each] for each in words.keys() - others.keys())
        and not any(others[each] for each in others.keys() - words.keys())
    )


def _amounts(text: str) -> list[str]:
    """Numbers and signs, in order."""
    found = [*_SIGN.finditer(text), *(w for w in _WORD.finditer(text) if _digit(w[0]))]
    return [each[0] for each in sorted(found, key=lambda each: each.start())]


def _words(text: str) -> dict[str, bool]:
    """The words, each once and in order, and whether it is a name."""
    words: dict[str, bool] = {}
    for match in _WORD.finditer(text):
        word = match[0]
        is_name = _digit(word) or any(each.isupper() for each in word[1:])
        if not is_name and word[0].isupper():
            is_name = not _STARTS_SENTENCE.search(text, 0, match.start())
        folded = word.casefold()
        words[folded] = words.get(folded, False) or is_name
    return words


def _digit(word: str) -> bool:
    return any(each.isdigit() for each in word)
