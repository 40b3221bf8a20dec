"""A type that an answer shall have: how it is asked for, and how a text is read."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from typing import Generic, TypeVar, cast, overload

from rxagent.errors import InvalidAnswerError
from rxagent.output.by_type import check_by_type
from rxagent.output.problems import Check, Misfit, misfit
from rxagent.requests import JsonSchema
from rxagent.wire.extract import extract_json
from rxagent.wire.json_text import dump_json, is_array, is_object, load_json

__all__ = ["WRAP", "OutputType", "list_of", "output_type"]

T = TypeVar("T")
T_co = TypeVar("T_co", covariant=True)

_DEFINITIONS = ("$defs", "definitions")

WRAP = "value"
"""The member that holds an answer that is no object."""


@dataclass(frozen=True, slots=True, kw_only=True)
class OutputType(Generic[T_co]):
    """What an answer shall be.

    Args:
        schema: JSON Schema of it, by which it is described; that of a plain type or a
            list is not the one that a provider gets, see ``asked``.
        check: From JSON to a value of the type, or to what is wrong.
        parse: From the text of an answer to JSON, in place of
            `rxagent.wire.extract_json`; raises a ``ValueError`` where there is none.
    """

    schema: JsonSchema
    check: Check = field(repr=False)
    parse: Callable[[str], object] | None = field(default=None, repr=False)

    @property
    def is_wrapped(self) -> bool:
        """Whether it is no object: providers answer in objects alone."""
        return self.schema.get("type") != "object" and not _is_named_object(self.schema)

    @property
    def asked(self) -> JsonSchema:
        """The schema for a provider: of an object, which may hold the answer."""
        return _within(self.schema, WRAP) if self.is_wrapped else self.schema

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
            found = self._parsed(text)
        except ValueError as error:
            value, inner = self._plain(text) or (Misfit(str(error)), None)
        else:
            value, inner = self._checked(found)
            if isinstance(value, Misfit):
                value, inner = self._plain(text) or (value, inner)
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

    def _parsed(self, text: str) -> object:
        if self.parse is not None:
            return self.parse(text)
        return extract_json(text, fits=self._fits)

    def _fits(self, found: object) -> bool:
        return not isinstance(self._checked(found)[0], Misfit)

    def _plain(self, text: str) -> tuple[object, object] | None:
        """The text itself, where a text is wanted and it is one that fits."""
        values = self.schema.get("enum", [self.schema.get("const")])
        takes_text = self.schema.get("type") == "string" or (
            is_array(values) and any(isinstance(each, str) for each in values)
        )
        found = text.strip()
        return self._checked(found) if takes_text and self._fits(found) else None

    def _checked(self, found: object) -> tuple[object, object]:
        """The value, or what is wrong, and what it was made of, without its wrap."""
        if self.is_wrapped and is_object(found) and list(found) == [WRAP]:
            inner = found[WRAP]
            value = self.check(dump_json(inner))
            if not isinstance(value, Misfit) or not self._takes_objects():
                return value, inner
        return self.check(dump_json(found)), found

    def _takes_objects(self) -> bool:
        return "type" not in self.schema


@overload
def output_type(
    kind: type[T] | OutputType[T], *, parse: Callable[[str], object] | None = None
) -> OutputType[T]: ...
@overload
def output_type(
    kind: object, *, parse: Callable[[str], object] | None = None
) -> OutputType[object]: ...
def output_type(
    kind: object, *, parse: Callable[[str], object] | None = None
) -> OutputType[object]:
    """Prepare a type, once: validators are made here and used by every answer.

    Whatever takes a type takes what this returns, too.

    Args:
        kind: A pydantic model, dataclass, TypedDict, list, union, enum, literal or
            plain type; or a JSON Schema (Draft 2020-12) as a mapping, whose values are
            plain JSON.
        parse: Reads the text of an answer, in place of `rxagent.wire.extract_json`; it
            returns decoded JSON, or raises a ``ValueError`` that says what is wrong.

    Returns:
        A value that holds no state; one serves any number of turns.

    Raises:
        ConfigurationError: If it is neither.
    """
    if isinstance(kind, OutputType):
        prepared = cast("OutputType[object]", kind)
        return prepared if parse is None else replace(prepared, parse=parse)
    if isinstance(kind, Mapping):
        from rxagent.output.by_schema import check_by_schema

        schema = cast("JsonSchema", kind)
        return OutputType(schema=schema, check=check_by_schema(schema), parse=parse)
    schema, check = check_by_type(kind)
    return OutputType(schema=schema, check=check, parse=parse)


def list_of(one: OutputType[T]) -> OutputType[list[T]]:
    """Prepare the type of a list of these.

    Args:
        one: The type of each element, which checks it.

    Returns:
        A type, whose first problem names the element.
    """

    def check(data: bytes) -> object:
        found = load_json(data.decode())
        if not is_array(found):
            return misfit((), "should be a list", found)
        values: list[object] = []
        for number, each in enumerate(found):
            value = one.check(dump_json(each))
            if isinstance(value, Misfit):
                return Misfit(f"element {number} of the answer: {value.problem}")
            values.append(value)
        return values

    schema = _within(one.schema, None)
    return OutputType(schema=schema, check=check, parse=one.parse)


def _within(schema: JsonSchema, member: str | None) -> dict[str, object]:
    """The schema of an object with one member of that kind, or of a list of them."""
    inner = dict(schema)
    # A reference leads to the definitions of the root.
    above = {name: inner.pop(name) for name in _DEFINITIONS if name in inner}
    if member is None:
        return {"type": "array", "items": inner} | above
    return {
        "type": "object",
        "properties": {member: inner},
        "required": [member],
        "additionalProperties": False,
    } | above


def _is_named_object(schema: JsonSchema) -> bool:
    """Whether the root is a reference to an object, as that of a recursive type is."""
    reference, definitions = schema.get("$ref"), schema.get("$defs")
    if not isinstance(reference, str) or not is_object(definitions):
        return False
    target = definitions.get(reference.removeprefix("#/$defs/"))
    return is_object(target) and target.get("type") == "object"
