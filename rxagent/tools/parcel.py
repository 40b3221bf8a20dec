"""A job as bytes, to another process and back.

Pools and clusters pickle by themselves.  But a pool breaks, with all that runs on it,
if something cannot be unpickled at the other end, and a cluster may wait for ever for
what cannot be pickled.  Bytes always can be.
"""

from __future__ import annotations

import pickle
import traceback

from rxagent.errors import ToolError, ToolFailedError
from rxagent.tools.job import Job, Outcome

__all__ = ["pack", "run_anywhere", "run_packed", "unpack"]


def pack(job: Job) -> bytes:
    """Pack a job for `run_packed`.

    Raises:
        ToolError: If it cannot be pickled.
    """
    try:
        return pickle.dumps(job)
    except Exception as error:
        raise ToolError(
            job.tool,
            f"cannot go to another process: {error}; its function must stand in a "
            "module, and its arguments and context must be values that pickle",
        ) from error


def run_packed(tool: str, data: bytes) -> Outcome | bytes:
    """Run a job that came as bytes; never fails.

    Args:
        tool: Its name.
        data: As `pack` made it.
    """
    try:
        job: Job = pickle.loads(data)
    except Exception as error:  # noqa: BLE001 - raised again by `unpack`
        problem = f"cannot be found in the other process: {error}"
        return pickle.dumps(ToolError(tool, problem))
    return run_anywhere(job)


def run_anywhere(job: Job, _: str = "") -> Outcome | bytes:
    """Run a job; if it has been pickled, pack what it comes to, and never fail.

    Args:
        job: That may have come from another process.
        _: Makes the call unlike all others.

    Returns:
        An outcome, or what `unpack` makes one of, or raises.
    """
    if not job.travelled:
        return job()
    try:
        outcome = job()
    except Exception as error:  # noqa: BLE001 - raised again by `unpack`
        return _packed_error(error)
    try:
        return pickle.dumps(outcome)
    except Exception as error:  # noqa: BLE001 - raised again by `unpack`
        problem = (
            f"returned or wrote what cannot come back from another process: {error}; "
            "values must pickle, and the reduce of a key must stand in a module"
        )
        return pickle.dumps(ToolError(job.tool, problem))


def unpack(tool: str, made: Outcome | bytes) -> Outcome:
    """Return the outcome that came back, or raise the error.

    Args:
        tool: Its name.
        made: By `run_packed` or `run_anywhere`.

    Raises:
        ToolError: If this process cannot read it.
    """
    if isinstance(made, Outcome):
        return made
    try:
        found: Outcome | Exception = pickle.loads(made)
    except Exception as error:
        raise ToolError(
            tool, f"returned or wrote what cannot be read in this process: {error}"
        ) from error
    if isinstance(found, Exception):
        raise found
    return found


def _packed_error(error: Exception) -> bytes:
    where = "".join(traceback.format_exception(error))
    error.add_note(f"In another process:\n{where}")
    try:
        data = pickle.dumps(error)
        pickle.loads(data)  # many an exception cannot
    except Exception:  # noqa: BLE001 - of somebody else's exception
        return pickle.dumps(ToolFailedError(f"{type(error).__name__}: {error}"))
    return data
