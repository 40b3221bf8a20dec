"""Reading an OpenAPI document: its references, and its schemas as JSON Schema."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import TypeAlias

from rxagent.errors import ConfigurationError
from rxagent.wire.json_text import is_array, is_object

__all__ = ["Document", "Json"]

Json: TypeAlias = dict[str, object]


class Document:
    """An OpenAPI document of version 3.

    Args:
        root: Parsed.

    Raises:
        ConfigurationError: If it is something else.
    """

    def __init__(self, root: Mapping[str, object]) -> None:
        version = root.get("openapi")
        if not isinstance(version, str) or not version.startswith("3."):
            raise ConfigurationError(
                f"the document is no OpenAPI 3: its `openapi` is {version!r}"
            )
        self._root = dict(root)

    def at(self, value: object, *, where: str) -> Json:
        """An object of the document, behind its references.

        Args:
            value: The object, or a ``$ref`` to it.
            where: It stands, for errors.

        Raises:
            ConfigurationError: If it is no object, or elsewhere.
        """
        seen: set[str] = set()
        while is_object(value) and isinstance(reference := value.get("$ref"), str):
            if reference in seen:
                raise ConfigurationError(f"{where}: {reference!r} refers to itself")
            seen.add(reference)
            value = self._behind(reference, where=where)
        if not is_object(value):
            raise ConfigurationError(f"{where}: an object is missing")
        return value

    def objects(self, value: object, *, where: str) -> Iterator[tuple[str, Json]]:
        """The objects that an object of the document holds, by name."""
        if value is not None:
            for name, each in self.at(value, where=where).items():
                yield name, self.at(each, where=f"{where}.{name}")

    def text(self, *path: str) -> str:
        """A text of the document; empty if there is none."""
        value: object = self._root
        for step in path:
            if is_array(value) and step.isdigit() and int(step) < len(value):
                value = value[int(step)]
            else:
                value = value.get(step) if is_object(value) else None
        return value if isinstance(value, str) else ""

    def paths(self) -> Iterator[tuple[str, Json]]:
        """Its paths."""
        yield from self.objects(self._root.get("paths"), where="paths")

    def schema(self, properties: Json, *, required: list[str]) -> Json:
        """A JSON Schema of an object, with all that its properties refer to.

        Raises:
            ConfigurationError: If they refer to something elsewhere.
        """
        definitions: Json = {}
        waiting: dict[str, str] = {}  # names by reference

        def moved(value: object) -> object:
            if is_array(value):
                return [moved(each) for each in value]
            if not is_object(value):
                return value
            schema = {key: moved(each) for key, each in value.items()}
            reference = schema.get("$ref")
            if isinstance(reference, str):
                name = waiting.setdefault(reference, _name(reference, waiting))
                schema["$ref"] = f"#/$defs/{name}"
            return _of_today(schema)

        schema: Json = {"type": "object", "properties": moved(properties)}
        while missing := [r for r, name in waiting.items() if name not in definitions]:
            for reference in missing:
                found = self._behind(reference, where="a schema")
                definitions[waiting[reference]] = moved(found)
        if required:
            schema["required"] = required
        if definitions:
            schema["$defs"] = definitions
        return {**schema, "additionalProperties": False}

    def _behind(self, reference: str, *, where: str) -> object:
        if not reference.startswith("#/"):
            raise ConfigurationError(
                f"{where}: {reference!r} is not in the document; bundle it first"
            )
        value: object = self._root
        for step in reference[2:].split("/"):
            name = step.replace("~1", "/").replace("~0", "~")
            if not is_object(value) or name not in value:
                raise ConfigurationError(f"{where}: {reference!r} leads nowhere")
            value = value[name]
        return value


def _name(reference: str, taken: Mapping[str, str]) -> str:
    name = reference.rpartition("/")[2]
    names = {*taken.values()}
    while name in names:
        name += "_"
    return name


def _of_today(schema: Json) -> Json:
    """What OpenAPI 3.0 says in words of its own, in those of JSON Schema 2020-12."""
    for word, bound in (
        ("exclusiveMinimum", "minimum"),
        ("exclusiveMaximum", "maximum"),
    ):
        exclusive = schema.get(word)
        if isinstance(exclusive, bool):
            del schema[word]
            if exclusive and bound in schema:
                schema[word] = schema.pop(bound)
    if schema.get("nullable") is True:
        del schema["nullable"]
        return {"anyOf": [schema, {"type": "null"}]}
    return schema
