"""Tools whose arguments are the fields of a pydantic model."""

from __future__ import annotations

import subprocess
from datetime import date
from typing import Annotated, Any

import pytest
from pydantic import BaseModel, ConfigDict, Field, RootModel

from rxagent.agent import Agent
from rxagent.decisions import Reply as Answer
from rxagent.errors import ConfigurationError
from rxagent.requests import ToolSpec
from rxagent.runtime import Flow
from rxagent.testing import Reply, ScriptedModel, tool_call
from rxagent.tools import Tool, ToolContext, ToolEvent
from rxagent.tools.arguments import Misfit
from tests.tools.scene import answer, calling, ends


class Order(BaseModel):
    """Order an article."""

    model_config = ConfigDict(extra="forbid")

    article: str
    amount: Annotated[int, Field(ge=1, description="Pieces.")] = 1
    due: date | None = None


def place(order: Order, seen: ToolContext) -> str:
    return f"{order.amount} x {order.article} for {seen.context['user']}"


def test_a_pydantic_model_and_a_function_are_a_tool() -> None:
    """What the model is told is what is checked; the function gets an instance."""
    made = Tool.from_model(place, Order)
    call = calling("place", '{"article": "tea", "amount": "2"}')
    done = ends(list(Flow[ToolEvent].of(answer(call, made))))

    assert (made.name, made.description) == ("place", "Order an article.")
    assert made.context_parameter == "seen"
    assert made.parameters == {
        "type": "object",
        "additionalProperties": False,
        "properties": {
            "article": {"type": "string"},
            "amount": {
                "type": "integer",
                "minimum": 1,
                "default": 1,
                "description": "Pieces.",
            },
            "due": {
                "anyOf": [{"type": "string", "format": "date"}, {"type": "null"}],
                "default": None,
            },
        },
        "required": ["article"],
    }
    assert made.check({"article": "tea", "due": "2026-01-31"}) == {
        "order": Order(article="tea", due=date(2026, 1, 31))
    }
    assert [each.value for each in done] == ["2 x tea for eva"]


def test_arguments_that_miss_a_pydantic_model_are_named() -> None:
    found = Tool.from_model(place, Order).check({"amount": 0, "colour": "red"})

    assert isinstance(found, Misfit)
    assert str(found).splitlines() == [
        "- article: Field required",
        "- amount: Input should be greater than or equal to 1 (got '0')",
        "- colour: there is no such parameter; the parameters are article, amount, due",
    ]


def test_what_the_caller_says_of_a_tool_of_a_model_wins() -> None:
    async def run(order: Order) -> str:
        """Run an order."""
        return order.article

    made = Tool.from_model(run, Order, name="order", description="Buy.")

    assert Tool.from_model(run, Order).description == "Run an order."
    assert (made.name, made.description, made.runs) == ("order", "Buy.", "on_loop")


class Node(BaseModel):
    name: str
    children: list[Node] = []


def test_a_model_that_contains_itself_is_an_object_all_the_same() -> None:
    made = Tool.from_model(lambda node: node, Node, name="walk")
    tree: dict[str, object] = {"name": "a", "children": [{"name": "b", "children": []}]}

    assert made.parameters["type"] == "object"
    assert "$ref" not in made.parameters
    assert made.check(tree) == {"node": Node.model_validate(tree)}


class Opaque(BaseModel):
    model_config = ConfigDict(arbitrary_types_allowed=True)

    handle: subprocess.Popen[bytes]


@pytest.mark.parametrize(
    ("function", "model", "says"),
    [
        (lambda: None, Order, "'x': its function takes no argument by name"),
        (lambda *_: None, Order, "'x': its function takes no argument by name"),
        (
            print,
            RootModel[list[int]],
            r"'x': RootModel\[list\[int\]\] is no JSON object",
        ),
        (lambda it: it, Opaque, "'x': no JSON Schema can express"),
    ],
)
def test_what_is_no_tool_of_a_model_is_refused(
    function: Any, model: type[BaseModel], says: str
) -> None:
    with pytest.raises(ConfigurationError, match=says):
        Tool.from_model(function, model, name="x")


def test_a_tool_of_a_lambda_and_a_model_needs_a_name() -> None:
    with pytest.raises(ConfigurationError, match="'<lambda>': providers take"):
        Tool.from_model(lambda order: order, Order)


def test_a_tool_that_runs_elsewhere_is_told_of_by_a_pydantic_model_too() -> None:
    """A declared tool is a name, a description and a schema, whoever wrote it."""
    spec = ToolSpec(
        name="order",
        description="Order an article.",
        parameters=Order.model_json_schema(),
    )
    call = tool_call("order", article="tea", amount=2)
    agent = Agent(ScriptedModel(Reply(calls=(call,)), "ordered"), tools=[spec])
    snapshot = agent.call("Tea!").run().snapshot
    assert snapshot is not None
    waiting = snapshot.message.tool_calls[0]

    assert Order.model_validate_json(waiting.arguments) == Order(
        article="tea", amount=2
    )
    decisions = {waiting.id: Answer("done")}
    assert [type(e).__name__ for e in agent.resume(snapshot, decisions)][-1] == (
        "Finished"
    )
