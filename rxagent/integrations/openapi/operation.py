"""One operation of an OpenAPI document, and the request that it makes of arguments."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from urllib.parse import quote, urlencode

from rxagent.errors import ConfigurationError, ToolFailedError
from rxagent.integrations.openapi.document import Document, Json
from rxagent.wire.json_text import dump_json, is_array, is_object

__all__ = ["Operation", "Parameter", "Request"]

_FORM = "application/x-www-form-urlencoded"
_BODIES = ("application/json", _FORM, "text/plain")
# The specification says that these are no parameters.
_NO_PARAMETERS = ("accept", "content-type", "authorization")
_STYLES = {  # the usual one first
    "path": ("simple",),
    "query": ("form", "deepObject"),
    "header": ("simple",),
}


@dataclass(frozen=True, slots=True, kw_only=True)
class Request:
    """What is sent for a call.

    Args:
        method: Of HTTP.
        path: Behind the base address, with its query, encoded.
        headers: Besides those of the caller.
        body: Encoded.
    """

    method: str
    path: str
    headers: Mapping[str, str]
    body: bytes | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Parameter:
    """Something that a call gives.

    Args:
        name: On the wire.
        place: ``"path"``, ``"query"``, ``"header"`` or ``"body"``.
        required: Whether every call gives it.
        schema: Of its values.
        style: How a value is written; of a body, its type.
        explode: Whether each item of a value is written apart.
    """

    name: str
    place: str
    required: bool
    schema: Json
    style: str
    explode: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class Operation:
    """An operation.

    Args:
        name: By which the document knows it.
        description: What it does.
        method: Of HTTP.
        path: With its placeholders.
        parameters: By the name that a model writes.
    """

    name: str
    description: str
    method: str
    path: str
    parameters: Mapping[str, Parameter]

    @classmethod
    def read(
        cls,
        document: Document,
        method: str,
        path: str,
        shared: Json,
        *,
        given: set[str],
    ) -> Operation:
        """Read the operation that ``method`` does at ``path``.

        Args:
            document: Where it stands.
            method: Of HTTP.
            path: With its placeholders.
            shared: What the document says of the path.
            given: Headers that the caller sends with every request, in lower case.

        Raises:
            ConfigurationError: If it wants something that is not supported here.
        """
        where = f"{method.upper()} {path}"
        own = document.at(shared[method], where=where)
        found = {  # an operation's own one goes before the path's of the same name
            (each.place, each.name): each
            for level in (shared, own)
            for each in _parameters(document, level, where=where, given=given)
        }
        body = _body(document, own, where=where)
        parameters = [*found.values(), *([body] if body else [])]
        names = [each.name for each in parameters]
        said = [own.get("summary"), own.get("description")]
        return cls(
            name=str(own.get("operationId") or f"{method}_{path.strip('/')}"),
            description="\n\n".join(str(each) for each in said if each),
            method=method.upper(),
            path=path,
            parameters={
                each.name
                if names.count(each.name) == 1
                else f"{each.place}_{each.name}": each
                for each in parameters
            },
        )

    def schema(self, document: Document) -> Json:
        """The JSON Schema of its arguments.

        Raises:
            ConfigurationError: If it refers to something outside the document.
        """
        return document.schema(
            {name: each.schema for name, each in self.parameters.items()},
            required=[name for name, each in self.parameters.items() if each.required],
        )

    def request(self, arguments: Mapping[str, object]) -> Request:
        """Make the request of a call.

        Raises:
            ToolFailedError: If an argument would lead to another place.
        """
        path, headers = self.path, dict[str, str]()
        query: list[tuple[str, str]] = []
        body: bytes | None = None
        for key, value in arguments.items():
            parameter = self.parameters[key]
            match parameter.place:
                case "path":
                    path = path.replace(f"{{{parameter.name}}}", _step(key, value))
                case "query":
                    query += _pairs(parameter, value)
                case "header":
                    headers[parameter.name] = _header(key, value)
                case _:
                    headers["content-type"] = parameter.style
                    body = _encoded(parameter, value)
        if query:
            path = f"{path}?{urlencode(query)}"
        return Request(method=self.method, path=path, headers=headers, body=body)


def _parameters(
    document: Document, level: Json, *, where: str, given: set[str]
) -> Iterator[Parameter]:
    listed = level.get("parameters", [])
    for each in listed if is_array(listed) else ():
        declared = document.at(each, where=f"{where}: a parameter")
        name, place = str(declared.get("name")), str(declared.get("in"))
        required = declared.get("required") is True
        if place == "header" and name.lower() in given.union(_NO_PARAMETERS):
            continue
        style = str(declared.get("style") or _STYLES.get(place, ("",))[0])
        if style not in _STYLES.get(place, ()) or "content" in declared:
            if not required:
                continue  # the operation does without it
            raise ConfigurationError(
                f"{where}: its {place} parameter {name!r} is written in a way that is "
                "not supported; leave the operation out with where="
            )
        yield Parameter(
            name=name,
            place=place,
            required=required,
            schema=_described(declared),
            style=style,
            explode=declared.get("explode", style == "form") is True,
        )


def _body(document: Document, own: Json, *, where: str) -> Parameter | None:
    if "requestBody" not in own:
        return None
    declared = document.at(own["requestBody"], where=f"{where}: its body")
    types = dict(document.objects(declared.get("content"), where=f"{where}: its body"))
    for style in types:
        plain = style.partition(";")[0].strip()
        if plain in _BODIES or plain.endswith("+json"):
            return Parameter(
                name="body",
                place="body",
                required=declared.get("required") is True,
                schema=_described({**types[style], **_only(declared, "description")}),
                style=style,
            )
    if declared.get("required") is not True:
        return None
    raise ConfigurationError(
        f"{where}: its body may be {' or '.join(types) or 'nothing'}, which is not "
        "supported; leave the operation out with where="
    )


def _described(declared: Json) -> Json:
    schema = declared.get("schema")
    return {**(schema if is_object(schema) else {}), **_only(declared, "description")}


def _only(declared: Json, key: str) -> Json:
    return {key: declared[key]} if key in declared else {}


def _step(key: str, value: object) -> str:
    text = quote(_written(value), safe="")
    if text in ("", ".", ".."):
        raise ToolFailedError(f"{key}: {text!r} is no part of an address")
    return text


def _pairs(parameter: Parameter, value: object) -> Iterator[tuple[str, str]]:
    name = parameter.name
    if is_object(value):
        deep = parameter.style == "deepObject"
        if deep or parameter.explode:
            for key, each in value.items():
                yield f"{name}[{key}]" if deep else key, _written(each)
            return
    elif is_array(value) and parameter.explode:
        for each in value:
            yield name, _written(each)
        return
    yield name, _written(value)


def _written(value: object) -> str:
    if isinstance(value, str):
        return value
    if is_array(value):
        return ",".join(map(_written, value))
    if is_object(value):
        return ",".join(f"{key},{_written(each)}" for key, each in value.items())
    return dump_json(value).decode()


def _encoded(parameter: Parameter, value: object) -> bytes:
    if parameter.style.startswith(_FORM) and is_object(value):
        fields = [
            pair
            for name, each in value.items()
            for pair in _pairs(
                replace(parameter, name=name, style="form", explode=True), each
            )
        ]
        return urlencode(fields).encode()
    if parameter.style.startswith("text/plain"):
        return _written(value).encode()
    return dump_json(value)


def _header(key: str, value: object) -> str:
    text = _written(value)
    if not (text.isascii() and text.isprintable()):
        raise ToolFailedError(f"{key}: a header takes printable ASCII alone")
    return text
