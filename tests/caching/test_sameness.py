"""Pairs that embedders take for the same, and those that are."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from rxagent.caching import same_facts

OTHERS = [
    ("What is 2+2?", "What is 2+3?"),
    ("What is 2+2?", "What is 2-2?"),
    ("What is 5 - 3?", "What is 3 - 5?"),
    ("Is 1.5 mg enough?", "Is 15 mg enough?"),
    ("What does item A1234 cost?", "What does item A1235 cost?"),
    ("What happened in 1914?", "What happened?"),
    ("Is aspirin safe for dogs?", "Is aspirin not safe for dogs?"),
    ("I can access my account", "I can't access my account"),
    ("I can access my account", "I can’t access my account"),
    ("Can I take ibuprofen with alcohol?", "Can I take ibuprofen without alcohol?"),
    ("Ist das erlaubt?", "Ist das nicht erlaubt?"),
    ("Est-ce permis?", "N'est-ce pas permis?"),
    ("这样做安全吗", "这样做不安全吗"),
    ("What is the capital of France?", "What is the capital of Germany?"),
    ("What did Alice say?", "What did Bob say?"),
    ("What did Alice say?", "What did she say?"),
    ("Does it run on macOS?", "Does it run on linux?"),
    ("by train from Paris to London", "by train from London to Paris"),
    ("by train from paris to london", "by train from london to paris"),
    ("Does alice owe bob money?", "Does bob owe alice money?"),
    ("Is a > b?", "Is a < b?"),
    ("How do I learn C?", "How do I learn C++?"),
]

SAME = [
    ("How do I reset my password?", "How can I reset my password?"),
    ("How do I reset my password?", "What do I do to reset my password?"),
    ("What's the weather in Oslo today?", "How is the weather in Oslo today?"),
    ("what is the capital of france", "What is the capital of France?"),
    ("Hello. What is it?", "Hello! Which one is it?"),
    ("What happened in 1914?", "What took place in 1914?"),
    ("a follow-up question", "a follow up question"),
    ("Is it not safe?", "Isn't it safe?"),
    ("", ""),
]


@pytest.mark.parametrize(("one", "other"), OTHERS)
def test_another_fact_is_another_question(one: str, other: str) -> None:
    assert not same_facts(one, other)
    assert not same_facts(other, one)


@pytest.mark.parametrize(("one", "other"), SAME)
def test_other_words_for_the_same_pass(one: str, other: str) -> None:
    assert same_facts(one, other)
    assert same_facts(other, one)


@given(st.text())
def test_a_question_is_about_the_same_as_itself(text: str) -> None:
    assert same_facts(text, text)


@given(st.text(), st.text())
def test_it_is_the_same_from_both_sides(one: str, other: str) -> None:
    assert same_facts(one, other) == same_facts(other, one)
