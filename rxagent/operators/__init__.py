"""Operators over streams of events: no IO, no vendor, no clock but the scheduler's."""

from rxagent.operators._coalesce import coalesce
from rxagent.operators._collect_text import collect_text
from rxagent.operators._concat_each import concat_each
from rxagent.operators._expand_rounds import expand_rounds
from rxagent.operators._fuse import fuse
from rxagent.operators._just import just
from rxagent.operators._one_finished import one_finished
from rxagent.operators._responses import responses
from rxagent.operators._retry_backoff import retry_backoff
from rxagent.operators._texts import texts
from rxagent.operators._timeouts import timeouts
from rxagent.operators._transduce import transduce

__all__ = [
    "coalesce",
    "collect_text",
    "concat_each",
    "expand_rounds",
    "fuse",
    "just",
    "one_finished",
    "responses",
    "retry_backoff",
    "texts",
    "timeouts",
    "transduce",
]
