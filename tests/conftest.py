"""What every test has: no network but loopback, and no deadlines."""

from __future__ import annotations

import ipaddress
import os
import signal
import sys
from typing import cast

from hypothesis import settings

# Two busy cores make any deadline a matter of luck.
settings.register_profile("here", deadline=None)
settings.register_profile("ci", deadline=None, derandomize=True, print_blob=True)
settings.load_profile("ci" if os.environ.get("CI") else "here")

# Whoever ends a run gets what Ctrl-C gets: no server and no folder is left behind.
signal.signal(signal.SIGTERM, signal.default_int_handler)


def is_loopback(host: object) -> bool:
    """Whether ``host`` is this machine, as a socket takes it."""
    name = host.decode() if isinstance(host, bytes) else host
    if name in (None, "", "localhost"):
        return True
    try:
        return ipaddress.ip_address(str(name)).is_loopback
    except ValueError:
        return False


def refuse_the_network(event: str, arguments: tuple[object, ...]) -> None:
    """An audit hook: nothing is patched, and no library can go around it."""
    if event == "socket.connect" and isinstance(arguments[1], tuple):
        host = cast("tuple[object, ...]", arguments[1])[0]  # else it is a file
    elif event == "socket.getaddrinfo":
        host = arguments[0]
    else:
        return
    if not is_loopback(host):
        # No OSError: whoever maps those must not turn it into an expected failure.
        raise AssertionError(f"a test wants to reach {host!r}, and may reach loopback")


sys.addaudithook(refuse_the_network)
