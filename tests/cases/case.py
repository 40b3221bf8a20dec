"""Acceptance cases from a folder outside the project, and the ways to cut their bytes.

The folder is named by ``RXAGENT_CASES``; its ``README.md`` describes the format.
"""

from __future__ import annotations

import json
import os
from base64 import b64decode
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Literal, TypeAlias

__all__ = ["FOLDER", "Answer", "Case", "Cutting", "Delay", "Fail", "Json", "load_cases"]

Json: TypeAlias = dict[str, Any]
Cutting: TypeAlias = Literal["as cut", "whole", "byte by byte"]

_PROJECT = Path(__file__).resolve().parents[2]
FOLDER = Path(os.environ.get("RXAGENT_CASES") or _PROJECT.parent / "shared" / "cases")


@dataclass(frozen=True, slots=True)
class Delay:
    """A silence between two reads."""

    seconds: float


@dataclass(frozen=True, slots=True)
class Fail:
    """The connection is lost."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Answer:
    """One HTTP response: each bytes object is one read."""

    status: int = 200
    headers: dict[str, str] = field(default_factory=dict[str, str])
    reads: tuple[bytes | Delay | Fail, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class Case:
    """One case or recording."""

    id: str
    kind: str
    protocol: str
    given: Json
    expect: Json

    def cuttings(self) -> list[Cutting]:
        """How the bytes may be cut without another result."""
        if self.kind not in ("sse", "wire"):
            return ["as cut"]
        uncuttable = "attempts" in self.given or any(
            isinstance(chunk, dict) and not chunk.keys() <= {"b64"}
            for chunk in self.given["chunks"]
        )
        return ["as cut"] if uncuttable else ["as cut", "whole", "byte by byte"]

    def answers(self, cutting: Cutting) -> list[Answer]:
        """What the server answers to one request after the other."""
        attempts = self.given.get("attempts") or [self.given]
        return [_answer(attempt, cutting) for attempt in attempts]


def load_cases() -> list[Case]:
    """Return every case and recording of the folder, by name."""
    cases = [
        _case(json.loads(path.read_text()))
        for path in sorted((FOLDER / "cases").glob("*.json"))
    ]
    recordings = [
        _recording(path, json.loads(path.read_text()))
        for path in sorted((FOLDER / "recordings").glob("*.expect.json"))
    ]
    return cases + recordings


def _case(file: Json) -> Case:
    given = file["input"]
    return Case(
        id=file["id"],
        kind=given["kind"],
        protocol=given.get("protocol", ""),
        given=given,
        expect=file["expect"],
    )


def _recording(path: Path, file: Json) -> Case:
    data = (path.parent / file["file"]).read_bytes()
    return Case(
        id=file["id"],
        kind="wire",
        protocol=file["protocol"],
        given={"http": file["http"], "chunks": [data]},
        expect=file["expect"],
    )


def _answer(attempt: Json, cutting: Cutting) -> Answer:
    reads = [read for chunk in attempt["chunks"] for read in _reads(chunk)]
    if cutting != "as cut":
        whole = b"".join(read for read in reads if isinstance(read, bytes))
        reads = [whole]
        if cutting == "byte by byte":
            reads = [whole[place : place + 1] for place in range(len(whole))]
    http = attempt["http"]
    return Answer(status=http["status"], headers=http["headers"], reads=tuple(reads))


def _reads(chunk: Any) -> Iterator[bytes | Delay | Fail]:
    match chunk:
        case {"delay_ms": milliseconds}:
            yield Delay(milliseconds / 1000)
        case {"fail": "reset"}:
            yield Fail()
        case _:
            yield _bytes(chunk)


def _bytes(chunk: Any) -> bytes:
    match chunk:
        case bytes():
            return chunk
        case str():
            return chunk.encode()
        case {"b64": data}:
            return b64decode(data)
        case {"repeat": times, "of": inner}:
            return _bytes(inner) * int(times)
        case _:
            raise ValueError(f"not a chunk: {chunk!r}")
