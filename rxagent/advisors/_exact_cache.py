from __future__ import annotations

from reactivex import Observable

from rxagent.advisors._caching import caching, check_store
from rxagent.caching import AnswerStore, KeptAnswer
from rxagent.caching.fingerprint import Fingerprint, KeyOf
from rxagent.named import Order, named
from rxagent.tools.rules import check_seconds
from rxagent.types import Advisor


def exact_cache(
    store: AnswerStore,
    *,
    namespace: str,
    key: KeyOf | None = None,
    ttl_s: float | None = 3600.0,
    tools: bool = False,
) -> Advisor:
    """Answer what was asked before without asking again.

    ::

        --q-----------q---|
        [ exact_cache(store, ...) ]       the rest answers once, with --a--b--F|
        ----a--b--F---(t,C)|              t = ab; C is F, cached

    Two requests are the same if all messages are equal, and the tools, the options, the
    namespace, and what ``key`` says.  An answer is kept before its `Finished` is told,
    if it is whole and good: it ended by itself, with text, and was not blocked, refused
    or cut.  What was retracted is not in it.  From the store it comes as it was
    delivered here, in one delta for each run of text or reasoning, with
    ``response.cached`` and a usage of no request.

    Of those who ask the same at once one asks the rest, and the others wait until its
    answer is kept.  If it fails or is left, the next one asks; if its answer is not one
    to keep, all do.  That holds for one process.

    Left of the tool loop it keeps the answers of turns, right of it those of single
    requests to the model.  Put it right of what adds to the request, such as `memory`:
    what is added is part of what is asked, and a memory on the left stores the turn.

    Args:
        store: Where answers are kept: `MemoryAnswers`, `SqliteAnswers` or another one.
            Words of people are in it.
        namespace: What answers, as far as the request does not say it: the model, the
            advisors on the right, what the tools have access to.  Caches that share a
            store and a namespace share answers.
        key: What tells requests apart besides their messages, tools and options: a
            function of the request, such as ``lambda asked: asked.context[TENANT]``.
            By default the whole context, so that nobody gets an answer to somebody
            else.
        ttl_s: For how many seconds an answer is good; ``None`` is for ever.
        tools: Keep answers for which tools have run, too; then those who get them do
            not run the tools.  By default such a turn is asked each time.

    Returns:
        An advisor.  If the store fails that is logged, and the rest is asked.  A
        request whose ``key`` has no digest passes by, and that is logged as well; an
        exception of ``key`` is the error of the stream.  A turn that is resumed passes
        by.

    Raises:
        ConfigurationError: If ``ttl_s`` is no time, ``store`` no store, ``namespace``
            no text, or ``key`` no function.
    """
    check_store(store)
    check_seconds("ttl_s", ttl_s)

    def look(asked: Fingerprint) -> Observable[KeptAnswer | None]:
        return store.get(asked.key)

    def keep(asked: Fingerprint, answer: KeptAnswer) -> Observable[object]:
        return store.put(asked.key, answer, ttl_s=ttl_s)

    return named(
        "exact_cache",
        caching(look=look, keep=keep, namespace=namespace, key=key, tools=tools),
        settings=f"namespace={namespace!r}, ttl_s={ttl_s}, tools={tools}",
        order=Order.CACHE,
    )
