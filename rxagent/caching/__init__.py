"""Caching: answers that were given before, and the questions that they answer."""

from rxagent.caching._memory_answers import MemoryAnswers
from rxagent.caching._sqlite_answers import SqliteAnswers
from rxagent.caching.answer import KeptAnswer
from rxagent.caching.questions import QuestionIndex
from rxagent.caching.sameness import Same, same_facts
from rxagent.caching.store import AnswerStore

__all__ = [
    "AnswerStore",
    "KeptAnswer",
    "MemoryAnswers",
    "QuestionIndex",
    "Same",
    "SqliteAnswers",
    "same_facts",
]
