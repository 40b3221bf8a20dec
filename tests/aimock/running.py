"""aimock as a program of its own, scripted over its control interface."""

from __future__ import annotations

import shutil
import subprocess
from collections.abc import Generator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any, TypeAlias

import httpx

__all__ = ["Aimock", "Json", "running"]

Json: TypeAlias = Mapping[str, Any]

_HERE = Path(__file__).parent
_PROGRAM = _HERE / "node_modules/@copilotkit/aimock/dist/cli.js"


class Aimock:
    """A running server.

    Args:
        url: Where it listens.
    """

    def __init__(self, url: str) -> None:
        self.url = url
        self._http = httpx.Client(base_url=f"{url}/__aimock", timeout=30)

    def script(self, *fixtures: Json) -> None:
        """Add fixtures; of those that match a request, the first one answers."""
        self._post("/fixtures", {"fixtures": fixtures})

    def say(self, response: Json, **options: object) -> None:
        """Answer whatever is asked."""
        self.script({"match": {}, "response": response, **options})

    def say_in_turn(self, *responses: Json) -> None:
        """Answer the first request with the first response, and so on."""
        self.script(
            *(
                {"match": {"sequenceIndex": number}, "response": response}
                for number, response in enumerate(responses)
            )
        )

    def reset(self) -> None:
        """Forget fixtures, counts and journal."""
        self._post("/reset", {})

    @property
    def journal(self) -> Sequence[Json]:
        """What came, as aimock has understood it, and what was answered."""
        entries: list[Json] = self._http.get("/journal").raise_for_status().json()
        return entries

    @property
    def statuses(self) -> list[int]:
        """The status of each answer."""
        return [entry["response"]["status"] for entry in self.journal]

    def wait_for_tape(self, answers: int) -> None:
        """Return when so many are written down, which comes after they are sent."""
        for _ in range(1_000):
            if self._http.get("/fixtures").json()["count"] >= answers:
                return
        raise AssertionError(f"aimock has not recorded {answers} answers")

    def close(self) -> None:
        """Close the connection."""
        self._http.close()

    def _post(self, path: str, body: Json) -> None:
        answer = self._http.post(path, json=body)
        assert answer.is_success, answer.text


@contextmanager
def running(folder: Path, *arguments: str) -> Generator[Aimock]:
    """Run aimock.

    Args:
        folder: Its fixtures; what it records is put there.
        arguments: More of its command line.
    """
    node = shutil.which("node")
    assert node, "aimock runs on Node.js, 20.15 or newer"
    assert _PROGRAM.exists(), f"npm ci --prefix {_HERE}"
    command = [node, str(_PROGRAM), "--port", "0", "--fixtures", str(folder)]
    with subprocess.Popen(
        [*command, *arguments], stdout=subprocess.PIPE, text=True
    ) as child:
        try:
            assert child.stdout is not None
            url = next((line for line in child.stdout if "listening on" in line), None)
            assert url, "aimock did not start"
            server = Aimock(url.split()[-1])
            try:
                yield server
            finally:
                server.close()
        finally:
            child.kill()
