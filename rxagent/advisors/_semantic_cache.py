from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial

from reactivex import Observable

from rxagent.advisors._caching import caching, check_store
from rxagent.caching import AnswerStore, KeptAnswer, QuestionIndex, same_facts
from rxagent.caching.fingerprint import Fingerprint, KeyOf
from rxagent.caching.sameness import Same
from rxagent.choices import check_callable, check_has
from rxagent.errors import ConfigurationError
from rxagent.named import Order, name_of, named
from rxagent.operators import concat_each, just
from rxagent.retrieval import Document, Field, Query, within
from rxagent.tools.rules import check_seconds
from rxagent.types import Advisor

_SURROUNDINGS = "rxagent_cache"  # the name in the metadata of what is indexed
_CANDIDATES = 8  # close ones may differ in a number from what is asked, all of them


def semantic_cache(
    store: AnswerStore,
    index: QuestionIndex,
    *,
    namespace: str,
    threshold: float = 0.95,
    check: Same = same_facts,
    key: KeyOf | None = None,
    ttl_s: float | None = 3600.0,
    tools: bool = False,
) -> Advisor:
    """Answer what was asked before in other words without asking again.

    ::

        --q-----------p---|
        [ semantic_cache(store, ...) ]    the rest answers q with --a--b--F|; p is q in
        ----a--b--F---(t,C)|              other words; t = ab; C is F, cached

    It is an `exact_cache` that, if it has no answer, looks for a question that is close
    to this one.  Only the words of the question may differ, the message that opens the
    turn: all else that shapes an answer, the namespace and ``key`` included, must be
    equal.  A request that does not end with words of the user is looked up exactly.

    Close is not the same: "2+2" is close to "2+3".  What is found must be as close as
    ``threshold`` says and pass ``check``, and still may be wrong; how often depends on
    the embedder and on what people ask.  Where a wrong answer costs more than a
    request, take `exact_cache`.

    Args:
        store: Where answers are kept.  Words of people are in it.
        index: Finds questions by their meaning, as `MemoryDocuments` does with an
            embedder; they stand in it as they were asked.  One whose answer is not in
            the store any more is forgotten when it is found.
        namespace: As of `exact_cache`.
        threshold: Least cosine of two questions with one answer, above 0 and up to 1.
            It depends on the embedder; measure it with questions of your own.
        check: Takes what is asked and what was asked before, and says whether nothing
            speaks against one answer for both; by default numbers, negations and names
            must be the same, see `rxagent.caching.same_facts`.
        key: As of `exact_cache`.
        ttl_s: As of `exact_cache`.
        tools: As of `exact_cache`.

    Returns:
        An advisor.  If the store, the index or its embedder fails that is logged, and
        the rest is asked; all else is as with `exact_cache`.

    Raises:
        ConfigurationError: If ``threshold`` or ``ttl_s`` makes no sense, ``store`` or
            ``index`` is none, ``namespace`` no text, or ``key`` or ``check`` is no
            function.
    """
    check_store(store)
    check_has("index", index, "by_vector", such_as="an index, such as MemoryDocuments")
    check_seconds("ttl_s", ttl_s)
    check_callable("check", check, may_be_none=False)
    cosine: object = threshold
    is_number = isinstance(cosine, int | float) and not isinstance(cosine, bool)
    if not is_number or not 0 < threshold <= 1:
        raise ConfigurationError(
            f"threshold must be more than 0 and at most 1, got {threshold!r}"
        )

    def look(asked: Fingerprint) -> Observable[KeptAnswer | None]:
        def or_close(found: KeptAnswer | None) -> Observable[KeptAnswer | None]:
            if found is not None or asked.question is None:
                return just(found)
            mine = Field(_SURROUNDINGS) == asked.surroundings
            near = within(index.by_vector, mine)
            query = Query(text=asked.question, top_k=_CANDIDATES)
            first = partial(first_good, asked.question)
            return near(query).pipe(concat_each(first))

        return store.get(asked.key).pipe(concat_each(or_close))

    def first_good(
        question: str, documents: Sequence[Document]
    ) -> Observable[KeptAnswer | None]:
        for place, each in enumerate(documents):
            score = 0 if each.score is None else each.score
            if score >= threshold and check(question, each.text):
                others = partial(first_good, question, documents[place + 1 :])
                or_next = partial(or_forget, each.id, others)
                return store.get(each.id).pipe(concat_each(or_next))
        return just(None)

    def or_forget(
        dead: str,
        others: Callable[[], Observable[KeptAnswer | None]],
        found: KeptAnswer | None,
    ) -> Observable[KeptAnswer | None]:
        if found is not None:
            return just(found)
        # Its answer is too old, or was cleared away; another one's may be there.
        return index.delete([dead]).pipe(concat_each(lambda _: others()))

    def keep(asked: Fingerprint, answer: KeptAnswer) -> Observable[object]:
        def note(gone: Sequence[str]) -> Observable[object]:
            if asked.question is None:
                return forget(gone)
            question = Document(
                id=asked.key,
                text=asked.question,
                metadata={_SURROUNDINGS: asked.surroundings},
            )
            return forget(gone).pipe(concat_each(lambda _: index.add([question])))

        return store.put(asked.key, answer, ttl_s=ttl_s).pipe(concat_each(note))

    def forget(gone: Sequence[str]) -> Observable[int]:
        return index.delete(gone) if gone else just(0)

    return named(
        "semantic_cache",
        caching(look=look, keep=keep, namespace=namespace, key=key, tools=tools),
        settings=(
            f"namespace={namespace!r}, threshold={threshold}, "
            f"check={name_of(check)}, ttl_s={ttl_s}, tools={tools}"
        ),
        order=Order.CACHE,
    )
