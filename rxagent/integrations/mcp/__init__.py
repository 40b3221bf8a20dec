"""Tools of MCP servers, by the official SDK; install ``rxagent[mcp]``."""

from rxagent.integrations.mcp.advisor import mcp_tools
from rxagent.integrations.mcp.connection import McpProgress
from rxagent.integrations.mcp.questions import McpQuestion
from rxagent.integrations.mcp.server import McpServer

__all__ = ["McpProgress", "McpQuestion", "McpServer", "mcp_tools"]
