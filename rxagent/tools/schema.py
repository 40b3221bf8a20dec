"""From the parameters of a function to the schema that a model sees, and to its check.

pydantic does both, so what the model is told is what is checked.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from pydantic import BaseModel, ConfigDict, Field, TypeAdapter, create_model
from pydantic import ValidationError as PydanticValidationError
from pydantic.fields import FieldInfo
from pydantic.json_schema import GenerateJsonSchema, JsonSchemaWarningKind

from rxagent.errors import ConfigurationError
from rxagent.requests import JsonSchema
from rxagent.tools.arguments import ArgumentsCheck, Misfit, located
from rxagent.tools.signature import Parameter
from rxagent.wire.json_text import dump_json

__all__ = ["schema_of", "schema_of_model"]

_SHOWN_CHARS = 60  # of a wrong value, so that the model recognises it


def schema_of(
    parameters: Sequence[Parameter],
    *,
    tool: str,
    descriptions: Mapping[str, str],
) -> tuple[JsonSchema, ArgumentsCheck]:
    """Make the JSON Schema of an object, and the check of objects against it.

    The check coerces as pydantic does by default: ``"2"`` is an ``int``, ``"1.5"`` no.
    A parameter that a call leaves out is left to the function's own default.

    Args:
        parameters: What the model has to give.
        tool: The tool's name, for errors.
        descriptions: By parameter; a ``Field(description=...)`` goes before.

    Raises:
        ConfigurationError: If a parameter's type has no JSON Schema, or its default is
            not in the signature.
    """
    try:
        # Fields are numbered, and validated by alias: as attributes of a model,
        # parameters such as `schema`, `copy` or `_x` would shadow or be refused.
        definitions: dict[str, Any] = {
            f"p{at}": (each.annotation, _field(each, descriptions, tool=tool))
            for at, each in enumerate(parameters)
        }
        model = create_model(tool, __config__=ConfigDict(extra="forbid"), **definitions)
        schema = model.model_json_schema(schema_generator=_Untitled)
    except ConfigurationError:
        raise
    except Exception as error:
        raise ConfigurationError(_blame(parameters, error, tool=tool)) from error
    schema.pop("title", None)
    return schema, _check_by(model, tuple(each.name for each in parameters))


def schema_of_model(
    model: type[BaseModel], *, parameter: str, tool: str
) -> tuple[JsonSchema, str, ArgumentsCheck]:
    """Make the JSON Schema of a pydantic model, and the check of objects against it.

    Args:
        model: A user's.
        parameter: Gets the validated instance.
        tool: The tool's name, for errors.

    Returns:
        The schema, the model's own description, and the check.

    Raises:
        ConfigurationError: If it has no JSON Schema, or is no object.
    """
    try:
        schema = model.model_json_schema(schema_generator=_Untitled)
    except Exception as error:
        reason = str(error).partition("\n")[0]
        raise ConfigurationError(
            f"tool {tool!r}: no JSON Schema can express {model!r} ({reason})"
        ) from error
    if (reference := schema.pop("$ref", None)) is not None:  # it contains itself
        schema = {**schema["$defs"][reference.rpartition("/")[2]], **schema}
    if schema.get("type") != "object":
        raise ConfigurationError(
            f"tool {tool!r}: {model.__name__} is no JSON object, but arguments come by "
            "name; put it into a model with a field"
        )
    schema.pop("title", None)
    description = schema.pop("description", "")
    names = tuple(schema.get("properties", ()))

    def check(arguments: dict[str, object]) -> dict[str, object] | Misfit:
        try:
            return {parameter: model.model_validate_json(dump_json(arguments))}
        except PydanticValidationError as error:
            return _misfit(error, names)

    return schema, description, check


class _Untitled(GenerateJsonSchema):
    """Leaves out the titles made of names, which cost tokens and say nothing."""

    # A default that JSON cannot say is the function's own business.
    ignored_warning_kinds: set[JsonSchemaWarningKind] = {  # noqa: RUF012 - as its base
        "skipped-choice",
        "non-serializable-default",
    }

    def field_title_should_be_set(self, schema: object) -> bool:
        return False


def _field(
    parameter: Parameter, descriptions: Mapping[str, str], *, tool: str
) -> FieldInfo:
    name, default = parameter.name, parameter.default
    annotation: Any = parameter.annotation
    declared = FieldInfo.from_annotation(annotation)
    if isinstance(default, FieldInfo):
        raise ConfigurationError(
            f"tool {tool!r}: the default of parameter {name!r} is a Field, which the "
            f"function itself would get; write `{name}: Annotated[..., Field(...)] = "
            "default`"
        )
    if parameter.required and not declared.is_required():
        raise ConfigurationError(
            f"tool {tool!r}: parameter {name!r} has a default in its Field only, which "
            f"the function would not get; write `{name}: ... = default`"
        )
    options: dict[str, Any] = {"validation_alias": name}
    if not parameter.required:
        options["default"] = default
    if declared.description is None and name in descriptions:
        options["description"] = descriptions[name]
    field: FieldInfo = Field(**options)
    return field


def _blame(parameters: Sequence[Parameter], error: Exception, *, tool: str) -> str:
    """Say which parameter pydantic cannot express."""
    whose = "its parameters have types"
    for each in parameters:
        annotation: Any = each.annotation
        try:
            TypeAdapter(annotation).json_schema()
        except Exception as its_own:  # noqa: BLE001 - a type's own hooks may raise it
            whose, error = f"parameter {each.name!r} has a type", its_own
            break
    reason = str(error).partition("\n")[0]
    return (
        f"tool {tool!r}: {whose} that no JSON Schema can express ({reason}); "
        "use plain types, enums, dataclasses, TypedDicts or pydantic models"
    )


def _check_by(model: type[BaseModel], names: tuple[str, ...]) -> ArgumentsCheck:
    attributes = {name: f"p{at}" for at, name in enumerate(names)}

    def check(arguments: dict[str, object]) -> dict[str, object] | Misfit:
        try:
            # From JSON text, because pydantic knows then that a date can only be a
            # string, in strict mode too.
            checked = model.model_validate_json(dump_json(arguments))
        except PydanticValidationError as error:
            return _misfit(error, names)
        return {
            name: getattr(checked, attribute)
            for name, attribute in attributes.items()
            if attribute in checked.model_fields_set
        }

    return check


def _misfit(error: PydanticValidationError, names: tuple[str, ...]) -> Misfit:
    return Misfit(
        problems=tuple(
            _problem(each["type"], each["loc"], each["msg"], each["input"], names)
            for each in error.errors(include_url=False, include_context=False)
        )
    )


def _problem(
    kind: str,
    path: tuple[int | str, ...],
    message: str,
    value: object,
    names: tuple[str, ...],
) -> str:
    if kind == "extra_forbidden" and len(path) == 1:
        known = f"the parameters are {', '.join(names)}" if names else "it takes none"
        return located(path, f"there is no such parameter; {known}")
    if kind != "missing" and isinstance(value, (str, int, float)):
        message = f"{message} (got {str(value)[:_SHOWN_CHARS]!r})"
    return located(path, message)
