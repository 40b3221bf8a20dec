"""Facts that nobody could know, found by a real encoder; and a control without them."""

from __future__ import annotations

import re

import pytest

from rxagent.advisors import QA_DOCUMENTS, question_answer
from rxagent.agent import Agent
from rxagent.models import LocalEmbeddings
from rxagent.requests import ChatRequest
from rxagent.retrieval import Document, MemoryDocuments, Query
from rxagent.runtime import run
from rxagent.testing import ScriptedModel

FACTS = {
    "coffee": "The Nimbus-7 is to be freed of lime every 42 days.",
    "kettle": "In a Stratus kettle, water is hot after 91 seconds.",
    "founder": "Quillon Aerodyne was founded by Mirabel Ostrander.",
    "ferry": "The ferry from Lunmark to Sorrow Isle leaves on odd days only.",
}
QUESTIONS = [
    ("How often must I descale my coffee machine, the Nimbus-7?", "coffee", "42"),
    ("Who started the company Quillon Aerodyne?", "founder", "Mirabel"),
    ("On which days does the boat to Sorrow Isle go?", "ferry", "odd"),
    ("Wie lange braucht der Stratus, bis das Wasser heiß ist?", "kettle", "91"),
]
DOCUMENTS = [Document(id=name, text=text) for name, text in FACTS.items()]


def read(request: ChatRequest) -> str:
    """A model that knows nothing: what it says stands in its prompt."""
    lines = request.messages[-1].text.splitlines()
    known = [line for line in lines if line in FACTS.values()]
    return known[0] if known else "I do not know."


@pytest.fixture(scope="module")
def index() -> MemoryDocuments:
    by_meaning = MemoryDocuments(LocalEmbeddings())
    run(by_meaning.add(DOCUMENTS))
    return by_meaning


@pytest.mark.parametrize(("question", "name", "fact"), QUESTIONS)
def test_a_made_up_fact_is_told_and_without_documents_it_is_not(
    index: MemoryDocuments, question: str, name: str, fact: str
) -> None:
    """S000-101: the control differs in nothing but the search."""
    model = ScriptedModel(read, repeat_last=True)
    advisor = question_answer(index.search, top_k=1)

    grounded = Agent(model, advisors=[advisor]).call(question).run()
    control = Agent(model).call(question).run()

    assert [each.id for each in grounded.context[QA_DOCUMENTS]] == [name]
    assert re.search(rf"\b{fact}\b", grounded.text)
    assert control.text == "I do not know."


def test_the_encoder_finds_what_no_word_says(index: MemoryDocuments) -> None:
    """In another language too: words alone do not find it."""
    by_words = MemoryDocuments()
    run(by_words.add(DOCUMENTS))
    question = Query(text="Wann fährt das Schiff zur Insel?", top_k=1)

    assert run(by_words.search(question)) == ()
    assert [each.id for each in run(index.search(question))] == ["ferry"]
