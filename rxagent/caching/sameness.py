"""Whether two questions that sound alike are about the same."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from typing import TypeAlias

__all__ = ["Same", "same_facts"]

Same: TypeAlias = Callable[[str, str], bool]
"""Takes what is asked and what was asked before: whether one answer is good for both."""

_WORD = re.compile(r"\w+(?:['’.,:]\w+)*")
# A sign between two letters, as in "and/or" and "follow-up", is a matter of spelling.
_SIGN = re.compile(r"(?<![^\W\d_])[-−/]|[-−/](?![^\W\d_])|[+*=<>^%×÷±≠≤≥€$£¥#@&]")
_STARTS_SENTENCE = re.compile(r"(?:^|[.?!:;¿¡\n])[\s\"'“„«(]*$")
_NOT_LATIN = re.compile("[不没沒無无未]|ない|ません|않|없")
_NOT = frozenset(
    # English, German, French, Spanish, Italian, Portuguese, Dutch, Russian
    "no not never none nobody nothing neither nor without cannot except unless "
    "nicht nichts kein keine keinen keinem keiner nie niemals ohne weder ausser außer "
    "ne pas jamais sans aucun aucune rien sauf "
    "nunca sin jamás ningún ninguno ninguna nada "
    "non mai senza nessun nessuno nessuna niente "
    "não sem nenhum nenhuma "
    "niet geen nooit zonder "
    "не нет без никогда ничего".split()
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
        and _negations(asked) == _negations(known)
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


def _negations(text: str) -> int:
    return sum(map(len, (list(_negated(text)), _NOT_LATIN.findall(text))))


def _negated(text: str) -> Iterator[str]:
    for match in _WORD.finditer(text):
        word = match[0].casefold().replace("’", "'")
        if word in _NOT or word.endswith("n't") or word.startswith("n'"):
            yield word


def _digit(word: str) -> bool:
    return any(each.isdigit() for each in word)
