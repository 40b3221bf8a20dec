from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterable

from reactivex import Observable

from rxagent.chain import around
from rxagent.errors import ConfigurationError
from rxagent.events import ChatEvent, Finished, TextDelta
from rxagent.messages import AssistantMessage
from rxagent.named import Order, named
from rxagent.operators import just
from rxagent.requests import ChatRequest
from rxagent.responses import ChatResponse
from rxagent.types import Advisor, Exchange

REFUSAL = "I can't help with that. Let's talk about something else."

_INVISIBLE = re.compile("[\u00ad\u034f\u061c\u115f\u1160\u17b4\u17b5\u180b-\u180f]")
_LOOK_ALIKES = str.maketrans(
    "аеорсухіјѕԁһԛԝνοαερτκιı",  # Cyrillic, Greek and the dotless i
    "aeopcyxijsdhqwvoaeptkii",
)


def safeguard(
    words: Iterable[str],
    *,
    refusal: str = REFUSAL,
    whole_prompt: bool = False,
    look_alikes: bool = True,
) -> Advisor:
    """Answer with a refusal, without calling the rest, if the request holds a word.

    ::

        --q----|
        [ safeguard(words) ]              q holds one of them
        --(t,F)|                          t = the refusal; F is blocked_by "safeguard"

    It looks at the message that opens the turn, not at history, system text or tool
    results, and not at the answer.  Letter case, width, accents' composition and
    invisible characters do not hide a word.  A list of words is a starting point, not a
    compliance barrier.

    Args:
        words: Each is looked for anywhere, also inside longer words.  Blank ones are
            ignored; with none, nothing is blocked.
        refusal: The answer's text.
        whole_prompt: Look at every message of the request, system text included.
        look_alikes: Read Cyrillic and Greek letters that look Latin as Latin.

    Returns:
        An advisor.  A blocked turn is a normal answer with ``finish_reason="blocked"``,
        no usage, and nothing in its transcript.

    Raises:
        ConfigurationError: If ``words`` is a single string.
    """
    if isinstance(words, str):
        raise ConfigurationError(
            f"safeguard takes a list of words, got the string {words!r}; "
            f"write safeguard([{words!r}])"
        )
    needles = [folded for word in words if (folded := _fold(word, look_alikes).strip())]

    def is_blocked(request: ChatRequest) -> bool:
        if whole_prompt:
            texts = [message.text for message in request.messages]
        else:
            texts = [request.entry.text] if request.entry else []
        return any(
            needle in text
            for text in (_fold(text, look_alikes) for text in texts)
            for needle in needles
        )

    def blocked(request: ChatRequest) -> Observable[ChatEvent]:
        response = ChatResponse(
            message=AssistantMessage.of(refusal),
            finish_reason="blocked",
            blocked_by="safeguard",
            context=request.context,
        )
        return just(
            TextDelta(text=refusal, origin=request.origin),
            Finished(response=response, origin=request.origin),
        )

    def handle(request: ChatRequest, inner: Exchange) -> Observable[ChatEvent]:
        if is_blocked(request):
            return blocked(request)
        return just(request).pipe(inner)

    return named(
        "safeguard",
        around(handle),
        settings=f"words={len(needles)}",
        order=Order.GUARD,
    )


def _fold(text: str, look_alikes: bool) -> str:
    """Reduce text to what a reader takes it for.  No locale is involved."""
    text = unicodedata.normalize("NFKC", text).casefold()
    text = "".join(char for char in text if unicodedata.category(char) != "Cf")
    text = _INVISIBLE.sub("", text)
    # İ folds to i with a dot above, which would hide the word that holds it.
    text = unicodedata.normalize("NFKC", text.replace("i\u0307", "i"))
    return text.translate(_LOOK_ALIKES) if look_alikes else text.replace("ı", "i")
