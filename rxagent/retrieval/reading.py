"""Documents out of files."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TypeAlias

from rxagent.choices import check_callable, check_text
from rxagent.errors import ConfigurationError, DocumentError
from rxagent.retrieval.document import Document
from rxagent.retrieval.given import check_document, check_documents

__all__ = ["Reader", "read_folder", "read_text"]

Reader: TypeAlias = Callable[[Path], Iterable[Document]]
"""Reads a file; the id of each document starts with its path."""


def read_text(path: Path) -> Iterable[Document]:
    """Read a file of text, such as Markdown.

    Args:
        path: Of a file in UTF-8.

    Returns:
        One document.

    Raises:
        DocumentError: If it cannot be read.
    """
    try:
        text = path.read_bytes().decode("utf-8-sig")
    except (OSError, UnicodeDecodeError) as error:
        raise DocumentError(str(path), f"cannot be read: {error}") from error
    return (Document(id=str(path), text=text),)


def read_folder(
    folder: str | os.PathLike[str], readers: Mapping[str, Reader] | None = None
) -> Iterable[Document]:
    """Read the files of a folder and of those in it.

    A link is followed, wherever it leads: whoever can write into the folder chooses
    what is read.  A folder is read once, in its own place if that is in here, so links
    may go in a circle.

    Args:
        folder: Where.
        readers: What reads a file of each suffix, such as ``".md"``.  By default
            `read_text` reads ``.txt`` and ``.md``.  Other files are left out.

    Returns:
        The documents, in the order of their paths, read as they are asked for, and
        anew each time.  Their ids are relative to the folder, so that it can be moved.

    Raises:
        ConfigurationError: If ``folder`` is no path, a reader no function, or its name
            no suffix of a file.
        DocumentError: While they are read, if the folder or one in it cannot be
            listed, a link leads nowhere, or what a reader raises.
    """
    where: object = folder
    if not isinstance(where, str | os.PathLike):
        raise ConfigurationError(f"folder takes a path, not {where!r}")
    given: object = readers
    if given is not None and not isinstance(given, Mapping):
        raise ConfigurationError(
            "readers takes readers by their suffixes, such as {'.md': read_text}, not "
            f"{given!r}"
        )
    chosen = readers or {".txt": read_text, ".md": read_text}
    for name, reader in chosen.items():
        check_text("the suffix of a reader", name)
        check_callable("a reader", reader, may_be_none=False)
        if name != Path(f"name{name}").suffix:  # no file has it
            raise ConfigurationError(
                f"a reader is named by the last suffix of its files, such as '.md', "
                f"got {name!r}"
            )
    return _Folder(Path(folder), {name.lower(): each for name, each in chosen.items()})


@dataclass(frozen=True, slots=True)
class _Folder:
    path: Path
    readers: Mapping[str, Reader]

    def __iter__(self) -> Iterator[Document]:
        if not self.path.is_dir():
            raise DocumentError(str(self.path), "is no folder")
        for path in sorted(self._files()):
            name = path.relative_to(self.path).as_posix()
            documents = self.readers[path.suffix.lower()](path)
            check_documents("a reader returns", documents)
            for document in documents:
                check_document(document)
                yield replace(document, id=name + document.id.removeprefix(str(path)))

    def _files(self) -> Iterator[Path]:
        """Each folder once, where it really is if that is within this one."""
        left, seen = [self.path], set[str]()
        while left:
            linked: list[Path] = []
            for start in left:
                for folder, inner, names in os.walk(start, onerror=_unlisted):
                    real = os.path.realpath(folder)
                    if real in seen:
                        inner.clear()
                        continue
                    seen.add(real)
                    paths = [Path(folder, each) for each in inner]
                    linked += [each for each in paths if os.path.islink(each)]
                    yield from self._read_of(Path(folder, each) for each in names)
            left = sorted(linked)

    def _read_of(self, paths: Iterable[Path]) -> Iterator[Path]:
        for path in paths:
            if path.suffix.lower() in self.readers:
                # What is not there is left for its reader to refuse.
                if os.path.isfile(path) or not os.path.exists(path):
                    yield path
            elif os.path.islink(path) and not os.path.exists(path):
                raise DocumentError(
                    str(path),
                    "is a link that leads nowhere, and could be one to a folder of "
                    "documents; mend it or delete it",
                )


def _unlisted(error: OSError) -> None:
    """Refuse to go on: what is not seen would be taken for gone, and be deleted."""
    problem = f"cannot be listed: {error.strerror}"
    raise DocumentError(str(error.filename), problem) from error
