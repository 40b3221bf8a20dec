"""For tests of your own: a scripted model, cassettes, the laws, and cuts anywhere."""

from rxagent.testing._answer_store_contract import assert_answer_store_contract
from rxagent.testing._cassette import Cassette
from rxagent.testing._cut_anywhere import assert_cut_anywhere, every_cut
from rxagent.testing._guard_laws import assert_guard_laws
from rxagent.testing._index_contract import (
    assert_index_contract,
    assert_vector_contract,
    uneven_vectors,
)
from rxagent.testing._laws import (
    assert_advisor_laws,
    assert_exchange_laws,
    assert_grammar,
)
from rxagent.testing._operator_laws import assert_operator_laws
from rxagent.testing._scripted_model import Reply, ScriptedModel, Step, tool_call
from rxagent.testing._store_contract import assert_store_contract

__all__ = [
    "Cassette",
    "Reply",
    "ScriptedModel",
    "Step",
    "assert_advisor_laws",
    "assert_answer_store_contract",
    "assert_cut_anywhere",
    "assert_exchange_laws",
    "assert_grammar",
    "assert_guard_laws",
    "assert_index_contract",
    "assert_operator_laws",
    "assert_store_contract",
    "assert_vector_contract",
    "every_cut",
    "tool_call",
    "uneven_vectors",
]
