"""What a database says of a failure, as an error that shows no secret."""

from __future__ import annotations

from typing import Literal, TypeAlias

from sqlalchemy import URL
from sqlalchemy.exc import DBAPIError, IntegrityError, SQLAlchemyError

from rxagent.errors import StoreError

__all__ = ["Doing", "may_pass", "shown", "store_error"]

Doing: TypeAlias = Literal["read", "written", "deleted"]

_CONFLICTS = {"40001", "40P01"}  # SQLSTATE: serialization failure, deadlock
_MYSQL_CONFLICTS = {1020, 1205, 1213}  # changed since, lock wait timeout, deadlock


def may_pass(error: DBAPIError) -> bool:
    """Whether a transaction was undone only because of another one.

    Args:
        error: What ended it.
    """
    if isinstance(error, IntegrityError):  # both wanted to begin a conversation
        return True
    cause = error.orig
    state: object = getattr(cause, "sqlstate", None) or getattr(cause, "pgcode", None)
    number: object = cause.args[0] if cause is not None and cause.args else None
    return state in _CONFLICTS or number in _MYSQL_CONFLICTS


def store_error(
    conversation: str, error: SQLAlchemyError, *, doing: Doing, url: URL
) -> StoreError:
    """Say what happened, without statement, parameters and password.

    Args:
        conversation: Which; empty if it was no single one.
        error: SQLAlchemy's own text shows what was to be written.
        doing: What failed.
        url: Of the database.

    Returns:
        An error whose cause is that of the driver.
    """
    cause = error.orig if isinstance(error, DBAPIError) else error
    # What follows the first line may show a row.
    said = (str(cause).strip() or type(cause).__name__).splitlines()[0]
    problem = f"cannot be {doing}: {_hidden(said, url)}"
    is_lost = isinstance(error, DBAPIError) and error.connection_invalidated
    if is_lost and doing != "read":
        problem += f"; whether it was {doing} is not known, so load it to see"
    failure = StoreError(conversation, problem)
    failure.__cause__ = None if _hidden(str(cause), url) != str(cause) else cause
    return failure


def shown(url: URL) -> str:
    """The address of a database, without user, password and options.

    Args:
        url: All of it.
    """
    bare = URL.create(
        url.drivername, host=url.host, port=url.port, database=url.database
    )
    return bare.render_as_string()


def _hidden(text: str, url: URL) -> str:
    return text.replace(url.password, "[secret]") if url.password else text
