"""Loops run in debug mode, and what they complain about fails the test."""

from __future__ import annotations

import logging
from collections.abc import Generator

import pytest


@pytest.fixture(autouse=True)
def loops_in_debug_mode(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PYTHONASYNCIODEBUG", "1")


@pytest.fixture(autouse=True)
def no_complaints_of_a_loop(caplog: pytest.LogCaptureFixture) -> Generator[None]:
    yield
    complaints = [
        record.getMessage()
        for record in caplog.get_records("call")
        if record.name == "asyncio"
        and record.levelno >= logging.WARNING
        # How long a callback took is the machine's affair.
        and not record.getMessage().startswith("Executing ")
    ]
    assert complaints == []
