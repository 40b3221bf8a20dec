"""The libraries under test.  Each runs in the virtual environment `env`, made from
requirements/<env>.txt by make_envs.py."""

from __future__ import annotations

from dataclasses import dataclass

FLOOR = "httpx_lines"


@dataclass(frozen=True)
class Peer:
    name: str  # drivers/<name>.py
    env: str
    label: str
    entry: str = ""  # what a user imports first; "" = not in the import table
    dist: str = ""  # the distribution whose version is quoted


PEERS = [
    Peer("socket_json", "floor", "bare asyncio socket + json"),
    Peer(FLOOR, "floor", "**httpx + aiter_lines + json (floor)**", "httpx", "httpx"),
    Peer("httpx_sniffio", "floor", "the floor with sniffio installed", dist="httpx"),
    Peer("httpx_bytes", "floor", "httpx + own SSE split + json", dist="httpx"),
    Peer("httpx_jiter", "floor", "httpx + own SSE split + pydantic-core from_json", dist="httpx"),
    Peer("httpx_sse_lib", "floor", "httpx + httpx-sse + json", dist="httpx-sse"),
    Peer("httpx_own_transport", "floor", "httpx API over own asyncio transport + json", dist="httpx"),
    Peer("httpx_aiohttp", "floor", "httpx API over httpx-aiohttp + json", dist="httpx-aiohttp"),
    Peer("httpx_best", "floor", "httpx, all cheap tricks, stock transport", dist="httpx"),
    Peer("httpx_best_own", "floor", "httpx API, all cheap tricks, own transport", dist="httpx"),
    Peer("httpx2_lines", "floor", "httpx2 + aiter_lines + json", "httpx2", "httpx2"),
    Peer("rx_proto", "floor", "httpx_bytes through a reactivex Observable", "reactivex", "reactivex"),
    Peer("rx_proto_fast", "floor", "the same, pydantic-core from_json, slotted chunks", dist="reactivex"),
    Peer("rxagent", "rxagent", "**rxagent, 5 advisors and a guard**", "rxagent", "rxagent"),
    Peer("rxagent_fast", "rxagent", "the same over httpx-aiohttp", dist="httpx-aiohttp"),
    Peer("openai_sdk", "openai", "openai SDK", "openai", "openai"),
    Peer("pydantic_ai_agent", "pydantic_ai", "pydantic-ai Agent", "pydantic_ai", "pydantic-ai-slim"),
    Peer("openai_agents_sdk", "openai_agents", "openai-agents", "agents", "openai-agents"),
    Peer("langchain_model", "langchain", "langchain-openai ChatOpenAI", "langchain_openai", "langchain-openai"),
    Peer("langchain_agent", "langchain", "langchain create_agent", "langchain.agents", "langchain"),
    Peer("litellm_sdk", "litellm", "litellm acompletion", "litellm", "litellm"),
    Peer("haystack_agent", "haystack", "haystack Agent", "haystack.components.agents", "haystack-ai"),
    Peer("smolagents_agent", "smolagents", "smolagents (sync)", "smolagents", "smolagents"),
]
BY_NAME = {p.name: p for p in PEERS}
