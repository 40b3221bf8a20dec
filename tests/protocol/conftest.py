"""llama.cpp's own server, for those tests that name it."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.protocol import llama_cpp


@pytest.fixture(scope="module")
def base_url() -> Iterator[str]:
    """A server in a process of its own: what crashes there is not ours."""
    program = Path(llama_cpp.__file__)
    with subprocess.Popen(
        [sys.executable, "-P", program],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
    ) as child:
        assert child.stdout is not None
        try:
            yield child.stdout.readline().strip()
        finally:
            child.kill()
