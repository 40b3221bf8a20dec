"""Asking a model for a few words, on the way to the documents."""

from __future__ import annotations

from dataclasses import dataclass

from reactivex import Observable
from reactivex import operators as ops

from rxagent.messages import SystemMessage, UserMessage
from rxagent.operators import just, one_finished, responses
from rxagent.requests import ChatRequest
from rxagent.responses import ChatResponse, FinishReason
from rxagent.stages._retrieval import Retrieval
from rxagent.types import Exchange
from rxagent.usage import Usage

_NO_WORDS: frozenset[FinishReason] = frozenset(
    {"blocked", "content_filter", "refusal", "length"}
)


@dataclass(frozen=True, slots=True, kw_only=True)
class Said:
    """What a model said.

    Args:
        text: Without spaces at its ends; empty if it would not answer, or not to the
            end: a refusal is nothing to search for.
        usage: Tokens.
    """

    text: str
    usage: Usage


def ask_model(
    model: Exchange, text: str, *, stage: str, instructions: str, retrieval: Retrieval
) -> Observable[Said]:
    """Ask a model for words.

    Args:
        model: Any exchange.
        text: What it is to work on.
        stage: Who asks; for errors.
        instructions: What it is to do.
        retrieval: In the course of which.

    Returns:
        A cold observable that emits once.
    """
    messages = (SystemMessage.of(instructions), UserMessage.of(text))
    request = ChatRequest(messages=messages, origin=retrieval.origin)
    return just(request).pipe(model, one_finished(stage), responses(), ops.map(_said))


def _said(response: ChatResponse) -> Said:
    has_words = response.finish_reason not in _NO_WORDS
    text = response.text.strip() if has_words else ""
    return Said(text=text, usage=response.usage)
