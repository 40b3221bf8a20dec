"""A type that an answer shall have: how it is asked for, and how a text is read."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Generic, TypeVar, cast, overload

from rxagent.errors import InvalidAnswerError, NoJsonError
from rxagent.output.by_type import check_by_type
from rxagent.output.problems import Check, Misfit
from rxagent.requests import JsonSchema
from rxagent.wire.extract import extract_json
from rxagent.wire.json_text import dump_json, is_array, is_object

__all__ = ["WRAP", "OutputType", "output_type"]

T = TypeVar("T")
T_co = TypeVar("T_co", covariant=True)

WRAP = "value"
"""The member that holds an answer that is no object."""


@dataclass(frozen=True, slots=True, kw_only=True)
class OutputType(Generic[T_co]):
    """What an answer shall be.

    Args:
        schema: JSON Schema of it, by which it is described; that of a plain type or a
            list is not the one that a provider gets, see ``asked``.
        check: From JSON to a value of the type, or to what is wrong.
    """

    schema: JsonSchema
    check: Check = field(repr=False)

    @property
    def is_wrapped(self) -> bool:
        """Whether it is no object: providers answer in objects alone."""
        return self.schema.get("type") != "object" and not _is_named_object(self.schema)

    @property
    def asked(self) -> JsonSchema:
        """The schema for a provider: of an object, which may hold the answer."""
        if not self.is_wrapped:
            return self.schema
        inner = dict(self.schema)
        definitions = inner.pop("$defs", None)  # a reference leads to the root's
        outer: dict[str, object] = {
            "type": "object",
            "properties": {WRAP: inner},
            "required": [WRAP],
            "additionalProperties": False,
        }
        return outer | ({"$defs": definitions} if definitions else {})

    def read(self, text: str) -> T_co:
        """Make a value of what a model wrote.

        Args:
            text: The whole answer; prose, fences and thoughts around the JSON are
                skipped, see `rxagent.wire.extract_json`.

        Raises:
            InvalidAnswerError: If it holds none; its first problem.
        """
        return self.read_with_json(text)[0]

    def read_with_json(self, text: str) -> tuple[T_co, object]:
        """Make a value, and the JSON that it was made of; see `read`."""
        if not text.strip():
            raise InvalidAnswerError(
                "the answer is empty; answer with JSON that fits the schema",
                texts=(text,),
            )
        try:
            found = extract_json(text, fits=self._fits)
        except NoJsonError as error:
            if not self._takes_text():
                raise InvalidAnswerError(str(error), texts=(text,)) from None
            found = text.strip()
        value, inner = self._checked(found)
        if isinstance(value, Misfit):
            raise InvalidAnswerError(value.problem, texts=(text,))
        return cast("T_co", value), inner

    def load(self, value: object) -> T_co:
        """Make a value of decoded JSON.

        Raises:
            InvalidAnswerError: If it is no such value; its first problem.
        """
        data = dump_json(value)
        loaded = self.check(data)
        if isinstance(loaded, Misfit):
            raise InvalidAnswerError(loaded.problem, texts=(data.decode(),))
        return cast("T_co", loaded)

    def _fits(self, found: object) -> bool:
        return not isinstance(self._checked(found)[0], Misfit)

    def _checked(self, found: object) -> tuple[object, object]:
        """The value, or what is wrong, and what it was made of, without its wrap."""
        if self.is_wrapped and is_object(found) and list(found) == [WRAP]:
            inner = found[WRAP]
            value = self.check(dump_json(inner))
            if not isinstance(value, Misfit) or not self._takes_objects():
                return value, inner
        return self.check(dump_json(found)), found

    def _takes_text(self) -> bool:
        values = self.schema.get("enum", [self.schema.get("const")])
        return self.schema.get("type") == "string" or (
            is_array(values) and any(isinstance(each, str) for each in values)
        )

    def _takes_objects(self) -> bool:
        return "type" not in self.schema


@overload
def output_type(kind: type[T]) -> OutputType[T]: ...
@overload
def output_type(kind: JsonSchema) -> OutputType[object]: ...
@overload
def output_type(kind: object) -> OutputType[object]: ...
def output_type(kind: object) -> OutputType[object]:
    """Prepare a type, once: validators are made here and used by every answer.

    Args:
        kind: A pydantic model, dataclass, TypedDict, list, union, enum, literal or
            plain type; or a JSON Schema (Draft 2020-12) as a mapping, whose values are
            plain JSON.

    Raises:
        ConfigurationError: If it is neither.
    """
    if isinstance(kind, OutputType):
        return cast("OutputType[object]", kind)
    if isinstance(kind, Mapping):
        from rxagent.output.by_schema import check_by_schema

        schema = cast("JsonSchema", kind)
        return OutputType(schema=schema, check=check_by_schema(schema))
    schema, check = check_by_type(kind)
    return OutputType(schema=schema, check=check)


def _is_named_object(schema: JsonSchema) -> bool:
    """Whether the root is a reference to an object, as that of a recursive type is."""
    reference, definitions = schema.get("$ref"), schema.get("$defs")
    if not isinstance(reference, str) or not is_object(definitions):
        return False
    target = definitions.get(reference.removeprefix("#/$defs/"))
    return is_object(target) and target.get("type") == "object"
