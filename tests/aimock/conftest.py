"""One aimock for all tests, empty before each of them."""

from __future__ import annotations

import json
from collections.abc import Iterator

import pytest

from tests.aimock.running import Aimock, running


@pytest.fixture(scope="session")
def _server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Aimock]:
    """Strict: it holds Anthropic's thinking to the rules, and no miss is silent."""
    folder = tmp_path_factory.mktemp("aimock")
    # A strict one wants a fixture before it starts.
    never = {"match": {"userMessage": "?"}, "response": {"content": "?"}}
    (folder / "never.json").write_text(json.dumps({"fixtures": [never]}))
    with running(folder, "--strict") as server:
        yield server


@pytest.fixture
def aimock(_server: Aimock) -> Aimock:
    """A server that answers nothing yet."""
    _server.reset()
    return _server
