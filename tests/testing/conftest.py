from __future__ import annotations

from pathlib import Path

import pytest


@pytest.fixture(autouse=True)
def no_environment(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("RXAGENT_RECORD", raising=False)
    monkeypatch.delenv("CI", raising=False)


@pytest.fixture
def path(tmp_path: Path) -> Path:
    """Of a cassette that is not there yet, nor its folder."""
    return tmp_path / "cassettes" / "turn.jsonl"
