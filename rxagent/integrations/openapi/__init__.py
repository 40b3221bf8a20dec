"""The operations of an OpenAPI document as tools."""

from rxagent.integrations.openapi.tools import openapi_tools

__all__ = ["openapi_tools"]
