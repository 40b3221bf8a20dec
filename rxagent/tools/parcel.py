"""A job as bytes, to another process and back.

A process pool pickles by itself, and breaks, with all that runs on it, if something
cannot be unpickled at the other end.  Bytes always can be.
"""

from __future__ import annotations

import pickle
import traceback

from rxagent.errors import ToolError, ToolFailedError
from rxagent.tools.job import Job, Outcome

__all__ = ["pack", "run_packed", "unpack"]


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


def run_packed(tool: str, data: bytes) -> bytes:
    """Run a job in this process, and pack what it comes to; never fails.

    Args:
        tool: Its name.
        data: The job, as `pack` made it.

    Returns:
        An `Outcome` or an exception, for `unpack`.
    """
    try:
        job = pickle.loads(data)
    except Exception as error:  # noqa: BLE001 - raised again by `unpack`
        return pickle.dumps(
            ToolError(tool, f"cannot be found in the other process: {error}")
        )
    try:
        outcome = job()
    except Exception as error:  # noqa: BLE001 - raised again by `unpack`
        return _packed_error(error)
    try:
        return pickle.dumps(outcome)
    except Exception as error:  # noqa: BLE001 - raised again by `unpack`
        return pickle.dumps(
            ToolError(
                tool,
                "returned or wrote what cannot come back from another process: "
                f"{error}",
            )
        )


def unpack(tool: str, data: bytes) -> Outcome:
    """Return what `run_packed` packed, or raise it.

    Args:
        tool: Its name.
        data: As `run_packed` made it.

    Raises:
        ToolError: If this process cannot read it.
    """
    try:
        made: Outcome | Exception = pickle.loads(data)
    except Exception as error:
        raise ToolError(
            tool, f"returned or wrote what cannot be read in this process: {error}"
        ) from error
    if isinstance(made, Exception):
        raise made
    return made


def _packed_error(error: Exception) -> bytes:
    where = "".join(traceback.format_exception(error))
    error.add_note(f"In another process:\n{where}")
    try:
        data = pickle.dumps(error)
        pickle.loads(data)  # many an exception cannot
    except Exception:  # noqa: BLE001 - of somebody else's exception
        return pickle.dumps(ToolFailedError(f"{type(error).__name__}: {error}"))
    return data
