"""Servers that others wrote and published."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

from rxagent import Agent
from rxagent.advisors import tool_loop
from rxagent.events import ToolFinished
from rxagent.integrations.mcp import McpServer, mcp_tools
from rxagent.testing import Reply, ScriptedModel, tool_call


def git(*args: str, cwd: Path) -> None:
    identity = ["-c", "user.name=t", "-c", "user.email=t@example.com"]
    subprocess.run(["git", *identity, *args], cwd=cwd, check=True, capture_output=True)


@pytest.fixture
def repository(tmp_path: Path) -> Path:
    git("init", "--initial-branch=main", cwd=tmp_path)
    (tmp_path / "a.txt").write_text("one\n")
    git("add", "a.txt", cwd=tmp_path)
    git("commit", "-m", "the first", cwd=tmp_path)
    return tmp_path


def test_the_time_server_tells_the_time_and_what_is_wrong() -> None:
    model = ScriptedModel(
        Reply(
            calls=(
                tool_call(
                    "convert_time",
                    source_timezone="Asia/Tokyo",
                    time="12:30",
                    target_timezone="Asia/Kolkata",
                ),
                tool_call("get_current_time", timezone="Nowhere/At_All"),
            )
        ),
        "done",
    )
    with McpServer.stdio(sys.executable, ["-m", "mcp_server_time"]) as time:
        agent = Agent(model, advisors=[tool_loop(), mcp_tools(time)])
        events = [*agent.stream("What time is it?")]
    by_tool = {e.call.name: e for e in events if isinstance(e, ToolFinished)}
    converted, unknown = by_tool["convert_time"], by_tool["get_current_time"]
    assert "T09:00:00+05:30" in converted.message.text
    assert unknown.failure == "semantic"
    assert "Nowhere/At_All" in unknown.message.text


def test_the_git_server_works_on_a_repository(repository: Path) -> None:
    where = str(repository)
    (repository / "b.txt").write_text("two\n")
    model = ScriptedModel(
        Reply(calls=(tool_call("git_add", repo_path=where, files=["b.txt"]),)),
        Reply(calls=(tool_call("git_status", repo_path=where),)),
        Reply(calls=(tool_call("git_log", repo_path=where, max_count=1),)),
        "done",
    )
    args = ["-m", "mcp_server_git", "--repository", where]
    with McpServer.stdio(sys.executable, args, name="git") as server:
        agent = Agent(model, advisors=[tool_loop(), mcp_tools(server)])
        events = [*agent.stream("Add b.txt.")]
    added, status, log = (e for e in events if isinstance(e, ToolFinished))
    assert added.failure is None
    assert "new file:   b.txt" in status.message.text
    assert "the first" in log.message.text
