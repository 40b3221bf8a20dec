"""Stages: what happens between a question and the documents that answer it.

Each is an operator over a `Retrieval`, so they are put together as operators are, and
any operator of RxPY may stand among them::

    just(Retrieval.of(Query(text="..."))).pipe(rewrite(model), retrieve(index.search))

`rxagent.advisors.rag` makes an advisor of a list of them.
"""

from rxagent.stages._as_retriever import as_retriever
from rxagent.stages._by_score import by_score
from rxagent.stages._compress import COMPRESS_INSTRUCTIONS, compress
from rxagent.stages._diversify import diversify
from rxagent.stages._expand import EXPAND_INSTRUCTIONS, expand
from rxagent.stages._fit import fit
from rxagent.stages._judge import JUDGE_INSTRUCTIONS, judge
from rxagent.stages._rerank import Relevance, rerank
from rxagent.stages._retrieval import Retrieval
from rxagent.stages._retrieve import retrieve
from rxagent.stages._rewrite import REWRITE_INSTRUCTIONS, rewrite
from rxagent.stages._route import route
from rxagent.stages._stage import AnyStage, Stage
from rxagent.stages._translate import translate
from rxagent.stages._widen import widen

__all__ = [
    "COMPRESS_INSTRUCTIONS",
    "EXPAND_INSTRUCTIONS",
    "JUDGE_INSTRUCTIONS",
    "REWRITE_INSTRUCTIONS",
    "AnyStage",
    "Relevance",
    "Retrieval",
    "Stage",
    "as_retriever",
    "by_score",
    "compress",
    "diversify",
    "expand",
    "fit",
    "judge",
    "rerank",
    "retrieve",
    "rewrite",
    "route",
    "translate",
    "widen",
]
