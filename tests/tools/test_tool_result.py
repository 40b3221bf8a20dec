from __future__ import annotations

from rxagent import Agent, tool
from rxagent.events import ToolFinished
from rxagent.messages import Image, Text
from rxagent.testing import Reply, ScriptedModel, tool_call
from rxagent.tools import ToolResult


def test_the_model_sees_the_content_and_the_program_gets_the_value() -> None:
    @tool
    def chart() -> ToolResult:
        """Draw a chart."""
        picture = Image(data=b"PNG")
        return ToolResult(value=[1, 2], content=("a chart:", picture))

    model = ScriptedModel(Reply(calls=(tool_call("chart"),)), "nice")
    events = [*Agent(model, tools=[chart]).stream("draw")]
    (done,) = (event for event in events if isinstance(event, ToolFinished))
    assert done.value == [1, 2]
    assert done.message.content == (Text(text="a chart:"), Image(data=b"PNG"))
