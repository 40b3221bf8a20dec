"""What ``import rxagent`` costs, beside the libraries that it stands on.

Run: python bench/import_time.py
"""

from __future__ import annotations

import os
import subprocess
import sys
import tempfile
from collections.abc import Mapping
from statistics import median

RUNS = 15
LIMIT = 1.5
PROGRAMS = {
    "libraries": "import httpx, reactivex, pydantic",
    "rxagent": "import rxagent",
}
# CPU time of the child itself: what else the machine does is not our cost.
MEASURE = "import time; t = time.process_time(); {}; print(time.process_time() - t)"


def seconds(program: str, environment: Mapping[str, str]) -> float:
    """Run ``program`` in a process of its own and return its CPU time."""
    done = subprocess.run(
        [sys.executable, "-c", MEASURE.format(program)],
        env=environment,
        capture_output=True,
        text=True,
        check=True,
    )
    return float(done.stdout)


def main() -> None:
    """Measure in turns, so that a slow minute hits both."""
    found: dict[str, list[float]] = {name: [] for name in PROGRAMS}
    with tempfile.TemporaryDirectory() as compiled:
        # Everything compiled, as after an installation; some machines forbid it.
        environment = {**os.environ, "PYTHONPYCACHEPREFIX": compiled}
        environment.pop("PYTHONDONTWRITEBYTECODE", None)
        for run in range(1 + RUNS):
            for name, program in PROGRAMS.items():
                time_s = seconds(program, environment)
                if run > 0:  # the first one compiles
                    found[name].append(time_s)
    times = {name: median(each) for name, each in found.items()}
    for name, time_s in times.items():
        print(f"{time_s * 1000:6.0f} ms  {PROGRAMS[name]}  (median of {RUNS})")
    ratio = times["rxagent"] / times["libraries"]
    print(f"ratio {ratio:.2f}, allowed {LIMIT}")
    if ratio > LIMIT:
        sys.exit("import rxagent costs too much")


if __name__ == "__main__":
    main()
