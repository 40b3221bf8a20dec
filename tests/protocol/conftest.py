"""llama.cpp's own server, for those tests that name it."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from tests.protocol import llama_cpp


@pytest.fixture(scope="module")
def base_url() -> Iterator[str]:
    """Where it listens."""
    with llama_cpp.running() as url:
        yield url
