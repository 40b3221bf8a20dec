"""The same over a fast transport under httpx's API: the extra `fast`."""

from __future__ import annotations

import httpx
from httpx_aiohttp import HttpxAiohttpClient

from .rxagent import Driver as Stock


class Driver(Stock):
    def client(self) -> httpx.AsyncClient:
        return HttpxAiohttpClient(
            timeout=600, limits=httpx.Limits(max_connections=self.connections)
        )
