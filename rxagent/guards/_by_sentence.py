from __future__ import annotations

from collections.abc import Iterable
from functools import partial

from rxagent.errors import ConfigurationError
from rxagent.guards._named_guard import NamedGuard
from rxagent.guards._sentences import Sentences
from rxagent.guards._text_guard import TextGuard


def by_sentence(*, abbreviations: Iterable[str] = ()) -> TextGuard:
    """Deliver whole sentences, each as one piece.

    ::

        --a--b--c--(F,|)                  a = "Dr. Lee", b = " came. W", c = "hy?"
        [ guard(by_sentence()) ]
        -----x-----(y,F,|)                x = "Dr. Lee came. ", y = "Why?"

    The pieces are the same, however the text is cut, and joined they are the text.  A
    sentence ends with

    * ``.``, ``!`` or ``?``, closing quotes and brackets behind it, and then space;
    * the marks of Chinese, Japanese, Hindi, Arabic and other scripts, which need no
      space, and closing quotes and brackets behind them;
    * a line: what a model writes is not folded, so it is a heading, an item or a verse.

    It does not end within ``3.14``, ``e.g.``, an address or a file's name, nor behind
    an ellipsis, a common abbreviation, an initial, the number of a list's item, or a
    dot that a small letter follows.  The space behind a sentence belongs to it.  So a
    piece leaves with the first character of the next one.  Of Thai and its neighbours,
    which have no marks, lines leave.

    Args:
        abbreviations: After whose dot a sentence goes on, besides those of English,
            German, French, Spanish and others that are known; without that dot, in
            any case of letters.

    Returns:
        A text guard.  The last sentence leaves at the end of the text; an error and a
        disposal drop it.

    Raises:
        ConfigurationError: At the call, if ``abbreviations`` is a single string.

    Source: Unicode UAX 29, sentence boundaries, without its tables: rules SB4, SB6 to
        SB11, and abbreviations; unlike it, a mark of ASCII needs a space behind it.
    """
    if isinstance(abbreviations, str):
        raise ConfigurationError(
            f"by_sentence takes a list of abbreviations, got {abbreviations!r}"
        )
    more = frozenset(each.rstrip(".").casefold() for each in abbreviations)
    return NamedGuard(
        name="by_sentence",
        make=partial(Sentences, abbreviations=more),
        settings=f"abbreviations={len(more)}" if more else "",
    )
