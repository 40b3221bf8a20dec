"""A type that an answer shall have: how it is asked for, and how a text is read."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from typing import Generic, TypeVar, cast, overload

from rxagent.choices import check_callable
from rxagent.errors import ConfigurationError, InvalidAnswerError
from rxagent.output.by_type import check_by_type
from rxagent.output.problems import Check, Misfit, as_text, misfit
from rxagent.output.shapes import WRAP, object_of, within
from rxagent.requests import JsonSchema
from rxagent.wire.extract import extract_json
from rxagent.wire.json_text import dump_json, is_array, is_object, load_json

__all__ = ["OutputType", "list_of", "output_type"]

T = TypeVar("T")
T_co = TypeVar("T_co", covariant=True)


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
        return object_of(self.schema) is None

    @property
    def asked(self) -> JsonSchema:
        """The schema for a provider: of an object, which may hold the answer."""
        return object_of(self.schema) or within(self.schema, WRAP)

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
            ConfigurationError: If it is no JSON at all.
        """
        loaded = self._loaded(value)
        if isinstance(loaded, Misfit):
            raise InvalidAnswerError(loaded.problem, texts=(as_text(value),))
        return cast("T_co", loaded)

    def _loaded(self, value: object) -> object:
        try:
            data = dump_json(value)
        except ValueError as error:  # such as infinity, which Python reads and writes
            return Misfit(f"the answer is not JSON ({error})")
        except TypeError as error:
            raise ConfigurationError(
                f"only decoded JSON can be checked ({error}); what parse= returns is "
                "made of dict, list, str, int, float, bool and None"
            ) from error
        return self.check(data)

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
            value = self._loaded(inner)
            if not isinstance(value, Misfit) or not self._takes_objects():
                return value, inner
        return self._loaded(found), found

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
        ConfigurationError: If it is neither, or ``parse`` cannot be called.
    """
    check_callable("parse", parse)
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

    schema = within(one.schema, None)
    return OutputType(schema=schema, check=check, parse=one.parse)
