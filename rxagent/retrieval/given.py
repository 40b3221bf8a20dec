"""What an index is given: refused at the door if it is something else."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from reactivex import Observable

from rxagent.errors import ConfigurationError
from rxagent.retrieval.document import Document
from rxagent.retrieval.filters import Filter

__all__ = [
    "check_document",
    "check_documents",
    "check_filter",
    "chosen",
    "last_of_each",
]


def last_of_each(documents: Iterable[Document]) -> list[Document]:
    """The last document of each id, in the order in which the ids first came.

    Raises:
        ConfigurationError: If they are no list of documents.
    """
    check_documents("add takes", documents)
    last: dict[str, Document] = {}
    for each in documents:
        check_document(each)
        last[each.id] = each
    return [*last.values()]


def check_documents(what: str, given: object) -> None:
    """Refuse what is no list, nor what makes one; its items are not looked at.

    Args:
        what: Of whom it is, with a verb; for the error.
        given: Anything.

    Raises:
        ConfigurationError: If it is none.
    """
    found = _a(given)
    is_list = isinstance(given, Iterable) and not isinstance(given, str | Mapping)
    if not is_list or isinstance(given, Document | Observable):
        raise ConfigurationError(
            f"{what} a list of documents, such as [Document(...)], not {found}"
        )


def check_document(given: object) -> None:
    """Refuse what is no document.

    Raises:
        ConfigurationError: If it is none.
    """
    if not isinstance(given, Document):
        raise ConfigurationError(
            f"a document is a Document(id=..., text=...), not {_a(given)}"
        )


def check_filter(name: str, given: object) -> None:
    """Refuse what is no filter.

    Args:
        name: Of what takes one.
        given: Anything.

    Raises:
        ConfigurationError: If it is none.
    """
    if not isinstance(given, Filter):
        raise ConfigurationError(
            f"{name} takes a filter, such as Field('tenant') == 'ann' or "
            f"parse_filter(...), not {_a(given)}"
        )


def chosen(which: Iterable[str] | Filter) -> tuple[str, ...] | Filter:
    """Which documents are to be deleted: ids as a tuple, or a filter.

    Raises:
        ConfigurationError: If it is neither; of one text the letters would be ids.
    """
    if isinstance(which, Filter):
        return which
    given: object = which
    if isinstance(given, str):
        raise ConfigurationError("pass a list of ids, not one id")
    ids = tuple(which) if isinstance(given, Iterable) else (given,)
    for each in ids:
        if not isinstance(each, str):
            raise ConfigurationError(
                "delete takes a list of ids, or a filter, such as "
                f"Field('year') < 2020, not {_a(each)}"
            )
    return tuple(map(str, ids))


def _a(given: object) -> str:
    return f"a {type(given).__name__}"
